//! Columns that take one of a few values: an enum for each, with the text that the lake stores.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use arrow::array::{ArrayRef, ListArray, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};

use super::columns::{Column, ListOf, Opt, Str, StrList};

/// The values that a column may take.
pub trait Vocabulary: Copy + Default + 'static {
    /// The texts of all values.
    const TEXTS: &'static [&'static str];
    /// Returns the value as the lake stores it.
    fn as_str(self) -> &'static str;
    /// Reads a stored text. A text that is not listed is kept as it is.
    fn of(text: &str) -> Self;
}

/// A stored text that is not in the vocabulary: a newer llrem wrote it. Such texts are few, so each is kept until the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unlisted(&'static str);

impl Unlisted {
    fn keep(text: &str) -> Self {
        static KEPT: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get(text).copied();
        Self(known.unwrap_or_else(|| {
            let text = text.to_owned().leak();
            kept.insert(text);
            text
        }))
    }
}

/// Declares vocabularies: each value with its text and its meaning.
macro_rules! vocabulary {
    ($($(#[doc = $doc:literal])+ $name:ident { $($(#[$default:meta])? $value:ident = $text:literal: $about:literal,)+ })+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = $about] $(#[$default])? $value,)+
            /// Any other value, which only a newer llrem writes.
            #[serde(skip)]
            Unlisted(Unlisted),
        }

        impl $name {
            /// All listed values.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// Returns what the value means.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$value => $about,)+
                    Self::Unlisted(_) => "",
                }
            }
        }

        impl Vocabulary for $name {
            const TEXTS: &'static [&'static str] = &[$($text),+];
            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                    Self::Unlisted(Unlisted(text)) => text,
                }
            }
            fn of(text: &str) -> Self {
                match text {
                    $($text => Self::$value,)+
                    _ => Self::Unlisted(Unlisted::keep(text)),
                }
            }
        }
    )+};
}

vocabulary! {
    /// What a session is.
    SessionKind {
        #[default] Session = "session": "A conversation that a person started.",
        Subagent = "subagent": "A run that another session started.",
        SideAgent = "side_agent": "A helper call of the agent itself.",
        Prompts = "prompts": "Typed prompts whose transcript is gone.",
    }

    /// Who speaks in a message.
    Role {
        User = "user": "The person, or text that the agent writes in the person's place.",
        Assistant = "assistant": "The model.",
        #[default] System = "system": "The agent.",
        Tool = "tool": "A tool.",
    }

    /// What a message is.
    MessageKind {
        Prompt = "prompt": "A task or question, typed or given to a subagent.",
        Reply = "reply": "A response of the model.",
        ToolResult = "tool_result": "The result of a tool call.",
        Compaction = "compaction": "A summary that replaces the conversation so far.",
        Summary = "summary": "Any other summary that the agent wrote.",
        Command = "command": "A command that the person gave to the agent, such as `/clear` or `!ls`.",
        #[default] Meta = "meta": "A text that the agent added for the model.",
        Notice = "notice": "A report of the agent about its own state.",
        ApiError = "api_error": "A request to the model that failed.",
        Permission = "permission": "A decision whether a tool may run.",
        Hook = "hook": "What the hooks at the end of a turn did.",
        Abort = "abort": "The end of a turn that the person stopped.",
    }

    /// How a tool call ended.
    Status {
        Ok = "ok": "It succeeded.",
        Error = "error": "It failed.",
        Rejected = "rejected": "The person refused it.",
        Interrupted = "interrupted": "It was stopped while it ran.",
        #[default] Pending = "pending": "No result is known.",
    }

    /// How the tests of a call ended.
    TestOutcome {
        Passed = "passed": "All of them passed.",
        Failed = "failed": "Some failed or broke.",
        #[default] Unknown = "unknown": "Neither the runner nor the exit code says.",
    }

    /// Why a request to a model failed.
    ErrorType {
        UsageLimit = "usage_limit": "A plan or a budget was used up.",
        RateLimit = "rate_limit": "There were too many requests in a short time.",
        Overloaded = "overloaded": "The provider had no capacity.",
        Server = "server": "The provider failed.",
        ContextWindow = "context_window": "The request was larger than the model takes.",
        InvalidRequest = "invalid_request": "The provider refused the request's content.",
        Auth = "auth": "The key or login was missing or not allowed.",
        Network = "network": "The connection failed or timed out.",
        #[default] Other = "other": "The reason is unknown.",
    }

    /// What kind of tool a call uses.
    Category {
        Shell = "shell": "Runs commands.",
        Read = "read": "Reads files.",
        Write = "write": "Writes whole files.",
        Edit = "edit": "Changes parts of files.",
        Search = "search": "Finds files, folders or text.",
        Web = "web": "Searches the web or fetches a page.",
        Browser = "browser": "Drives a browser.",
        Task = "task": "Starts or controls a subagent.",
        Todo = "todo": "Keeps a list of tasks.",
        Mcp = "mcp": "Comes from an MCP server.",
        #[default] Other = "other": "Any other tool.",
    }

    /// What a row of `usage` counts.
    UsageGrain {
        #[default] Response = "response": "One response of the API.",
        Turn = "turn": "All responses of a turn.",
        Session = "session": "All responses of a session.",
    }

    /// Where a cost comes from.
    CostSource {
        Recorded = "recorded": "The agent recorded it.",
        #[default] Computed = "computed": "The tokens times the prices of the day.",
    }

    /// How much of a source could be read. The manifest stores the position of the value: new ones come last.
    SourceState {
        #[default] Ok = "ok": "All of it.",
        Partial = "partial": "All but some bad lines.",
        Empty = "empty": "It holds no records.",
        Unreadable = "unreadable": "None of it.",
        Encrypted = "encrypted": "None of it: it is encrypted.",
        Gone = "gone": "It no longer exists.",
    }

    /// What a price is for.
    PriceKind {
        #[default] Input = "input": "Input tokens that no cache held.",
        CacheRead = "cache_read": "Input tokens read from a cache.",
        CacheWrite5m = "cache_write_5m": "Input tokens written to a cache that lives 5 minutes.",
        CacheWrite1h = "cache_write_1h": "Input tokens written to a cache that lives 1 hour.",
        Output = "output": "Output tokens.",
        WebSearch = "web_search": "Web searches.",
    }

    /// Which requests a price is for.
    PriceTier {
        #[default] Standard = "standard": "Requests without a tier of their own.",
        LongContext = "long_context": "Requests with more input than a threshold.",
        Priority = "priority": "Requests in the paid fast lane.",
        Flex = "flex": "Requests in the slow lane.",
        Fast = "fast": "Requests in Anthropic's fast mode.",
        Ultrafast = "ultrafast": "Requests in the fastest lane of `OpenAI`.",
        Batch = "batch": "Requests of a batch.",
    }

    /// How bad a finding is.
    Severity {
        #[default] Low = "low": "Worth knowing",
        Medium = "medium": "Worth looking at",
        High = "high": "Worth changing something",
    }

    /// How the waste of a finding is known.
    Basis {
        Measured = "measured": "The responses cost it.",
        #[default] Estimated = "estimated": "It is estimated.",
    }

    /// An operation of a tool call on a repository.
    GitOperation {
        #[default] Commit = "commit": "It made a commit.",
        Amend = "amend": "It replaced the last commit.",
        CherryPick = "cherry_pick": "It copied commits of another branch.",
        Revert = "revert": "It made a commit that undoes others.",
        Merge = "merge": "It merged branches.",
        Rebase = "rebase": "It moved commits onto another.",
        Push = "push": "It pushed commits.",
        Tag = "tag": "It made a tag.",
        PrCreate = "pr_create": "It opened a pull request.",
        PrUpdate = "pr_update": "It changed a pull request.",
        PrReview = "pr_review": "It reviewed a pull request.",
        PrComment = "pr_comment": "It commented on a pull request.",
        PrMerge = "pr_merge": "It merged a pull request.",
        PrClose = "pr_close": "It closed a pull request.",
    }
}

impl Category {
    /// Returns true if a call of such a tool names the file that it reads or changes.
    pub fn has_file(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Edit)
    }
}

impl<V: Vocabulary> Column for V {
    type In<'a> = V;
    type Builder = StringBuilder;
    type Array = StringArray;
    const VALUES: &'static [&'static str] = V::TEXTS;
    fn data_type() -> DataType {
        Str::data_type()
    }
    fn builder() -> StringBuilder {
        Str::builder()
    }
    fn push(builder: &mut StringBuilder, value: V) {
        Str::push(builder, value.as_str());
    }
    fn finish(builder: &mut StringBuilder) -> ArrayRef {
        Str::finish(builder)
    }
    fn get(array: Option<&StringArray>, row: usize) -> V {
        array.map(|array| V::of(array.value(row))).unwrap_or_default()
    }
}

impl<V: Vocabulary> Column for Opt<V> {
    type In<'a> = Option<V>;
    type Builder = <Opt<Str> as Column>::Builder;
    type Array = StringArray;
    const NULLABLE: bool = true;
    const VALUES: &'static [&'static str] = V::TEXTS;
    fn data_type() -> DataType {
        Str::data_type()
    }
    fn builder() -> Self::Builder {
        Opt::<Str>::builder()
    }
    fn push(builder: &mut Self::Builder, value: Option<V>) {
        Opt::<Str>::push(builder, value.map(V::as_str));
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Opt::<Str>::finish(builder)
    }
    fn get(array: Option<&StringArray>, row: usize) -> Option<V> {
        Opt::<Str>::get(array, row).map(V::of)
    }
}

impl<V: Vocabulary> Column for Opt<ListOf<V>> {
    type In<'a> = Option<Vec<V>>;
    type Builder = <Opt<StrList> as Column>::Builder;
    type Array = ListArray;
    const NULLABLE: bool = true;
    const VALUES: &'static [&'static str] = V::TEXTS;
    fn data_type() -> DataType {
        StrList::data_type()
    }
    fn builder() -> Self::Builder {
        StrList::builder()
    }
    fn push(builder: &mut Self::Builder, values: Option<Vec<V>>) {
        Opt::<StrList>::push(builder, values.map(|values| values.into_iter().map(V::as_str).collect()));
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        StrList::finish(builder)
    }
    fn get(array: Option<&ListArray>, row: usize) -> Option<Vec<V>> {
        Opt::<StrList>::get(array, row).map(|texts| texts.into_iter().map(V::of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_texts_are_read_back() {
        for value in MessageKind::ALL {
            assert_eq!(MessageKind::of(value.as_str()), *value);
        }
        let newer = MessageKind::of("novel");
        assert!(newer == MessageKind::of("novel") && newer.as_str() == "novel");
    }
}
