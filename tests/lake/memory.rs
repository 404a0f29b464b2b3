//! The memory of a run is bounded, whatever a source holds.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::corpus;
use crate::lake::{Bench, Transcript};

/// Keys of records are held, about a fifth of what this source grows by, and texts are not.
#[test]
fn it_grows_far_less_than_the_source() {
    let [small, large] = [100_000_000, 300_000_000].map(|bytes| {
        let bench = Bench::new();
        let params = corpus::Params { bytes, profile: corpus::Profile::OneFile, ..corpus::Params::default() };
        corpus::generate(&bench.home(), &params).unwrap();
        peak_memory(&bench)
    });
    println!("peaks: {} MB and {} MB", small / 1000, large / 1000);
    assert!(large < small + 60_000, "{small} kB of 100 MB, {large} kB of 300 MB");
    assert!(large < 300_000, "{large} kB");
}

/// The thread of `rollout`.
const THREAD: &str = "019fbcc4-2900-7000-8000-000000000001";

/// A rollout of Codex: calls with outputs of so many words of 17 bytes, and a reply after each if `speaks`.
fn rollout(name: &str, numbers: std::ops::Range<usize>, words: usize, speaks: bool) -> String {
    let line = |second: usize, kind: &str, payload: Value| {
        let timestamp = format!("2026-06-20T{:02}:{:02}:{:02}.000Z", second / 3600, second / 60 % 60, second % 60);
        json!({"timestamp": timestamp, "type": kind, "payload": payload}).to_string() + "\n"
    };
    let output = |number: usize| -> String {
        let word = |place: usize| ((number * words + place) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..words).map(|place| format!("{:016x} ", word(place))).collect()
    };
    let call = |number: usize| {
        let id = format!("call_{name}_{number}");
        let asked = json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id});
        let answered = json!({"type": "function_call_output", "call_id": id, "output": output(number)});
        let reply = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": id}]});
        let lines = [asked, answered, reply].into_iter().take(if speaks { 3 } else { 2 }).zip(number * 3..);
        lines.map(|(payload, second)| line(second, "response_item", payload)).collect::<String>()
    };
    let head = line(0, "session_meta", json!({"id": THREAD, "timestamp": "2026-06-20T00:00:00.000Z", "cwd": "/tmp"}));
    numbers.fold(head, |text, number| text + &call(number))
}

/// The paths of two rollouts of one thread.
fn rollouts(bench: &Bench) -> [PathBuf; 2] {
    let folder = bench.home().join(".codex/sessions/2026/06/20");
    fs::create_dir_all(&folder).unwrap();
    ["00", "10"].map(|second| folder.join(format!("rollout-2026-06-20T00-00-{second}-{THREAD}.jsonl")))
}

/// Two files of 60 MB have rows of one session, and then one of them loses its first half.
#[test]
fn it_does_not_grow_with_a_session_of_several_sources() {
    let bench = Bench::new();
    let files = rollouts(&bench);
    for (file, name) in files.iter().zip(["a", "b"]) {
        fs::write(file, rollout(name, 0..16_000, 200, true)).unwrap();
    }
    let whole = peak_memory(&bench);
    fs::write(&files[0], rollout("a", 8_000..16_000, 200, true)).unwrap();
    let cut = peak_memory(&bench);
    println!("peaks: {} MB and {} MB", whole / 1000, cut / 1000);
    assert_eq!(bench.sql("select count(*), count(gone_at) from tool_calls"), ["32000,8000"]);
    assert_eq!(bench.sql("select count(*) from sessions"), ["1"]);
    assert!(whole.max(cut) < 350_000, "{whole} kB whole, {cut} kB cut");
}

/// Files of 60 MB: outputs of 1 MB, and a response that never ends.
#[test]
fn it_does_not_grow_with_large_outputs_or_a_long_response() {
    for (name, calls, words, speaks) in [("large", 60, 60_000, true), ("long", 16_000, 200, false)] {
        let bench = Bench::new();
        let [file, _] = rollouts(&bench);
        fs::write(file, rollout(name, 0..calls, words, speaks)).unwrap();
        let peak = peak_memory(&bench);
        println!("{name}: {} MB", peak / 1000);
        assert_eq!(bench.sql("select count(*), count(output) from tool_calls"), [format!("{calls},{calls}")]);
        assert!(peak < 200_000, "{name}: {peak} kB");
    }
}

/// Number of calls or messages of a source.
const RECORDS: usize = 18_000;

/// A command of 3,500 bytes.
fn command(number: usize) -> String {
    format!("{number} {}", "what the tool is to do; ".repeat(145))
}

/// Sources of 60 MB in which no call gets its result: path and text.
fn sources_without_results() -> [(String, String); 5] {
    let all = |call: &dyn Fn(usize) -> Value| -> String {
        (0..RECORDS).map(|number| call(number).to_string() + "\n").collect()
    };
    let codex = all(&|number| {
        let arguments = json!({"command": ["sh", "-c", command(number)]}).to_string();
        let id = format!("call_{number}");
        let call = json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id});
        json!({"timestamp": "2026-06-20T00:00:00.000Z", "type": "response_item", "payload": call})
    });
    let mut claude_code = Transcript::new("open", "2025-08-05T10:00:00Z");
    for number in 0..RECORDS {
        claude_code.call("Bash", &json!({"command": command(number)}), "");
    }
    claude_code.lines.retain(|line| !line.contains("tool_result"));
    let prompt = json!({"type": "user.message", "data": {"content": "begin"}, "id": "event"});
    let copilot = all(&|number| {
        let arguments = json!({"command": command(number)});
        let data = json!({"toolCallId": format!("call_{number}"), "toolName": "bash", "arguments": arguments});
        json!({"type": "tool.execution_start", "data": data, "id": format!("event_{number}")})
    });
    let cline = (0..RECORDS).map(|number| {
        let call = json!({"type": "tool_use", "name": "execute_command", "input": {"command": command(number)}});
        json!({"role": "assistant", "content": [call], "ts": 1_770_030_000_000 + number})
    });
    let cursor = (0..RECORDS).map(|number| format!("[Tool call] Shell\n  command: {}\n", command(number)));
    let tasks = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks";
    [
        (
            format!(".codex/sessions/2026/06/20/rollout-2026-06-20T00-00-00-{THREAD}.jsonl"),
            rollout("open", 0..0, 0, false) + &codex,
        ),
        (".claude/projects/-home-kim/open.jsonl".to_owned(), claude_code.text()),
        (".copilot/session-state/open/events.jsonl".to_owned(), format!("{prompt}\n{copilot}")),
        (format!("{tasks}/1770030000000/api_conversation_history.json"), cline.collect::<Value>().to_string()),
        (
            ".cursor/projects/open/agent-transcripts/open.txt".to_owned(),
            "assistant:\n".to_owned() + &cursor.collect::<String>(),
        ),
    ]
}

/// Sources of 60 MB in which all lines continue one reply; the response is billed once.
#[test]
fn it_does_not_grow_with_a_reply_that_does_not_end() {
    let claude_code = |number: usize| {
        let content = json!([{"type": "text", "text": command(number)}]);
        let usage = json!({"input_tokens": 7, "output_tokens": 9});
        let message =
            json!({"id": "msg_1", "model": "claude-sonnet-5", "role": "assistant", "content": content, "usage": usage});
        json!({"type": "assistant", "uuid": format!("line-{number}"), "sessionId": "open", "message": message})
    };
    let copilot = |number: usize| {
        let data = json!({"messageId": "m", "apiCallId": "msg_1", "content": command(number), "outputTokens": 9});
        json!({"type": "assistant.message", "data": data, "id": format!("line-{number}")})
    };
    for bench in [
        hold_texts(".claude/projects/-home-kim/open.jsonl", &claude_code, 4),
        hold_texts(".copilot/session-state/open/events.jsonl", &copilot, 4),
    ] {
        assert_eq!(bench.sql("select count(*), sum(output_tokens) from usage"), ["1,9"]);
    }
}

/// Reads a source of 60 MB: a line for each record with the text of `command`. Checks its messages, their texts and the
/// memory that the run takes.
fn hold_texts(path: &str, line: &dyn Fn(usize) -> Value, messages: usize) -> Bench {
    let bench = Bench::new();
    let text: String = (0..RECORDS).map(|number| line(number).to_string() + "\n").collect();
    write(&bench, path, &text);
    write(&bench, ".grok/sessions/%2Fhome%2Fana%2Fweb/open/summary.json", r#"{"info": {"id": "open"}}"#);
    let peak = peak_memory(&bench);
    println!("{path}: {} MB", peak / 1000);
    let text = "select count(*), sum(cast(regexp_count(text, 'what the tool is to do') as bigint)) from messages";
    assert_eq!(bench.sql(text), [format!("{messages},{}", RECORDS * 145)], "{path}");
    assert!(peak < 250_000, "{path}: {peak} kB");
    bench
}

/// Sources of 60 MB that agents seldom let grow so large. Grok's is one reply that does not end.
#[test]
fn it_does_not_grow_with_the_texts_of_a_session() {
    let droid = |number: usize| {
        let text = command(number);
        json!({"type": "message", "session_id": "open", "role": "assistant", "text": text, "id": format!("m{number}")})
    };
    let hermes = |number: usize| json!({"role": "assistant", "content": command(number)});
    let vibe = |number: usize| {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        json!({"role": "assistant", "content": command(number), "message_id": id})
    };
    let grok = |number: usize| {
        let content = json!({"type": "text", "text": command(number)});
        json!({"params": {"update": {"sessionUpdate": "agent_message_chunk", "content": content}}})
    };
    hold_texts(".factory/projects/shop/open.jsonl", &droid, RECORDS);
    hold_texts(".hermes/sessions/20251202_100000_abc125.jsonl", &hermes, RECORDS);
    hold_texts(".vibe/logs/session/session_20260602_100000_10000001/messages.jsonl", &vibe, RECORDS);
    hold_texts(".grok/sessions/%2Fhome%2Fana%2Fweb/open/updates.jsonl", &grok, 4);
}

#[test]
fn it_does_not_grow_with_calls_without_results() {
    for (path, text) in sources_without_results() {
        let bench = Bench::new();
        write(&bench, &path, &text);
        let peak = peak_memory(&bench);
        println!("{path}: {} MB", peak / 1000);
        let calls = "select count(*), count(distinct command), count(output) from tool_calls where status = 'pending'";
        assert_eq!(bench.sql(calls), [format!("{RECORDS},{RECORDS},0")], "{path}");
        // A transcript for people goes on as another message, which loses no result.
        let state = if path.starts_with(".cursor") { "ok,false" } else { "partial,true" };
        assert_eq!(bench.sql("select state, bad_lines > 0 from sources"), [state], "{path}");
        // The allocator's share differs by 20 MB between runs.
        assert!(peak < 270_000, "{path}: {peak} kB");
    }
}

/// Typed prompts are held, up to a bound; those after it are a problem of the source, which names the line.
#[test]
fn it_is_bounded_for_typed_prompts() {
    let bench = Bench::new();
    let line = |number: usize| {
        let text = command(number).repeat(20);
        json!({"display": text, "timestamp": 1_760_000_000_000 + number, "project": "/home/kim/shop", "sessionId": "open"})
    };
    let text: String = (0..3_000).map(|number| line(number).to_string() + "\n").collect();
    write(&bench, ".claude/history.jsonl", &text);
    let peak = peak_memory(&bench);
    println!("{} MB of 200 MB", peak / 1000);
    assert_eq!(bench.sql("select count(*) from messages"), ["1434"]);
    assert_eq!(bench.sql("select state, first_bad_line from sources"), ["partial,1435"]);
    assert!(peak < 400_000, "{peak} kB");
}

fn write(bench: &Bench, path: &str, text: &str) {
    let file = bench.home().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// The peak memory of a run. Kilobytes.
fn peak_memory(bench: &Bench) -> u64 {
    let mut run = bench.etl().spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", run.id()));
    let mut peak = 0;
    while run.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        peak = peak.max(line.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(run.wait().unwrap().success() && peak > 0);
    peak
}
