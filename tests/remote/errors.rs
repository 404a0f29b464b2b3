//! What cannot be done is told in three lines at most, and no credential in any.

use std::process::Command;

use crate::lake::stderr;
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

const SQL: [&str; 2] = ["sql", "select count(*) from usage"];

#[test]
fn where_there_is_no_lake() {
    let team = Team::of(six_months(1, 10));
    let mut said = Vec::new();
    for url in ["s3://team-lake/other", "s3://no-such-bucket/team", "file:///no/such/folder", "ftp://host/x", "s3:///x"] {
        said.push(failure(&mut team.llrem_at(url, &SQL)));
    }
    said.push(failure(&mut team.llrem_at("s3://u:canary@b/x", &SQL)));
    said.push(failure(&mut team.llrem_at("s3://team-lake/other", &["verify"])));
    said.push(failure(&mut team.llrem_at("s3://team-lake/other", &["detect"])));
    insta::assert_snapshot!(said.concat(), @"");
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
    let mut detect = team.llrem(&["detect"]);
    said.push(failure(&mut detect));
    insta::assert_snapshot!(said.concat(), @"");
}

#[test]
fn where_nobody_answers() {
    let team = Team::of(six_months(1, 10));
    let endpoint = format!("http://127.0.0.1:{}", free_port());
    let said = failure(team.llrem(&SQL).env("AWS_ENDPOINT_URL", endpoint));
    insta::assert_snapshot!(said, @"");
}

#[test]
fn what_is_not_uploaded_is_said() {
    let team = Team::of(six_months(1, 10));
    let mut said = Vec::new();
    for arguments in [
        ["sources"].as_slice(),
        &["sql", "select * from sources"],
        &["sql", "select * from runs"],
        &["query", "data_quality"],
        &["etl"],
        &["upload", "s3://team-lake/other"],
    ] {
        said.push(failure(&mut team.llrem(arguments)));
    }
    insta::assert_snapshot!(said.concat(), @"");
    assert!(team.answer(&["schema", "usage"]).contains("cost_usd"));
}
