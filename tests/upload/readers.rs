//! Others read the bucket through its own protocol, with what they bring for it.

use std::path::Path;
use std::process::Command;

use crate::lake::{Bench, succeed};
use crate::server::S3;
use crate::sync::{add_session, small_lake};

/// The tables' rows and sums, by pyarrow over the S3 protocol.
fn facts(s3: &S3) -> serde_json::Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let usual = || root.join("target/test-venv");
    let venv = std::env::var_os("LLREM_TEST_VENV").map_or_else(usual, Into::into);
    let mut command = Command::new(venv.join("bin/python"));
    command.arg(root.join("tests/python/bucket.py")).arg(s3.url());
    s3.set_environment(&mut command);
    let output = succeed(&mut command);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn pyarrow_sums_up_two_machines() {
    let s3 = S3::start();
    let (ada, kim) = (small_lake(["a", "b", "c"]), Bench::new());
    for (name, day) in [("x", "2025-09-07"), ("y", "2025-11-01")] {
        add_session(&kim, name, day);
    }
    succeed(kim.etl().env("LLREM_MACHINE", "kim"));
    for profile in ["full", "redacted", "metrics"] {
        for lake in [ada.lake(), kim.lake()] {
            succeed(&mut s3.upload(&lake, &["--profile", profile]));
        }
        // Each session: 2 responses of 10 + 500 + 1000 + 20 tokens, one call, two prompts and replies.
        let expected = serde_json::json!({
            "bench": {"sessions": 3, "messages": 12, "tool_calls": 3, "usage": 6, "tokens": 9180},
            "kim": {"sessions": 2, "messages": 8, "tool_calls": 2, "usage": 4, "tokens": 6120},
        });
        assert_eq!(facts(&s3), expected, "{profile}");
    }
}
