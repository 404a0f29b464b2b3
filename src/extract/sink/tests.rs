use arrow::array::{Array, StringArray};

use super::*;
use crate::extract::arguments;
use crate::extract::hashing::Hex;
use crate::pricing::{PriceTable, Pricer};
use crate::redact::{Mode, Redactor};
use crate::tables::{MessageKind, MessageRow, Status, ToolCallRow};

const INPUT: &str = r#"{"command":"psql postgres://app:Summer2026x@db.internal:5432/app"}"#;
const FAILED: &str = "cannot reach the server at postgres://app:Summer2026x@db.internal:5432/app";
const HASHES: [&str; 5] = ["text_sketch", "input_key", "input_shape", "output_key", "error_key"];

/// Returns the columns of a prompt and of a call, in a lake with this key.
fn columns(content: Content, key: u8, names: &[&str]) -> Vec<Option<String>> {
    let (redactor, pricer) = (Redactor::new(Mode::Secrets, [key; 32]), Pricer::new(PriceTable::bundled()));
    let context =
        Context { agent: "claude-code", redactor: &redactor, pricer: &pricer, content, zone: chrono_tz::Tz::UTC };
    let mut sink = Sink::collect(&context);
    let prompt = MessageRow { message_id: "m", kind: MessageKind::Prompt, text: Some(FAILED), ..MessageRow::default() };
    sink.message(prompt, false).unwrap();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let name = format!("mcp__{token}__run");
    let call = ToolCallRow {
        call_id: "c",
        name: &name,
        mcp_server: Some(&token),
        input: Some(INPUT),
        output: Some(FAILED),
        status: Status::Error,
        ..ToolCallRow::default()
    };
    sink.tool_call(call, false).unwrap();
    let [messages, calls, _] = sink.session().finish().unwrap();
    let value = |name: &&str| {
        let column = calls.batch.column_by_name(name).or_else(|| messages.batch.column_by_name(name)).unwrap();
        let texts = column.as_any().downcast_ref::<StringArray>().unwrap();
        texts.is_valid(0).then(|| texts.value(0).to_owned())
    };
    names.iter().map(value).collect()
}

#[test]
fn hashes_are_made_of_the_stored_text() {
    let [input, key] = columns(Content::Full, 1, &["input", "input_key"]).try_into().unwrap();
    let name = columns(Content::Full, 1, &["name"]).remove(0).unwrap();
    let (input, name) = (input.unwrap(), name.as_str());
    assert!(input.contains("app:‹redacted:url-password:"), "{input}");
    assert_eq!(key.as_deref(), Some(&*Hex::of(arguments::input_key(name, &input))));
    for hash in columns(Content::Full, 1, &HASHES).into_iter().zip(columns(Content::Full, 2, &HASHES)).skip(1).take(3) {
        assert_ne!(hash.0, hash.1, "the marks of two lakes differ");
    }
}

#[test]
fn without_contents_hashes_are_those_of_one_lake() {
    assert_eq!(columns(Content::None, 1, &["text", "input", "output"]), [None, None, None]);
    let [full, one, again, other] = [(Content::Full, 1), (Content::None, 1), (Content::None, 1), (Content::None, 2)]
        .map(|(content, key)| columns(content, key, &HASHES));
    assert_eq!(one, again);
    for ((name, one), (full, other)) in HASHES.iter().zip(&one).zip(full.iter().zip(&other)) {
        assert!(one.is_some() && one != full && one != other, "{name}: {one:?} {full:?} {other:?}");
    }
}

#[test]
fn names_of_tools_and_servers_hold_no_secrets() {
    for name in columns(Content::Full, 1, &["name", "mcp_server"]).into_iter().flatten() {
        assert!(name.contains("‹redacted:github-token:") && !name.contains("a1B2"), "{name}");
    }
}
