//! Messages about the work done, and about mistyped commands.

use crate::{Home, home_with_lake, rows, run};

/// A transcript of one response of a model.
fn response(model: &str) -> String {
    let line = serde_json::json!({
        "type": "assistant", "uuid": "u", "sessionId": model, "timestamp": "2026-02-01T10:00:00Z", "requestId": "r",
        "message": {
            "id": model, "role": "assistant", "model": model, "content": [{"type": "text", "text": "hi"}],
            "usage": {"input_tokens": 10, "output_tokens": 5},
        },
    });
    format!("{line}\n")
}

#[test]
fn a_cost_that_nobody_knows_is_not_told_as_nothing() {
    let home = Home::new();
    home.write(".claude/projects/-api/a.jsonl", &response("house-model"));
    let etl = home.run(&["etl"]);
    assert!(etl.contains("\nclaude-code      1         1        0      15     –\n"), "{etl}");
    assert!(etl.contains("\n– no price is known for house-model (1 response)\n"), "{etl}");
    home.write(".claude/projects/-api/b.jsonl", &response("claude-sonnet-4-5"));
    let etl = home.run(&["etl"]);
    assert!(etl.contains("\nclaude-code      1         1        0      15  $0.0001\n"), "{etl}");
    assert!(etl.contains("\nThe lake has 2 sessions, <$0.01+.\n"), "{etl}");
    std::fs::remove_dir_all(home.path().join(".claude")).unwrap();
    home.write(".claude/history.jsonl", "{\"display\":\"hello\",\"timestamp\":1770000000000,\"sessionId\":\"s\"}\n");
    let etl = home.run(&["etl", "--lake", "another"]);
    assert!(etl.contains("\nclaude-code      1         1        1       –     –\n"), "{etl}");
    assert!(etl.contains("\n– the sessions of claude-code have neither tokens nor cost\n"), "{etl}");
}

#[test]
fn a_cost_recorded_as_0_stands_beside_the_list_price() {
    let home = Home::new();
    let sent = |model: &str, sent: i64| {
        let properties = serde_json::json!({
            "main_model": model, "prompt_tokens": sent, "completion_tokens": 100, "cost": 0,
        });
        let event = |event: &str, time: i64, properties: serde_json::Value| serde_json::json!({"event": event, "properties": properties, "user_id": "u", "time": time});
        let launched = event("launched", 1_770_717_600 + sent, serde_json::json!({}));
        format!("{launched}\n{}\n", event("message_send", 1_770_717_601 + sent, properties))
    };
    let log = [sent("gpt-5", 1000), sent("gpt-5", 3000), sent("house-model", 50)].concat();
    home.write("aider-analytics.jsonl", &log);
    home.run(&["etl", "--source", "aider=aider-analytics.jsonl"]);
    insta::assert_snapshot!(home.run(&["query", "data_quality"]), @r#"
    exit 0
    --- stdout
    agent,problem,what,items,tokens,list_cost_usd
    aider,cost recorded as 0,gpt-5,2,4200,0.007
    aider,"counts are rounded, estimated or those of a running response",turn,3,4350,
    aider,no finer than a turn or session,turn,3,4350,
    --- stderr
    "#);
    let responses =
        "select s.responses, u.grain, u.cost_usd, u.list_cost_usd from usage u join sessions s using (session_id)";
    insta::assert_snapshot!(home.run(&["sql", responses]), @r"
    exit 0
    --- stdout
    responses,grain,cost_usd,list_cost_usd
    0,turn,0.0,
    0,turn,0.0,0.00225
    0,turn,0.0,0.00475
    --- stderr
    ");
    insta::assert_snapshot!(home.run(&["query", "cost_by_agent"]), @r"
    exit 0
    --- stdout
    agent,cost_usd,unpriced_responses,partial_responses,sessions,responses,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens,last_used
    aider,0.0,0,3,3,,4050,,,300,2026-02-10T10:50:01Z
    --- stderr
    ");
}

#[test]
fn a_file_that_cannot_be_made_is_told_by_its_folder() {
    let home = Home::new();
    home.write("a.txt", "");
    insta::assert_snapshot!(home.run(&["schema", "-o", "no/such/file.csv"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: cannot write `no/such/file.csv`: there is no folder `no/such`
    ");
    insta::assert_snapshot!(home.run(&["schema", "-o", "a.txt/file.csv"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: cannot write into `a.txt`: not a directory
    ");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn a_filter_that_nothing_can_pass_is_told() {
    let home = home_with_lake();
    let commands = [["query", "cost_by_day"].as_slice(), &["detect", "tool_retry_loops"], &["report"]];
    for command in commands {
        insta::allow_duplicates! {
            insta::assert_snapshot!(home.run(&[command, &["--agent", "claude"]].concat()), @r"
            exit 2
            --- stdout
            --- stderr
            error: no agent is called `claude`
            hint: claude-code, claude-cowork, openclaude? `llrem agents` lists them
            ");
        }
    }
    for command in commands {
        let shown = home.run(&[command, ["--project", "api.v3"].as_slice()].concat());
        let error = "exit 2\n--- stdout\n--- stderr\nerror: no project is called `api.v3`\nhint: api.v2?";
        assert!(shown.starts_with(error), "{command:?}: {shown}");
    }
    for command in [["query", "cost_by_day"], ["detect", "tool_retry_loops"]] {
        for filter in ["agent=claude", "project=api.v3"] {
            let (name, value) = filter.split_once('=').unwrap();
            let as_option = home.run(&[&command[..], &[&format!("--{name}"), value]].concat());
            assert_eq!(home.run(&[&command[..], &["-p", filter]].concat()), as_option, "{command:?} {filter}");
        }
    }
    assert!(home.run(&["query", "cost_by_day", "--project", "api.v2"]).starts_with("exit 0\n"));
    insta::assert_snapshot!(home.run(&["query", "cost_by_day", "--project", "nothing like it", "--quiet"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: no project is called `nothing like it`
    hint: `llrem query cost_by_project` lists them
    ");
    insta::assert_snapshot!(run(&["detect", "tool_retry_loop"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: there is no detector `tool_retry_loop`
    hint: tool_retry_loops? `llrem detect --explain` lists them
    ");
    insta::assert_snapshot!(run(&["query", "tool_retry_loop"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: there is no query `tool_retry_loop`
    hint: tool_retry_loops? `llrem query` lists them
    ");
}

#[test]
fn a_home_that_is_no_folder_is_told() {
    let home = Home::new();
    home.write("file", "");
    for (command, typed) in [("etl", "file"), ("etl", "nowhere"), ("agents", "file"), ("agents", "nowhere")] {
        let told = format!("exit 2\n--- stdout\n--- stderr\nerror: `{typed}` is no folder\n");
        assert_eq!(home.run(&[command, "--home", typed]), told);
    }
    assert!(!home.path().join(".local").exists());
}

#[test]
fn a_query_file_may_begin_with_a_mark_and_is_told_with_what_is_wrong_in_it() {
    let home = home_with_lake();
    home.write("q.sql", "\u{feff}select 1 as one");
    assert_eq!(home.run(&["sql", "--file", "q.sql"]), "exit 0\n--- stdout\none\n1\n--- stderr\n");
    let piped = home.command(&["sql"]).write_stdin("\u{feff}select 2 as two").output().unwrap();
    assert_eq!(home.show(&piped), "exit 0\n--- stdout\ntwo\n2\n--- stderr\n");
    home.config("query_folders = ['queries']");
    let mine = "\u{feff}-- name: mine\n-- title: Mine\n-- about: Mine.\nselect 3 as three";
    home.write(".config/llrem/queries/mine.sql", mine);
    assert_eq!(home.run(&["query", "mine"]), "exit 0\n--- stdout\nthree\n3\n--- stderr\n");
    home.write("q.sql", "select 1\nfrm usage");
    insta::assert_snapshot!(home.run(&["sql", "--file", "q.sql"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: `q.sql`: Expected: end of statement, found: usage at Line: 2, Column: 5
    ");
    home.write("q.sql", "select cost from usage");
    insta::assert_snapshot!(home.run(&["sql", "--file", "q.sql"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `q.sql`: no column `cost`
    hint: cost_usd, cost_source, list_cost_usd? `llrem schema` lists tables and columns
    ");
    home.write("q.sql", "\u{feff} ");
    assert!(home.run(&["sql", "--file", "q.sql"]).starts_with("exit 2\n"));
}

#[test]
fn a_lake_that_is_no_folder_is_told() {
    let home = Home::new();
    home.write("file", "");
    for command in [["etl"].as_slice(), &["sql", "select 1"], &["sources"], &["verify"], &["upload", "file:///x"]] {
        for (lake, said) in [
            ("file", "there cannot be a lake at `file`: `file` is not a folder"),
            ("file/lake", "there cannot be a lake at `file/lake`: `file` is not a folder"),
        ] {
            let told = format!("exit 2\n--- stdout\n--- stderr\nerror: {said}; name one with --lake DIR\n");
            assert_eq!(home.run(&[command, &["--lake", lake]].concat()), told);
        }
    }
}

#[test]
fn prices_are_what_their_columns_say() {
    let home = home_with_lake();
    let described = rows(&home, &["schema", "prices"]);
    let described = |column: &str| described.iter().find(|row| row["column"] == column).unwrap();
    for column in ["kind", "tier"] {
        let values = described(column)["values"].as_array().unwrap();
        for row in rows(&home, &["sql", &format!("select distinct {column} as value from prices")]) {
            assert!(values.contains(&row["value"]), "{column} {}: {values:?}", row["value"]);
        }
    }
    // $10 for 1,000 searches.
    let query = "select distinct usd_per_million as usd from prices where kind = 'web_search' \
                 and model = 'claude-sonnet-4-5'";
    assert_eq!(rows(&home, &["sql", query])[0]["usd"].as_f64(), Some(10_000.0));
    assert!(described("usd_per_million")["meaning"].as_str().unwrap().contains("a million searches"));
}

#[test]
fn a_file_for_rows_that_do_not_come_is_refused() {
    let home = home_with_lake();
    let shown = home.run(&["upload", "file:///nowhere/at/all", "-o", "x.json"]);
    let told = "error: `upload` has no rows for `x.json`, except with --dry-run\n";
    assert_eq!(shown, format!("exit 2\n--- stdout\n--- stderr\n{told}"));
    assert!(!home.path().join("x.json").exists());
    assert!(home.run(&["etl", "--home", ".", "--dry-run", "-o", "x.json"]).starts_with("exit 0\n"));
    assert_eq!(std::fs::read_to_string(home.path().join("x.json")).unwrap(), "[]\n");
}

#[test]
fn programs_are_told_what_a_run_did_when_they_ask() {
    let home = Home::new();
    home.write(".claude/projects/-api/a.jsonl", &response("claude-sonnet-4-5"));
    let done = rows(&home, &["etl"]);
    assert_eq!(done.len(), 1);
    let told = |name: &str| done[0][name].clone();
    assert_eq!(
        (told("agent"), told("new"), told("bad"), told("sessions")),
        ("claude-code".into(), 1.into(), 0.into(), 1.into())
    );
    assert!(told("tokens").as_i64().unwrap() > 0 && told("cost_usd").as_f64().unwrap() > 0.0);
    let again = rows(&home, &["etl"]);
    assert_eq!((&again[0]["new"], &again[0]["unchanged"], &again[0]["sessions"]), (&0.into(), &1.into(), &0.into()));
    // A format in the configuration is for commands that have rows anyway: a nightly job stays quiet.
    home.write(".config/llrem/config.toml", "format = \"json\"\n");
    assert!(home.run(&["etl"]).starts_with("exit 0\n--- stdout\n--- stderr\n"));
}

#[test]
fn a_lake_keeps_the_name_of_its_machine_and_says_so() {
    let home = Home::new();
    home.write(".claude/projects/-api/a.jsonl", &response("claude-sonnet-4-5"));
    let etl = |name: &str, arguments: &[&str]| {
        let output = home.command(&[&["etl"], arguments].concat()).env("LLREM_MACHINE", name).output().unwrap();
        home.show(&output)
    };
    let warning = "\nwarning: the lake keeps the machine's name `box-1` that it was created with; \
                   `other` needs a lake of its own (--lake)\n";
    assert!(!etl("other", &["--dry-run"]).contains("warning"));
    assert!(!etl("box-1", &[]).contains("warning"));
    assert!(!etl("box 1", &[]).contains("warning"), "it had this name until punctuation counted");
    for arguments in [[].as_slice(), &["--full"], &["--dry-run"]] {
        let shown = etl("other", arguments);
        assert!(shown.starts_with("exit 0\n") && shown.contains(warning), "{shown}");
    }
    assert!(!etl("other", &["--quiet"]).contains("warning"));
    home.config("machine = 'other'");
    assert!(home.run(&["etl"]).contains(warning));
    assert_eq!(
        rows(&home, &["sql", "select distinct machine from sessions"]),
        [serde_json::json!({"machine": "box-1"})]
    );
}

#[test]
fn what_is_uncertain_is_told_of_an_uploaded_lake_too() {
    let home = Home::new();
    home.write(".claude/projects/-api/a.jsonl", &format!("{}{{torn\n", response("house-model")));
    home.run(&["etl"]);
    let url = format!("file://{}", home.path().join("team").display());
    assert!(home.run(&["upload", &url]).starts_with("exit 0\n"));
    insta::assert_snapshot!(home.run(&["query", "data_quality"]), @r#"
    exit 0
    --- stdout
    agent,problem,what,items,tokens,list_cost_usd
    claude-code,"counts are rounded, estimated or those of a running response",response,1,15,
    claude-code,line could not be read,,1,,
    claude-code,model without a known price,house-model,1,15,
    claude-code,source could not be read,partial,1,,
    --- stderr
    "#);
    insta::assert_snapshot!(home.run(&["query", "data_quality", "--lake", &url]), @r#"
    exit 0
    --- stdout
    agent,problem,what,items,tokens,list_cost_usd
    claude-code,"counts are rounded, estimated or those of a running response",response,1,15,
    claude-code,model without a known price,house-model,1,15,
    --- stderr
    warning: `sources` is empty in an uploaded lake, because it names local files; run the query on the machine itself
    "#);
    insta::assert_snapshot!(home.run(&["sql", "select path from sources", "--lake", &url]), @r"
    exit 0
    --- stdout
    path
    --- stderr
    warning: `sources` is empty in an uploaded lake, because it names local files; run the query on the machine itself
    ");
    insta::assert_snapshot!(home.run(&["sources", "--lake", &url]), @r"
    exit 1
    --- stdout
    --- stderr
    error: `sources` is not in the lake `file://[HOME]/team`, because it names local files; run the command on the machine itself
    ");
}

#[test]
fn credentials_in_a_url_are_not_repeated() {
    let home = Home::new();
    for url in
        ["s3://AKIA:canary@bucket/x", "s3://AKIA:can/ary@bucket/x", "https://u@h/x?sig=canary", "df://u:canary@h:1"]
    {
        for command in [
            &["-v", "etl", "--lake", url][..],
            &["-v", "sql", "--lake", url, "select 1"],
            &["-v", "sql", "--scheduler", url, "select 1"],
            &["-v", "upload", url],
            &["-v", "upload", "s3://bucket/x", url],
        ] {
            let said = home.run(command);
            assert!(!said.contains("ary") && !said.contains("AKIA"), "{said}");
        }
    }
}

#[test]
fn an_empty_result_says_why_in_a_pipe_also() {
    let home = home_with_lake();
    let asked = ["query", "cost_by_day", "--until", "2020-01-01"];
    let columns = "day,cost_usd,unpriced_responses,sessions,responses,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens";
    let why = "No usage until Wed 2020-01-01. The newest is of Mon 2026-03-02.";
    assert_eq!(home.run(&asked), format!("exit 0\n--- stdout\n{columns}\n--- stderr\n{why}\n"));
    assert_eq!(home.run(&[&asked[..], &["-f", "jsonl"]].concat()), format!("exit 0\n--- stdout\n--- stderr\n{why}\n"));
    assert_eq!(home.run(&[&asked[..], &["-q"]].concat()), format!("exit 0\n--- stdout\n{columns}\n--- stderr\n"));
    let table = home.run(&[&asked[..], &["-o", "empty.md"]].concat());
    assert_eq!(table, format!("exit 0\n--- stdout\n--- stderr\n{why}\n"));
    assert!(home.path().join("empty.md").exists());
}

#[test]
fn sources_obey_the_limit_in_every_format() {
    let home = Home::new();
    for name in ["a", "b", "c"] {
        home.write(&format!(".claude/projects/-api/{name}.jsonl"), &format!("{}not JSON\n\n", response(name)));
    }
    home.run(&["etl"]);
    for of in [[].as_slice(), &["--bad"]] {
        let limited = |arguments: &[&str]| rows(&home, &[&["sources"], of, arguments].concat()).len();
        assert_eq!((limited(&[]), limited(&["-n", "2"]), limited(&["-n", "off"])), (3, 2, 3));
    }
    let bad = home.run(&["sources", "--bad", "-n", "1", "-f", "table"]);
    assert!(bad.contains("3 of 3 files could not be read") && bad.contains("a.jsonl"), "{bad}");
    assert!(!bad.contains("b.jsonl") && bad.contains("\n2 more files (`--limit off` shows all)\n"), "{bad}");
}
