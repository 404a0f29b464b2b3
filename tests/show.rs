//! `llrem show`, `llrem search` and short ids: what a person reads of a lake's texts.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::too_many_lines,
    reason = "what fails here fails a test; files are the test's own; screens are long"
)]

#[path = "common/bench.rs"]
mod lake;

use std::fs;
use std::process::Command;

use lake::{Bench, Transcript, stderr, succeed};
use serde_json::{Value, json};

const SHOP: &str = "53ea1606-0000-4000-8000-000000000001";
const LATER: &str = "53eb0000-0000-4000-8000-000000000002";

/// Text that would move the cursor, reorder text, and be markup.
const HOSTILE: &str = "a\u{1b}[2J\u{202e}b<script>alert(1)</script>&amp; \u{200b}";

fn fail(transcript: &mut Transcript, place: usize, command: &str, output: &str) {
    let id = format!("toolu_fail_{place}");
    let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]);
    transcript.record(
        "assistant",
        &json!({
            "model": "claude-sonnet-4-20250514", "id": format!("msg_fail_{place}"), "type": "message",
            "role": "assistant", "content": call,
            "usage": {"input_tokens": 400_000, "output_tokens": 20},
        }),
    );
    let result = json!([{"type": "tool_result", "tool_use_id": id, "is_error": true, "content": output}]);
    transcript.record("user", &json!({"role": "user", "content": result}));
}

/// A lake with a session of two turns and a subagent, and a later one with hostile text.
fn bench() -> Bench {
    let bench = Bench::new();
    let mut shop = Transcript::new(SHOP, "2025-08-05T10:00:00Z");
    shop.prompt("Publish the shop\n\n  keep `main` as it is").reply("I will run the tests before I publish it to npm.");
    shop.call("Bash", &json!({"command": "npm test", "description": "Run the tests"}), "12 passed");
    for place in 0..4 {
        fail(&mut shop, place, "npm publish --tag next", "Exit code 1\nnpm error 403\n\nforbidden\nsee the log\nend");
    }
    let thinking = json!([{"type": "thinking", "thinking": "The token has no right to publish."},
        {"type": "text", "text": "The registry refuses the token."}]);
    shop.record(
        "assistant",
        &json!({"model": "claude-sonnet-4-20250514", "id": "msg_think", "type": "message", "role": "assistant",
            "content": thinking, "usage": {"input_tokens": 10, "output_tokens": 20}}),
    );
    shop.prompt("Ask for another token").reply("修复登录页面的超时问题 done");
    bench.transcript(&format!("{SHOP}.jsonl"), shop.text());
    let mut helper = Transcript::new(SHOP, "2025-08-05T10:30:00Z");
    helper.prompt("Look for the token").reply("There is none.");
    bench.subagent(SHOP, "ag000003", &helper);
    let mut later = Transcript::new(LATER, "2025-08-06T10:00:00Z");
    later.prompt(HOSTILE).call("Bash", &json!({"command": HOSTILE}), HOSTILE).reply(&"long ".repeat(3000));
    bench.transcript(&format!("{LATER}.jsonl"), later.text());
    succeed(&mut bench.etl());
    bench
}

fn llrem(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.llrem(arguments);
    command.env("TZ", "UTC").env("LLREM_NOW", "2025-08-10T12:00:00Z").env("HOME", bench.path());
    command
}

fn stdout(bench: &Bench, arguments: &[&str]) -> String {
    String::from_utf8(succeed(&mut llrem(bench, arguments)).stdout).unwrap()
}

fn refused(bench: &Bench, arguments: &[&str]) -> String {
    let output = llrem(bench, arguments).output().unwrap();
    format!("exit {}\n{}", output.status.code().unwrap(), stderr(&output))
}

/// Returns the output on a terminal of some width.
#[cfg(unix)]
fn screen(bench: &Bench, columns: usize, pager: &str, arguments: &[&str]) -> String {
    screen_at("2025-08-10T12:00:00Z", bench, columns, pager, arguments)
}

#[cfg(unix)]
fn screen_at(now: &str, bench: &Bench, columns: usize, pager: &str, arguments: &[&str]) -> String {
    let mut command = llrem(bench, arguments);
    command
        .arg("--no-progress")
        .env("LLREM_NOW", now)
        .env("COLUMNS", columns.to_string())
        .env("LLREM_PAGER", pager)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    let mut session = rexpect::session::spawn_command(command, Some(60_000)).unwrap();
    // It gives each byte as a character.
    let bytes: Vec<u8> =
        session.exp_eof().unwrap().chars().map(|byte| u8::try_from(u32::from(byte)).unwrap()).collect();
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let bench = bench();
    let whole = stdout(&bench, &["show", SHOP, "-f", "csv"]);
    for named in ["53ea", "53ea1606", "claude-code:53ea"] {
        assert_eq!(stdout(&bench, &["show", named, "-f", "csv"]), whole, "{named}");
    }
    assert!(stdout(&bench, &["show", "53ea/ag"]).contains("\n53ea1606/ag000003 · shop"));
    assert!(stdout(&bench, &["detect", "error_cascades", "--session", "53ea", "-f", "csv"]).contains("error_cascades"));
    insta::assert_snapshot!(refused(&bench, &["show", "53e"]), @r"
exit 2
error: `53e` names 2 sessions: 53ea1606, 53eb0000
hint: type more of the id
");
    insta::assert_snapshot!(refused(&bench, &["show", "53fa"]), @r"
exit 2
error: no session's id begins with `53fa`
hint: 53ea1606 (shop, 2025-08-05)? `llrem query cost_by_session` lists all
");
    assert!(refused(&bench, &["detect", "polling", "--session", "nothing"]).starts_with("exit 2\n"));
    assert!(refused(&bench, &["show", "53ea", "--at", "99"]).contains("it has 0 to"));
}

#[cfg(unix)]
#[test]
fn a_session_at_80_and_120_columns() {
    let bench = bench();
    insta::assert_snapshot!(screen(&bench, 80, "cat", &["show", "53ea", "--color", "never"]), @r"
Publish the shop keep `main` as it is
53ea1606 · shop, branch main · claude-code 1.0.70 · claude-sonnet-4-20250514
Tue 2025-08-05 10:00–10:14, 14 min active · 2 prompts, 8 responses, 5 tool calls
(4 failed)
$9.61 · 1.60M tokens · 2 findings: $7.20 wasted

── turn 1 ────────────────────────────────── 7 responses, 5 tool calls, $9.61 ──
   0  you                                                               10:00:00
      Publish the shop

        keep `main` as it is

   1  claude-sonnet-4-20250514                   1.53k tokens  $0.0025  10:01:00
      I will run the tests before I publish it to npm.

   2  claude-sonnet-4-20250514                   1.53k tokens  $0.0025  10:02:00
   3  ✓ Bash  npm test                                                       9 B

   5  claude-sonnet-4-20250514                    400k tokens    $2.40  10:04:00
   6  ✗ Bash  npm publish --tag next                                exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)
    ! error_cascades, high, $7.20 wasted: 4 tries in a row failed with the same
      error. Tell the agent what is missing, and put it into the project's
      instructions for agents.
    ! tool_retry_loops, high, counted in another finding: Bash was tried 4 times
      in a row with the same input, and failed each time. Tell the agent to read
      the error, and to try something else after two equal failures.

   8  claude-sonnet-4-20250514                    400k tokens    $2.40  10:06:00
   9  ✗ Bash  npm publish --tag next                                exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)

  11  claude-sonnet-4-20250514                    400k tokens    $2.40  10:08:00
  12  ✗ Bash  npm publish --tag next                                exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)

  14  claude-sonnet-4-20250514                    400k tokens    $2.40  10:10:00
  15  ✗ Bash  npm publish --tag next                                exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)

  17  claude-sonnet-4-20250514                      30 tokens  $0.0003  10:12:00
      thinking, 7 words (--thinking)
      The registry refuses the token.

── turn 2 ─────────────────────────────────────────────── 1 response, $0.0025 ──
  18  you                                                               10:13:00
      Ask for another token

  19  claude-sonnet-4-20250514                   1.53k tokens  $0.0025  10:14:00
      修复登录页面的超时问题 done

Subagents that no call names:
      subagent, 1 response, $0.0025                 llrem show 53ea1606/ag000003

End. Next in shop: llrem show 53eb0000 (2025-08-06, a\u{1b}[2J\u{202e}b<script>…
");
    insta::assert_snapshot!(screen(&bench, 120, "cat", &["show", "53ea", "--color", "never", "--at", "6"]), @r"
Publish the shop keep `main` as it is
53ea1606 · shop, branch main · claude-code 1.0.70 · claude-sonnet-4-20250514
Tue 2025-08-05 10:00–10:14, 14 min active · 2 prompts, 8 responses, 5 tool calls (4 failed)
$9.61 · 1.60M tokens · 2 findings: $7.20 wasted

What comes before is left out; without --at, everything is shown.

── turn 1 ────────────────────────────────────────────────────────────────────────── 7 responses, 5 tool calls, $9.61 ──
   5  claude-sonnet-4-20250514                                                            400k tokens    $2.40  10:04:00
   6  ✗ Bash  npm publish --tag next                                                                        exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)
    ! error_cascades, high, $7.20 wasted: 4 tries in a row failed with the same error. Tell the
      agent what is missing, and put it into the project's instructions for agents.
    ! tool_retry_loops, high, counted in another finding: Bash was tried 4 times in a row with the
      same input, and failed each time. Tell the agent to read the error, and to try something else
      after two equal failures.

   8  claude-sonnet-4-20250514                                                            400k tokens    $2.40  10:06:00
   9  ✗ Bash  npm publish --tag next                                                                        exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)

  11  claude-sonnet-4-20250514                                                            400k tokens    $2.40  10:08:00
  12  ✗ Bash  npm publish --tag next                                                                        exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)

  14  claude-sonnet-4-20250514                                                            400k tokens    $2.40  10:10:00
  15  ✗ Bash  npm publish --tag next                                                                        exit 1  52 B
         │ Exit code 1
         │ npm error 403
         │ forbidden
         │ 2 more lines (--outputs)

  17  claude-sonnet-4-20250514                                                              30 tokens  $0.0003  10:12:00
      thinking, 7 words (--thinking)
      The registry refuses the token.

── turn 2 ─────────────────────────────────────────────────────────────────────────────────────── 1 response, $0.0025 ──
  18  you                                                                                                       10:13:00
      Ask for another token

  19  claude-sonnet-4-20250514                                                           1.53k tokens  $0.0025  10:14:00
      修复登录页面的超时问题 done

Subagents that no call names:
      subagent, 1 response, $0.0025                                                         llrem show 53ea1606/ag000003

End. Next in shop: llrem show 53eb0000 (2025-08-06, a\u{1b}[2J\u{202e}b<script>alert(1)</script>&amp; \u{200b})
");
}

#[test]
fn what_is_folded_can_be_shown() {
    let bench = bench();
    let folded = stdout(&bench, &["show", "53ea"]);
    assert!(
        folded.contains("thinking, 7 words (--thinking)") && folded.contains("2 more lines (--outputs)"),
        "{folded}"
    );
    assert!(!folded.contains("12 passed") && !folded.contains("no right"), "{folded}");
    let open = stdout(&bench, &["show", "53ea", "--thinking", "--outputs"]);
    assert!(open.contains("no right to publish") && open.contains("│ 12 passed") && open.contains("│ end"), "{open}");
}

#[cfg(unix)]
#[test]
fn text_is_escaped_on_a_terminal_and_comes_through_a_pager() {
    let bench = bench();
    let shown = screen(&bench, 80, "cat", &["show", LATER, "--outputs", "--color", "never"]);
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{shown:?}");
    assert!(shown.contains("\\u{1b}[2J\\u{202e}b<script>"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || line.contains('│')), "{shown}");
    assert!(
        stdout(&bench, &["show", LATER]).contains(HOSTILE.trim_end_matches('\u{200b}').trim()),
        "a pipe gets it as it is"
    );
    let paged = screen(&bench, 80, "sed s/^/>/", &["show", "53ea"]);
    assert!(paged.lines().all(|line| line.starts_with('>')), "{paged}");
    assert!(paged.contains("\u{1b}[31m✗"), "{paged}");
    let alone = screen(&bench, 80, "/nowhere/pager", &["show", LATER]);
    assert!(alone.contains("End. This is the newest session of shop."), "{alone}");
}

#[test]
fn a_page_is_self_contained_and_escapes_texts() {
    let bench = bench();
    let page = bench.path().join("page.html");
    for session in [SHOP, LATER] {
        succeed(&mut llrem(&bench, &["show", session, "--html", page.to_str().unwrap()]));
        let html = fs::read_to_string(&page).unwrap();
        assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"), "{html}");
        assert!(html.contains("default-src 'none'; style-src 'sha256-"), "{html}");
        for missing in ["<script", "src=", "href=", "http:", "\u{1b}", "\u{202e}", "style=\""] {
            assert!(!html.contains(missing), "{missing}");
        }
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"), "{html}");
    let other = bench.path().join("other.html");
    succeed(&mut llrem(&bench, &["show", "53ea", "-o", other.to_str().unwrap()]));
    assert!(fs::read_to_string(&other).unwrap().contains("error_cascades, "));
}

#[test]
fn rows_and_markdown_have_every_entry() {
    let bench = bench();
    let rows: Value = serde_json::from_str(&stdout(&bench, &["show", "53ea", "-f", "json"])).unwrap();
    let rows = rows.as_array().unwrap();
    let counted = bench.sql(&format!(
        "select (select count(*) from messages where session_id = '{SHOP}') \
         + (select count(*) from tool_calls where session_id = '{SHOP}') as n"
    ));
    assert_eq!(rows.len().to_string(), counted[0]);
    let call = rows.iter().find(|row| row["tool"] == "Bash").unwrap();
    assert_eq!(
        (&call["command"], &call["output"], &call["kind"]),
        (&json!("npm test"), &json!("12 passed"), &json!("tool_call"))
    );
    let markdown = stdout(&bench, &["show", "53ea", "-f", "markdown"]);
    assert!(markdown.starts_with("# Publish the shop keep \\`main\\` as it is\n"), "{markdown}");
    assert!(
        markdown.contains("✗ Bash `npm publish --tag next` · ") && markdown.contains("> **!** error\\_cascades"),
        "{markdown}"
    );
}

#[test]
fn every_format_begins_at_a_place() {
    let bench = bench();
    let rows: Value = serde_json::from_str(&stdout(&bench, &["show", "53ea", "-f", "json", "--at", "18"])).unwrap();
    let places: Vec<i64> = rows.as_array().unwrap().iter().map(|row| row["seq"].as_i64().unwrap()).collect();
    assert_eq!(places, [18, 19]);
    let page = bench.path().join("page.html");
    succeed(&mut llrem(&bench, &["show", "53ea", "--at", "18", "--html", page.to_str().unwrap()]));
    for text in [stdout(&bench, &["show", "53ea", "-f", "md", "--at", "18"]), fs::read_to_string(&page).unwrap()] {
        assert!(text.contains("Ask for another token") && text.contains("without --at, everything is shown"), "{text}");
        assert!(text.contains("Publish the shop") && !text.contains("I will run the tests"), "{text}");
    }
    assert!(
        refused(&bench, &["show", "53ea", "-f", "json", "--at", "99"]).starts_with("exit 2\nerror: the session has no")
    );
}

#[test]
fn every_format_obeys_the_limit() {
    let bench = bench();
    let places = |arguments: &[&str]| -> Vec<i64> {
        let rows = stdout(&bench, &[&["show", "53ea", "-f", "json"], arguments].concat());
        serde_json::from_str::<Vec<Value>>(&rows).unwrap().iter().map(|row| row["seq"].as_i64().unwrap()).collect()
    };
    let all = places(&["-n", "off"]);
    assert_eq!(places(&["-n", "2"]), all[..2]);
    assert_eq!(places(&["--at", "18", "-n", "1"]), [18]);
    let page = bench.path().join("page.html");
    succeed(&mut llrem(&bench, &["show", "53ea", "-n", "2", "--html", page.to_str().unwrap()]));
    let goes_on = "The session goes on at 2: llrem show 53ea1606 --at 2";
    let texts = [
        stdout(&bench, &["show", "53ea", "-n", "2"]),
        stdout(&bench, &["show", "53ea", "-n", "2", "-f", "md"]).replace("\\-", "-"),
        fs::read_to_string(&page).unwrap(),
        screen(&bench, 80, "cat", &["show", "53ea", "-n", "2"]),
    ];
    for text in texts {
        assert!(text.contains("I will run the tests") && text.contains(goes_on), "{text}");
        assert!(!text.contains("npm test") && !text.contains("Ask for another token"), "{text}");
    }
    let part = stdout(&bench, &["show", "53ea", "--at", "18", "-n", "1"]);
    assert!(part.contains("  18  ") && !part.contains("  19  ") && part.contains("goes on at 19"), "{part}");
    let whole = stdout(&bench, &["show", "53ea", "-n", &all.len().to_string()]);
    assert_eq!(whole, stdout(&bench, &["show", "53ea"]));
}

#[test]
fn waste_without_a_price_makes_a_sum_at_least() {
    let bench = Bench::new();
    let mut failing = Transcript::new(SHOP, "2025-08-05T10:00:00Z");
    failing.prompt("Publish the shop");
    for place in 0..4 {
        fail(&mut failing, place, "npm publish --tag next", "Exit code 1\nnpm error 403");
    }
    bench.transcript(&format!("{SHOP}.jsonl"), failing.text());
    succeed(&mut bench.etl());
    let summary = |bench: &Bench| stderr(&succeed(&mut llrem(bench, &["detect", "error_cascades"])));
    let overview = |bench: &Bench| stdout(bench, &["-f", "table"]);
    assert!(summary(&bench).contains("1 finding in 1 session: $7.20 of $9.60 was wasted (75%)"), "{}", summary(&bench));
    assert!(overview(&bench).contains("Wasted, last 30 days: $7.20 of $9.60 (75%)"), "{}", overview(&bench));
    let other = failing.text().replace(SHOP, LATER).replace("msg_", "other_").replace("toolu_", "other_");
    bench.transcript(&format!("{LATER}.jsonl"), other.replace("claude-sonnet-4-20250514", "house-model"));
    succeed(&mut bench.etl());
    assert!(
        summary(&bench).contains("2 findings in 2 sessions: $7.20+ of $9.60+ was wasted (75%)"),
        "{}",
        summary(&bench)
    );
    assert!(overview(&bench).contains("Wasted, last 30 days: $7.20+ of $9.60+ (75%)"), "{}", overview(&bench));
    assert!(overview(&bench).contains("  wasted") && overview(&bench).contains("$7.20+"), "{}", overview(&bench));
}

#[test]
fn a_session_without_messages_has_an_end() {
    let bench = Bench::new();
    let mut only = Transcript::new("aaaa0000-0000-4000-8000-000000000001", "2025-08-05T10:00:00Z");
    only.prompt("hi");
    bench.transcript("aaaa0000-0000-4000-8000-000000000001.jsonl", only.text());
    succeed(&mut bench.etl());
    let shown = stdout(&bench, &["show", "aaaa"]);
    assert!(shown.contains("cost –") && shown.ends_with("End. This is the newest session of shop.\n"), "{shown}");
}

#[test]
fn search_finds_all_words_of_a_record() {
    let bench = bench();
    let found = |arguments: &[&str]| stdout(&bench, &[&["search"], arguments].concat());
    let shown = found(&["publish", "npm"]);
    assert!(shown.starts_with("publish npm: 5 hits in 1 session\n"), "{shown}");
    assert!(shown.contains("reply: I will run the tests before I publish it to npm."), "{shown}");
    assert!(found(&["npm publish"]).contains("4 hits in 1 session"), "a phrase");
    assert_eq!(
        found(&["\"npm publish\""]).lines().skip(1).collect::<Vec<_>>(),
        found(&["npm publish"]).lines().skip(1).collect::<Vec<_>>()
    );
    assert!(found(&["\"npm publish\" zebra"]).starts_with("No hits"), "a phrase and a word");
    assert!(found(&["ublish"]).starts_with("No hits for ublish in 2 sessions."), "not within a word");
    assert_eq!(found(&["npm", "publich"]), "No hits for npm publich in 2 sessions. Did you mean publish?\n");
    assert!(found(&["登录"]).contains("--at "), "within a text without spaces");
    assert!(found(&["-e", "npm (test|pack)"]).contains("command: npm test"));
    assert!(found(&["PASSED"]).contains("output: 12 passed"));
    assert!(found(&["right", "token"]).contains("thinking: The token has no right to publish."));
    assert!(found(&["none", "--project", "shop"]).contains("in 1 subagent\n"));
    assert_eq!(found(&["npm", "--since", "2025-08-06"]), "No hits for npm in 1 session since Wed 2025-08-06.\n");
    assert!(found(&["npm", "--until", "2025-08-05", "--agent", "claude-code"]).contains("6 hits in 1 session"));
    let day = ["npm", "--since", "2025-08-05", "--until", "2025-08-05", "--timezone", "America/Los_Angeles"];
    assert!(found(&day).contains("6 hits in 1 session"), "the day of the zone");
    assert!(refused(&bench, &["search", "-e", "npm ("]).starts_with("exit 2\n"));
    assert!(refused(&bench, &["search", "npm", "--project", "sho"]).starts_with("exit 2\n"));
    assert!(refused(&bench, &["search", " "]).starts_with("exit 2\n"));
    let several = found(&["npm", "--hits", "3"]);
    assert_eq!(several.matches("npm").count(), 4, "the heading and three hits: {several}");
    let rows: Value = serde_json::from_str(&found(&["npm", "--hits", "2", "-f", "json"])).unwrap();
    assert_eq!(
        (rows.as_array().unwrap().len(), &rows[0]["hits"], &rows[0]["session_id"]),
        (2, &json!(6), &json!(SHOP))
    );
}

#[test]
fn a_search_of_no_session_names_those_that_there_are() {
    let bench = bench();
    let found = |arguments: &[&str]| stdout(&bench, &[&["search", "npm"], arguments].concat());
    insta::assert_snapshot!(
        [
            found(&["--agent", "codex"]),
            found(&["--agent", "claude-code", "--since", "2099-01-01"]),
            found(&["--project", "shop", "--agent", "claude-code", "--until", "2020-01-31"]),
        ]
        .concat(), @r"
No hits for npm: no sessions of codex. The lake has sessions of claude-code.
No hits for npm: no sessions of claude-code since Thu 2099-01-01. The newest session of claude-code is of Wed 2025-08-06.
No hits for npm: no sessions of shop by claude-code until Fri 2020-01-31. The oldest session of shop by claude-code is of Tue 2025-08-05.
");
    let empty = Bench::new();
    succeed(&mut empty.etl());
    assert_eq!(stdout(&empty, &["search", "npm"]), "No hits for npm. The lake has no sessions yet.\n");
}

#[test]
fn a_subagent_without_its_parent_belongs_to_a_session() {
    let bench = Bench::new();
    let mut helper = Transcript::new(SHOP, "2025-08-05T10:30:00Z");
    helper.prompt("Look for the token").reply("There is none.");
    bench.subagent(SHOP, "ag000003", &helper);
    succeed(&mut bench.etl());
    assert_eq!(stdout(&bench, &["search", "zzz"]), "No hits for zzz in 1 session.\n");
    let shown = stdout(&bench, &["show", "53ea/ag000003"]);
    assert!(shown.contains("\nSubagent of 53ea1606…, which is not in the lake\n"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_stale_lake_is_said_once() {
    let bench = bench();
    let stale = |pager: &str, arguments: &[&str]| {
        let shown = screen_at("2099-01-01T00:00:00Z", &bench, 80, pager, arguments);
        assert_eq!(shown.matches("Last etl ").count(), 1, "{arguments:?}: {shown}");
    };
    for arguments in [&["sources"][..], &["sources", "--bad"], &["sources", "--unknown"], &["verify"]] {
        stale("cat", arguments);
    }
    for pager in ["cat", "sed s/^/>/"] {
        stale(pager, &["show", "53ea"]);
        stale(pager, &["search", "npm"]);
    }
}

#[cfg(unix)]
#[test]
fn search_at_80_and_120_columns() {
    let bench = bench();
    insta::assert_snapshot!(screen(&bench, 80, "cat", &["search", "npm", "publish", "--color", "never"]), @r#"
npm publish: 5 hits in 1 session

Publish the shop keep `main` as it is
  2025-08-05  shop  claude-code  $9.61  5 hits       llrem show 53ea1606 --at 15
  command: npm publish --tag next

llrem search "npm publish"   the phrase   -e REGEX   --since --project --agent
"#);
    insta::assert_snapshot!(screen(&bench, 120, "cat", &["search", "done", "--color", "never"]), @r"
done: 1 hit in 1 session

Publish the shop keep `main` as it is
  2025-08-05  shop  claude-code  $9.61  1 hit                            llrem show 53ea1606 --at 19
  reply: 修复登录页面的超时问题 done
");
    let hostile = screen(&bench, 80, "cat", &["search", "alert", "--color", "never"]);
    assert!(
        hostile.contains("<script>alert(1)") && !hostile.contains(['\u{1b}', '\u{202e}', '\u{200b}']),
        "{hostile:?}"
    );
    assert!(screen(&bench, 80, "cat", &["search", "alert"]).contains("\u{1b}[1;33malert\u{1b}[0m"));
    for columns in [50, 80] {
        let long = screen(&bench, columns, "cat", &["search", "long", "--color", "never"]);
        assert!(long.lines().all(|line| line.chars().count() <= columns), "{long}");
    }
    insta::assert_snapshot!(screen(&bench, 60, "cat", &["search", "token", "--color", "never", "-n", "1"]), @r"
token: 3 hits in 1 session and 1 subagent

Look for the token
  2025-08-05  1 hit      llrem show 53ea1606/ag000003 --at 0
  prompt: Look for the token

1 more session, 2 hits. All of them: --limit off
");
}

#[test]
fn findings_are_kept_until_the_lake_changes() {
    let bench = bench();
    let folder = bench.path().join(".cache/llrem/findings");
    let kept = || lake::files(&folder);
    let found = || stdout(&bench, &["detect", "-f", "csv"]);
    let show = || stdout(&bench, &["show", "53ea", "-f", "markdown"]);
    let of_session = show();
    assert!(of_session.contains("in a row failed"), "{of_session}");
    let overview = || stdout(&bench, &["-f", "json"]);
    let since = || stdout(&bench, &["detect", "--since", "2025-08-06", "--agent", "claude-code", "-f", "csv"]);
    let narrow = (overview(), since());
    fs::remove_dir_all(&folder).unwrap();
    show();
    let first = found();
    assert!(first.contains("error_cascades"), "{first}");
    assert_eq!((overview(), since()), narrow, "the kept findings have those of each period");
    assert_eq!(show(), of_session, "the kept findings have those of each session");
    let entries = kept();
    assert_eq!(entries.len(), 3, "findings of the session, those of the lake, and what was found in each file");
    // Nothing but the kept findings can answer without the tool calls.
    let calls = bench.lake().join("tool_calls");
    let hidden = bench.path().join("hidden");
    fs::rename(&calls, &hidden).unwrap();
    assert_eq!(found(), first);
    fs::rename(&hidden, &calls).unwrap();
    for entry in entries {
        fs::write(entry, "damaged").unwrap();
    }
    assert_eq!(found(), first);
    assert_ne!(stdout(&bench, &["detect", "error_cascades", "--param", "min_run=9", "-f", "csv"]), first);
    let mut again = Transcript::new("53ec0000-0000-4000-8000-000000000003", "2025-08-07T10:00:00Z");
    again.prompt("Publish it");
    // Records with the ids of the other session would be copies of it.
    for place in 4..8 {
        fail(&mut again, place, "npm publish", "Exit code 1\nnpm error 403");
    }
    bench.transcript("53ec0000-0000-4000-8000-000000000003.jsonl", again.text());
    succeed(&mut bench.etl());
    assert!(found().contains("53ec0000"));
    // A detector of the user may depend on more than the lake.
    for entry in kept() {
        fs::remove_file(entry).unwrap();
    }
    let own = bench.path().join("queries/detectors");
    fs::create_dir_all(&own).unwrap();
    let text = include_str!("../sql/detectors/error_cascades.sql").replace("'error_cascades'", "'mine'");
    fs::write(own.join("mine.sql"), text.replace("-- name: error_cascades", "-- name: mine")).unwrap();
    let config = bench.path().join("config.toml");
    fs::write(&config, format!("query_folders = ['{}']\n", own.parent().unwrap().display())).unwrap();
    assert!(stdout(&bench, &["--config", config.to_str().unwrap(), "detect", "-f", "csv"]).contains("mine"));
    assert_eq!(kept().len(), 1, "what the other detectors found in each file");
}
