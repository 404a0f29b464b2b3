//! Reads the outcome of a call from a tool's result.

use std::borrow::Cow;

use super::record::{CommandResult, ToolResult};
use crate::agents::kit::calls::Outcome;
use crate::agents::kit::texts::join;
use crate::source::records::Text;
use crate::tables::Status;

/// Result of a call that the person did not allow: by `n`, by another prompt, or by Ctrl-C.
const CANCELLED: &str = "Tool use was cancelled by the user";

/// Reads a result.
pub(super) fn outcome<'t>(result: &ToolResult<'t>, ended_at: Option<i64>) -> Outcome<'t> {
    let blocks = || result.content.0.iter().filter_map(|block| block.0.as_ref());
    let exit_code = blocks().find_map(|block| exit_status(block.json.json()?));
    let texts = blocks().filter_map(|block| block.text.0.clone().or(block.json.json().map(Cow::Borrowed)));
    let end = ended(succeeded(&result.status), exit_code, join(texts), ended_at);
    Outcome { is_denied: Some(false), ..end }
}

/// Returns true if a result's status is success or missing.
pub(in crate::agents) fn succeeded(status: &Text<'_>) -> bool {
    status.get().is_none_or(|status| status.eq_ignore_ascii_case("success"))
}

/// Returns the exit status in a command's result: a text, and `0` for a command that was killed.
pub(in crate::agents) fn exit_status(json: &str) -> Option<i64> {
    let result: CommandResult<'_> = serde_json::from_str(json).ok()?;
    result.exit_status.0
}

/// Returns the outcome of a call. The program records a failed command as a success.
pub(in crate::agents) fn ended(
    is_success: bool,
    exit_code: Option<i64>,
    output: Option<Cow<'_, str>>,
    ended_at: Option<i64>,
) -> Outcome<'_> {
    let status = match output.as_deref() {
        Some(text) if !is_success && text.contains(CANCELLED) => Status::Rejected,
        _ if !is_success => Status::Error,
        _ if exit_code.is_some_and(|code| code != 0) => Status::Error,
        _ => Status::Ok,
    };
    Outcome { status, exit_code, output, ended_at, ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> (Status, Option<i64>) {
        let Outcome { status, exit_code, .. } = outcome(&serde_json::from_str(json).unwrap(), None);
        (status, exit_code)
    }

    #[test]
    fn outcomes() {
        assert_eq!(of(r#"{"content":[{"Json":{"exit_status":"2"}}],"status":"Success"}"#), (Status::Error, Some(2)));
        assert_eq!(of(r#"{"content":[{"Json":{"exit_status":"0"}}],"status":"Success"}"#), (Status::Ok, Some(0)));
        assert_eq!(of(r#"{"content":[{"Text":"no such file"}],"status":"Error"}"#), (Status::Error, None));
        assert_eq!(
            of(r#"{"content":[{"Text":"Tool use was cancelled by the user"}],"status":"Error"}"#).0,
            Status::Rejected
        );
        assert_eq!(of(r#"{"content":null}"#), (Status::Ok, None));
    }
}
