//! Outcomes of calls: from the events at their ends, else from the text of results, whose form changed over the years.

use super::record::Structured;
use crate::agents::kit::values::rounded;
use crate::tables::Status;

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: Status,
    /// True if a rule refused the call.
    pub(super) is_denied: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
}

/// Outcome that the event at a call's end records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) failed: bool,
    pub(super) declined: bool,
}

impl End {
    /// Reads an event's `status` and `success`.
    pub(super) fn of(status: Option<&str>, success: Option<&str>) -> Self {
        let failed = success == Some("false") || status.is_some_and(|status| status.eq_ignore_ascii_case("failed"));
        let declined = status.is_some_and(|status| status.eq_ignore_ascii_case("declined"));
        Self { failed, declined, ..Self::default() }
    }
}

/// Texts of a refusal by the person.
const REJECTED: [&str; 3] = ["exec command rejected by user", "patch rejected by user", "rejected by user"];
/// Texts of a refusal by a rule.
const FORBIDDEN: [&str; 2] =
    ["rejected by user approval settings", "This action was rejected due to unacceptable risk"];
/// Results of a call that was stopped.
const ABORTED: [&str; 3] = ["aborted by user", "command aborted by user", "aborted"];
/// Openings of the texts of calls that failed without an exit code.
const FAILED: [&str; 15] = [
    "command timed out after",
    "failed in sandbox",
    "sandbox denied",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool call",
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "execution error",
    "unable to locate image",
    "tool call error",
    "err: ",
    "Error: ",
    "error: ",
];

impl Outcome {
    /// Returns the outcome of a call with this result.
    pub(super) fn of(output: &str, end: End) -> Self {
        let head = Head::of(output);
        let exit_code = end.exit_code.or(head.exit_code);
        let duration_ms = end.duration_ms.or(head.duration_ms);
        let failed = end.failed || head.failed || exit_code.is_some_and(|code| code != 0);
        // The output of a successful command may contain such words, for example if it searches for them.
        let verdict = if exit_code == Some(0) { None } else { verdict_of(&head.body) };
        let is_denied = matches!(verdict, Some(Verdict::Forbidden | Verdict::NotAsked));
        let status = match verdict {
            Some(Verdict::Forbidden) => Status::Error,
            Some(Verdict::NotAsked) => Status::Rejected,
            Some(Verdict::Status(status)) => status,
            None if end.declined => Status::Rejected,
            None if failed => Status::Error,
            None => Status::Ok,
        };
        Self { status, is_denied, exit_code, duration_ms }
    }

    /// Returns the outcome of a call without a text.
    pub(super) fn of_end(end: End) -> Self {
        Self::of("", end)
    }
}

/// Outcome of a call by its text alone.
enum Verdict {
    Status(Status),
    /// A rule did not allow the call.
    Forbidden,
    /// The call needs an approval, and the policy lets nobody be asked.
    NotAsked,
}

fn verdict_of(body: &str) -> Option<Verdict> {
    let body = body.trim();
    // Every phrase has the word; most results do not, and are long.
    let has_word = memchr::memmem::find(body.as_bytes(), b"rejected").is_some();
    let has_any = |phrases: [&str; 2]| has_word && phrases.iter().any(|phrase| body.contains(phrase));
    if body.starts_with("approval policy is ") && body.contains("; reject command") {
        return Some(Verdict::NotAsked);
    }
    if has_any(FORBIDDEN) {
        return Some(Verdict::Forbidden);
    }
    if REJECTED.contains(&body) || has_any(["Rejected(\"rejected by user\")", "Rejected(\\\"rejected by user\\\")"]) {
        return Some(Verdict::Status(Status::Rejected));
    }
    if ABORTED.contains(&body) || body.starts_with("aborted by user after ") {
        return Some(Verdict::Status(Status::Interrupted));
    }
    FAILED.iter().any(|opening| body.starts_with(opening)).then_some(Verdict::Status(Status::Error))
}

/// Splits a result into its head and its own text.
#[derive(Default)]
struct Head<'a> {
    exit_code: Option<i64>,
    duration_ms: Option<i64>,
    failed: bool,
    body: std::borrow::Cow<'a, str>,
}

impl<'a> Head<'a> {
    fn of(output: &'a str) -> Self {
        if output.starts_with('{')
            && let Ok(structured) = serde_json::from_str::<Structured<'a>>(output)
            && let Some(metadata) = &structured.metadata.0
        {
            return Self {
                exit_code: metadata.exit_code.0,
                duration_ms: metadata.seconds.0.and_then(milliseconds),
                failed: false,
                body: super::content::Content::of(structured.output.json(), false).text.unwrap_or_default(),
            };
        }
        let mut head = Self::default();
        let mut rest = after_command(output);
        while let Some((line, behind)) = rest.split_once('\n').or((!rest.is_empty()).then_some((rest, ""))) {
            let line = line.trim_end();
            if line == "Output:" {
                rest = behind;
                break;
            }
            if !head.takes(line) {
                break;
            }
            rest = behind;
        }
        if head.exit_code.is_none() {
            head.exit_code = code_in_sandbox(rest);
        }
        head.body = rest.into();
        head
    }

    /// Reads a line of the head. Returns false if the line is not part of the head.
    fn takes(&mut self, line: &str) -> bool {
        let after = |opening: &str| line.strip_prefix(opening);
        if let Some(code) = after("Exit code: ").or(after("Process exited with code ")) {
            self.exit_code = code.trim().parse().ok();
        } else if let Some(time) = after("Wall time: ").or(after("Wall time ")) {
            let seconds = time.split(' ').next().and_then(|number| number.parse::<f64>().ok());
            self.duration_ms = seconds.and_then(milliseconds);
        } else if line.starts_with("Script failed") {
            self.failed = true;
        } else {
            let openings =
                ["Chunk ID: ", "Process running with session ID ", "Original token count: ", "Total output lines: "];
            return line.starts_with("Script ") || openings.iter().any(|opening| line.starts_with(opening));
        }
        true
    }
}

/// Bytes at the beginning of a result that may be about the call.
const HEADER: usize = 512;

/// Returns what the tool wrote: since 0.50, ids, times and the exit code of the call come before it, up to a line
/// `Output:`.
pub(super) fn own_output(output: &str) -> &str {
    let header = output.get(..output.floor_char_boundary(HEADER)).unwrap_or_default();
    if !["Chunk ID:", "Wall time", "Exit code:", "Script completed"].iter().any(|line| header.starts_with(line)) {
        return output;
    }
    let own = header.find("\nOutput:\n").and_then(|at| output.get(at + "\nOutput:\n".len()..));
    own.unwrap_or(output)
}

/// Returns the text after the command, which 0.115 to 0.118 repeat first, over one or more lines.
fn after_command(output: &str) -> &str {
    let heads = ["\nChunk ID: ", "\nWall time: "];
    let begins = |head: &&str| memchr::memmem::find(output.as_bytes(), head.as_bytes());
    let head = output.starts_with("Command: ").then(|| heads.iter().find_map(begins)).flatten();
    head.and_then(|at| output.get(at + 1..)).unwrap_or(output)
}

/// Returns the exit code that a command's failure in a sandbox names (until about 0.45).
fn code_in_sandbox(text: &str) -> Option<i64> {
    let behind = text.strip_prefix("failed in sandbox")?.split_once("exit code: ")?.1;
    behind.split(|letter: char| letter != '-' && !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the whole milliseconds of a time in seconds.
pub(super) fn milliseconds(seconds: f64) -> Option<i64> {
    rounded(seconds * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(output: &str) -> (Status, Option<i64>, Option<i64>) {
        let Outcome { status, exit_code, duration_ms, .. } = Outcome::of(output, End::default());
        (status, exit_code, duration_ms)
    }

    #[test]
    fn forms_of_results() {
        for (output, expected) in [
            (
                r#"{"output":"a","metadata":{"exit_code":1,"duration_seconds":0.5}}"#,
                (Status::Error, Some(1), Some(500)),
            ),
            ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\na.txt\n", (Status::Ok, Some(0), Some(200))),
            (
                "Exit code: 0\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\nx",
                (Status::Ok, Some(0), Some(1000)),
            ),
            (
                "Chunk ID: 19dc0a\nWall time: 0.0001 seconds\nProcess exited with code 2\nOriginal token count: 1\nOutput:\nx",
                (Status::Error, Some(2), Some(0)),
            ),
            (
                "Chunk ID: 1\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n",
                (Status::Ok, None, Some(10_000)),
            ),
            (
                "Command: /bin/bash -lc 'ls x'\nChunk ID: 1\nWall time: 0.5 seconds\nProcess exited with code 2\nOutput:\nx",
                (Status::Error, Some(2), Some(500)),
            ),
            (
                "Command: /bin/bash -lc 'cat <<E\nOutput:\nE'\nChunk ID: 1\nWall time: 0.5 seconds\nProcess exited with code 0\nOutput:\nx",
                (Status::Ok, Some(0), Some(500)),
            ),
            ("Command: /bin/bash\nerror: x", (Status::Ok, None, None)),
            ("Script completed\nWall time 2.5 seconds\nOutput:\nx", (Status::Ok, None, Some(2500))),
            ("Script failed\nWall time 1.0 seconds\nOutput:\nx", (Status::Error, None, Some(1000))),
            ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nerror: no such file", (Status::Ok, Some(0), Some(200))),
            (
                r#"{"output":"aborted","metadata":{"exit_code":0,"duration_seconds":1}}"#,
                (Status::Ok, Some(0), Some(1000)),
            ),
            ("exec command rejected by user", (Status::Rejected, None, None)),
            (
                "Exit code: 1\nWall time: 0 seconds\nOutput:\npatch rejected by user",
                (Status::Rejected, Some(1), Some(0)),
            ),
            ("exec_command failed: Rejected(\"rejected by user\")", (Status::Rejected, None, None)),
            ("rejected by user approval settings", (Status::Error, None, None)),
            ("aborted by user after 3.2s", (Status::Interrupted, None, None)),
            ("Wall time: 3.2 seconds\naborted by user", (Status::Interrupted, None, Some(3200))),
            ("aborted", (Status::Interrupted, None, None)),
            ("command timed out after 1000 milliseconds\nx", (Status::Error, None, None)),
            (
                "failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error, exit code: 2, stdout: , stderr: x",
                (Status::Error, Some(2), None),
            ),
            ("Plan updated", (Status::Ok, None, None)),
            ("", (Status::Ok, None, None)),
            ("{\"output\":1}", (Status::Ok, None, None)),
        ] {
            assert_eq!(outcome(output), expected, "{output}");
        }
    }

    #[test]
    fn what_a_rule_refused_is_denied() {
        const NEVER: &str = "approval policy is Never; reject command — you cannot ask for escalated permissions";
        let is_denied = |output| Outcome::of(output, End::default()).is_denied;
        assert!(is_denied("rejected by user approval settings"));
        assert!(is_denied(NEVER) && outcome(NEVER).0 == Status::Rejected);
        assert!(is_denied("This action was rejected due to unacceptable risk.\nReason: it deletes files"));
        assert!(!is_denied("Exit code: 0\nOutput:\na.rs: \"rejected by user approval settings\""));
        assert!(!is_denied("exec command rejected by user") && !is_denied("sandbox denied exec error"));
    }

    #[test]
    fn events_at_the_end_go_first() {
        let end = End { exit_code: Some(1), duration_ms: Some(7), ..End::of(Some("failed"), None) };
        let outcome = Outcome::of("Exit code: 0\nWall time: 9 seconds\nOutput:\n", end);
        assert_eq!(
            outcome,
            Outcome { status: Status::Error, is_denied: false, exit_code: Some(1), duration_ms: Some(7) }
        );
        assert_eq!(Outcome::of_end(End::of(Some("declined"), None)).status, Status::Rejected);
    }

    #[test]
    fn a_header_is_no_output_of_the_tool() {
        let result = |chunk, seconds, text| {
            format!("Chunk ID: {chunk}\nWall time: {seconds} seconds\nProcess exited with code 1\nOutput:\n{text}")
        };
        assert_eq!(own_output(&result("a1b2c3", "0.05", "no such file")), "no such file");
        assert_eq!(own_output(&result("d4e5f6", "1.73", "no such file")), "no such file");
        assert_eq!(own_output(&result("d4e5f6", "1.73", "no such folder")), "no such folder");
        assert_eq!(own_output("a\nOutput:\nsame"), "a\nOutput:\nsame");
        assert_eq!(own_output("Exit code: 1"), "Exit code: 1");
    }
}
