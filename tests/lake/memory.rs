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

/// Files of 60 MB in which no call gets its result.
#[test]
fn it_does_not_grow_with_calls_without_results() {
    let command = "what the tool is to do\n".repeat(150);
    let codex = |number: usize| {
        let arguments = json!({"command": ["sh", "-c", format!("{number} {command}")]}).to_string();
        let id = format!("call_{number}");
        let call = json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id});
        json!({"timestamp": "2026-06-20T00:00:00.000Z", "type": "response_item", "payload": call}).to_string() + "\n"
    };
    let mut transcript = Transcript::new("open", "2025-08-05T10:00:00Z");
    for number in 0..18_000 {
        transcript.call("Bash", &json!({"command": format!("{number} {command}")}), "");
    }
    transcript.lines.retain(|line| !line.contains("tool_result"));
    let texts = [rollout("open", 0..0, 0, false) + &(0..18_000).map(codex).collect::<String>(), transcript.text()];
    for (text, of_codex) in texts.into_iter().zip([true, false]) {
        let bench = Bench::new();
        if of_codex {
            fs::write(&rollouts(&bench)[0], text).unwrap();
        } else {
            bench.transcript("open.jsonl", text);
        }
        let peak = peak_memory(&bench);
        println!("{} MB", peak / 1000);
        let calls = "select count(*), count(distinct command), count(output) from tool_calls where status = 'pending'";
        assert_eq!(bench.sql(calls), ["18000,18000,0"]);
        assert_eq!(bench.sql("select state, bad_lines > 0 from sources"), ["partial,true"]);
        assert!(peak < 250_000, "{peak} kB");
    }
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
