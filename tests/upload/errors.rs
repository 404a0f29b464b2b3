//! Errors of uploads have two lines at most, and show no credential.

use std::process::Command;

use crate::lake::{stderr, succeed};
use crate::proxy::Fate;
use crate::server::{KEY, S3, SECRET};
use crate::sync::small_lake;

/// Returns the message of a command that fails, after making sure that it shows no credential.
fn failure(command: &mut Command, code: i32) -> String {
    let output = command.arg("-vv").output().unwrap();
    let said = stderr(&output);
    for secret in [SECRET, KEY, "canary"] {
        assert!(!said.to_lowercase().contains(&secret.to_lowercase()), "{said}");
    }
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(output.stdout.is_empty());
    let is_detail = |line: &&str| !line.starts_with("time zone: ") && !line.starts_with("lake: ");
    said.lines().filter(is_detail).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_a_store_refuses() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let mut missing = bench.llrem(&["upload", "s3://no-such-bucket/team"]);
    s3.set_environment(&mut missing);
    let mut said = vec![failure(&mut missing, 1)];

    let mut wrong_key = s3.upload(&bench.lake(), &[]);
    wrong_key.env("AWS_SECRET_ACCESS_KEY", "canary-wrong");
    said.push(failure(&mut wrong_key, 1));

    // Some servers repeat the request's headers, and with them the session's token.
    let repeated = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message>\
                    <CanonicalRequest>x-amz-security-token:canary-token</CanonicalRequest></Error>";
    for (status, body) in [
        (403, repeated),
        (400, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"),
        (301, "<Error><Code>PermanentRedirect</Code><Message>Use another endpoint.</Message></Error>"),
        (501, "<Error><Code>NotImplemented</Code><Message>A header is not implemented.</Message></Error>"),
    ] {
        s3.proxy.decide(move |_| Fate::Answer(status, body));
        said.push(failure(s3.upload(&bench.lake(), &[]).env("AWS_SESSION_TOKEN", "canary-token"), 1));
    }
    s3.proxy.decide(|request| if request.method == "PUT" { Fate::Answer(403, "canary") } else { Fate::Pass });
    said.push(failure(&mut s3.upload(&bench.lake(), &[]), 1));
    insta::assert_snapshot!(said.join("\n"), @"
    error: cannot list `s3://no-such-bucket/team/sessions/machine=bench`: NoSuchBucket
    hint: check the name of the bucket, or create it, and check the endpoint under [storage]
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: SignatureDoesNotMatch
    hint: check which credentials the environment, or the profile, names, and the endpoint
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: AccessDenied: Access Denied
    hint: uploads need permission to read, write, list and delete below the prefix
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: ExpiredToken: The provided token has expired.
    hint: renew the credentials (`aws sso login`, `gcloud auth login`, `az login`), then run it again
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: Received redirect without LOCATION, this normally indicates an incorrectly configured region
    hint: set AWS_REGION, or `region` under [storage] in the configuration
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: NotImplemented: A header is not implemented.
    hint: the store must support conditional writes (If-Match, If-None-Match)
    error: cannot write `s3://team-lake/team/_llrem/machines/bench/manifest`: 403 Forbidden
    hint: uploads need permission to read, write, list and delete below the prefix
    ");
    s3.proxy.decide(|_| Fate::Pass);
    succeed(&mut s3.upload(&bench.lake(), &[]));
}

/// Mistakes of this machine and not of the cloud; each cloud has its own variables.
#[test]
fn what_is_wrong_with_this_machine() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let mut said = Vec::new();
    for url in ["s3://bucket/x", "gs://bucket/x", "az://container/x"] {
        said.push(failure(&mut bench.llrem(&["upload", url]), 1));
    }
    for missing in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        said.push(failure(s3.upload(&bench.lake(), &[]).env_remove(missing), 1));
    }
    let answers = [
        (400, "<Error><Code>InvalidBucketName</Code><Message>The specified bucket is not valid.</Message></Error>"),
        (403, "<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>"),
    ];
    for (status, body) in answers {
        s3.proxy.decide(move |_| Fate::Answer(status, body));
        said.push(failure(&mut s3.upload(&bench.lake(), &[]), 1));
    }
    let answers = [
        "<Error><Code>AuthorizationFailure</Code><Message>Not authorized.</Message></Error>",
        "<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate.</Message></Error>",
    ];
    for body in answers {
        s3.proxy.decide(move |_| Fate::Answer(403, body));
        let mut azure = bench.llrem(&["upload", "az://container/x"]);
        azure.env("AZURE_STORAGE_ACCOUNT_NAME", "team").env("AZURE_STORAGE_ACCOUNT_KEY", "Y2FuYXJ5LWNhbmFyeQ==");
        azure.env("AZURE_ALLOW_HTTP", "true");
        azure.env("AZURE_STORAGE_ENDPOINT", format!("http://127.0.0.1:{}/team", s3.proxy.port));
        said.push(failure(&mut azure, 1));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    error: cannot open `s3://bucket/x`: no credentials are known
    hint: set the cloud's own variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; `eval "$(aws configure export-credentials --format env)"` sets them from single sign-on
    error: cannot open `gs://bucket/x`: no credentials are known
    hint: run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account's key
    error: cannot open `az://container/x`: no credentials are known
    hint: set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or, after `az login`, AZURE_USE_AZURE_CLI=true
    error: cannot open `s3://team-lake/team`: Missing AccessKeyId
    hint: set the cloud's own variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; `eval "$(aws configure export-credentials --format env)"` sets them from single sign-on
    error: cannot open `s3://team-lake/team`: Missing SecretAccessKey
    hint: set the cloud's own variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; `eval "$(aws configure export-credentials --format env)"` sets them from single sign-on
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: InvalidBucketName: The specified bucket is not valid.
    hint: check the name of the bucket, or create it, and check the endpoint under [storage]
    error: cannot read `s3://team-lake/team/_llrem/machines/bench/manifest`: RequestTimeTooSkewed: The difference is too large.
    hint: this machine's clock is wrong: set it, then run it again
    error: cannot read `az://container/x/_llrem/machines/bench/manifest`: AuthorizationFailure: Not authorized.
    hint: the key is wrong, or not that account's: check AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; the account's firewall may refuse this machine as well
    error: cannot read `az://container/x/_llrem/machines/bench/manifest`: AuthenticationFailed: Server failed to authenticate.
    hint: the key is wrong, or not that account's: check AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; the account's firewall may refuse this machine as well
    "#);
}

#[test]
fn what_cannot_be_meant() {
    let bench = small_lake(["a", "b", "c"]);
    let mut said = Vec::new();
    for url in ["s3://AKIA:canary@bucket/x", "ftp://host/x", "s3:///x", "az://c/x?sig=canary", "file://host/x"] {
        said.push(failure(&mut bench.llrem(&["upload", url]), 2));
    }
    let mut plain = bench.llrem(&["upload", "s3://bucket/x"]);
    plain
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    said.push(failure(&mut plain, 2));
    std::fs::create_dir_all(bench.path().join(".aws")).unwrap();
    std::fs::write(bench.path().join(".aws/config"), "[profile team]\nsso_session = canary\n").unwrap();
    said.push(failure(bench.llrem(&["upload", "s3://bucket/x"]).env("AWS_PROFILE", "team"), 2));
    said.push(failure(bench.llrem(&["upload", "s3://bucket/x"]).env("AWS_PROFILE", "none"), 2));
    said.push(failure(&mut bench.llrem(&["upload", "file:///tmp/x", "--profile", "everything"]), 2));
    insta::assert_snapshot!(said.join("\n"), @r#"
    error: the URL contains a user, a password or a query; credentials come from the environment
    error: `ftp://` is not a known kind of store; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or file:///FOLDER
    error: `s3:///x` has no bucket; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or file:///FOLDER
    error: the URL contains a user, a password or a query; credentials come from the environment
    error: `file://host/x` names no local folder; write file:///folder
    error: the endpoint `http://127.0.0.1:9` is not encrypted; to use it anyway, set `allow_http = true` under [storage]
    error: the AWS profile `team` has no keys, only `sso_session`; run eval "$(aws configure export-credentials --profile team --format env)"
    error: there is no AWS profile `none` in ~/.aws/config or ~/.aws/credentials
    error: invalid value 'everything' for '--profile <PROFILE>' [possible values: full, redacted, metrics]
    hint: see --help
    "#);
    let mut nothing = bench.llrem(&["upload", "file:///tmp/x", "--lake", "missing"]);
    assert!(failure(&mut nothing, 10).starts_with("error: no lake at `missing`"));
}

#[test]
fn keys_of_a_profile_are_found() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    std::fs::create_dir_all(bench.path().join(".aws")).unwrap();
    let keys = format!("[team]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n");
    std::fs::write(bench.path().join(".aws/credentials"), keys).unwrap();
    let config = bench.path().join("config.toml");
    let storage = format!(
        "[storage]\nendpoint = 'http://127.0.0.1:{}'\nallow_http = true\n[upload]\nprofile = 'full'\n",
        s3.proxy.port
    );
    std::fs::write(&config, storage).unwrap();
    let mut upload = bench.llrem(&["upload", &s3.url(), "--config", config.to_str().unwrap()]);
    succeed(upload.env("AWS_PROFILE", "team"));
    crate::sync::assert_copied(&s3, &bench.lake());
}
