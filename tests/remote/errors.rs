//! Errors of a remote lake have three lines at most, and show no credential.

use std::process::Command;

use crate::lake::{stderr, succeed};
use crate::proxy::Fate;
use crate::server::{KEY, SECRET, free_port};
use crate::team::{Team, six_months};

/// The code that a command ends with, and what it says.
fn failure(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = stderr(&output);
    for secret in [SECRET, KEY, "canary"] {
        assert!(!said.to_lowercase().contains(&secret.to_lowercase()), "{said}");
    }
    assert!(said.lines().count() <= 3, "{said}");
    assert!(output.stdout.is_empty());
    format!("{}\n{said}", output.status.code().unwrap())
}

const SQL: [&str; 2] = ["sql", "select count(*) from usage where month = '2025-01'"];

#[test]
fn where_there_is_no_lake() {
    let team = Team::of(six_months(1, 10));
    let mut said = Vec::new();
    for url in ["s3://team-lake/other", "s3://no-such-bucket/team", "file:///no/such/folder", "ftp://host/x", "s3:///x"]
    {
        said.push(failure(&mut team.llrem_at(url, &SQL)));
    }
    said.push(failure(&mut team.llrem_at("s3://u:canary@b/x", &SQL)));
    said.push(failure(&mut team.llrem_at("s3://team-lake/other", &["verify"])));
    said.push(failure(&mut team.llrem_at("s3://team-lake/other", &["detect"])));
    insta::assert_snapshot!(said.concat(), @r#"
    10
    error: no lake at `s3://team-lake/other`
    hint: check the URL; `llrem upload` uploads a machine's lake there
    1
    error: cannot list `s3://no-such-bucket/team`: NoSuchBucket
    hint: check the name of the bucket, or create it, and check the endpoint under [storage]
    10
    error: no lake at `/no/such/folder`
    hint: run `llrem etl` first, or name the lake with --lake
    2
    error: `ftp://` is not a known kind of store; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or file:///FOLDER
    2
    error: `s3:///x` has no bucket; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or file:///FOLDER
    2
    error: the URL contains a user, a password or a query; credentials come from the environment
    10
    error: no lake at `s3://team-lake/other`
    hint: check the URL; `llrem upload` uploads a machine's lake there
    10
    error: no lake at `s3://team-lake/other`
    hint: check the URL; `llrem upload` uploads a machine's lake there
    "#);
}

#[test]
fn what_the_store_refuses() {
    let team = Team::of(six_months(1, 10));
    let mut said = vec![failure(team.llrem(&SQL).env("AWS_SECRET_ACCESS_KEY", "canary-wrong"))];
    let mut none = team.llrem(&SQL);
    none.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    said.push(failure(&mut none));
    let answers = [
        (403, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message><H>canary</H></Error>"),
        (400, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"),
    ];
    // At once, and in the middle of a query.
    for (status, body) in answers {
        for is_late in [false, true] {
            team.s3.proxy.decide(move |request| {
                if !is_late || request.headers.contains_key("range") { Fate::Answer(status, body) } else { Fate::Pass }
            });
            said.push(failure(&mut team.llrem(&SQL)));
        }
    }
    let detect = failure(&mut team.llrem(&["detect"]));
    assert!(detect.starts_with("1\nerror: cannot read `s3://team-lake/team/"), "{detect}");
    insta::assert_snapshot!(said.concat(), @r#"
    1
    error: cannot list `s3://team-lake/team`: SignatureDoesNotMatch
    hint: check which credentials the environment, or the profile, names, and the endpoint
    1
    error: cannot open `s3://team-lake/team`: no credentials are known
    hint: set the cloud's own variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; `eval "$(aws configure export-credentials --format env)"` sets them from single sign-on
    1
    error: cannot list `s3://team-lake/team`: AccessDenied: Access Denied
    hint: queries need permission to read and list below the prefix
    1
    error: cannot read `s3://team-lake/team/usage/machine=bench/agent=claude-code/month=2025-01/2025-01-03-a049ef88.parquet`: AccessDenied: Access Denied
    hint: queries need permission to read and list below the prefix
    1
    error: cannot list `s3://team-lake/team`: ExpiredToken: The provided token has expired.
    hint: renew the credentials (`aws sso login`, `gcloud auth login`, `az login`), then run it again
    1
    error: cannot read `s3://team-lake/team/usage/machine=bench/agent=claude-code/month=2025-01/2025-01-03-a049ef88.parquet`: ExpiredToken: The provided token has expired.
    hint: renew the credentials (`aws sso login`, `gcloud auth login`, `az login`), then run it again
    "#);
}

/// A newer llrem's upload may mean something else, so it is not queried.
#[test]
fn what_a_newer_llrem_uploaded() {
    let team = Team::of(six_months(1, 10));
    let manifest = team.s3.objects().join("_llrem/machines/bench/manifest");
    let uploaded = std::fs::read(&manifest).unwrap();
    let mut newer = uploaded.clone();
    newer[8] = 9;
    std::fs::write(&manifest, newer).unwrap();
    let mut said = Vec::new();
    for arguments in [SQL.as_slice(), &["query", "cost_by_day"], &["detect"], &["verify"]] {
        said.push(failure(&mut team.llrem(arguments)));
    }
    insta::assert_snapshot!(said.concat(), @r#"
    1
    error: the lake `s3://team-lake/team` has layout 9; this llrem reads up to 1
    hint: upgrade llrem, or name another lake with --lake
    1
    error: the lake `s3://team-lake/team` has layout 9; this llrem reads up to 1
    hint: upgrade llrem, or name another lake with --lake
    1
    error: the lake `s3://team-lake/team` has layout 9; this llrem reads up to 1
    hint: upgrade llrem, or name another lake with --lake
    1
    error: the lake `s3://team-lake/team` has layout 9; this llrem reads up to 1
    hint: upgrade llrem, or name another lake with --lake
    "#);
    std::fs::write(&manifest, uploaded).unwrap();
    let answer = team.answer(&SQL);
    // Whoever may read the tables only is answered, as far as they go.
    team.s3.proxy.decide(|request| {
        let is_state = request.target.contains("_llrem");
        if is_state { Fate::Answer(403, "<Error><Code>AccessDenied</Code></Error>") } else { Fate::Pass }
    });
    assert_eq!(team.answer(&SQL), answer);
}

#[test]
fn where_nobody_answers() {
    let team = Team::of(six_months(1, 10));
    let endpoint = format!("http://127.0.0.1:{}", free_port());
    let said = failure(team.llrem(&SQL).env("AWS_ENDPOINT_URL", endpoint));
    insta::assert_snapshot!(said, @r#"
    1
    error: cannot list `s3://team-lake/team`: Connection refused (os error 111)
    hint: check the network, and `endpoint` under [storage] in the configuration
    "#);
}

#[test]
fn what_is_not_uploaded_is_said() {
    let team = Team::of(six_months(1, 10));
    let mut said = Vec::new();
    for arguments in [["sources"].as_slice(), &["etl"], &["upload", "s3://team-lake/other"]] {
        said.push(failure(&mut team.llrem(arguments)));
    }
    insta::assert_snapshot!(said.concat(), @r#"
    1
    error: `sources` is not in the lake `s3://team-lake/team`, because it names local files; run the command on the machine itself
    2
    error: the lake `s3://team-lake/team` is remote: it can only be queried; `llrem upload` writes it from a lake on a local disk
    2
    error: the lake `s3://team-lake/team` is remote: it can only be queried; `llrem upload` writes it from a lake on a local disk
    "#);
    // The head, and of the second that the responses' counts are running ones.
    for (table, query, lines) in [
        ("sources", ["sql", "select path from sources"], 1),
        ("sources", ["query", "data_quality"], 2),
        ("runs", ["sql", "select error from runs"], 1),
    ] {
        let output = succeed(&mut team.llrem(&query));
        let warning = format!("warning: `{table}` is empty in an uploaded lake, because it names local files; ");
        assert!(stderr(&output).starts_with(&warning) && stderr(&output).lines().count() == 1, "{output:?}");
        let quiet = succeed(team.llrem(&query).arg("-q"));
        assert_eq!((stderr(&quiet).as_str(), &quiet.stdout), ("", &output.stdout));
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), lines, "{query:?}");
    }
    assert!(team.answer(&["schema", "usage"]).contains("cost_usd"));
}
