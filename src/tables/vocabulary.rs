//! Columns that take one of a few values: an enum for each, with the text that the lake stores.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use arrow::array::{ArrayRef, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};

use super::columns::{Column, Opt, Str};

/// The values that a column may take. Adding one changes the rows, so the parser version of the agent has to change too.
pub trait Vocabulary: Copy + Default + 'static {
    /// The texts of all values.
    const TEXTS: &'static [&'static str];
    /// Returns the text of the value.
    fn text(self) -> &'static str;
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

macro_rules! vocabulary {
    ($($(#[doc = $doc:literal])+ $name:ident { $($(#[$about:meta])+ $value:ident = $text:literal,)+ })+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$about])+ $value,)+
            /// Any other value, which only a newer llrem writes.
            #[serde(skip)]
            Unlisted(Unlisted),
        }

        impl $name {
            /// All listed values.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// Returns the value as the lake stores it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                    Self::Unlisted(Unlisted(text)) => text,
                }
            }
        }

        impl Vocabulary for $name {
            const TEXTS: &'static [&'static str] = &[$($text),+];
            fn text(self) -> &'static str {
                self.as_str()
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
        /// A conversation that a person started.
        #[default]
        Session = "session",
        /// A run that another session started.
        Subagent = "subagent",
        /// A helper call of the agent itself.
        SideAgent = "side_agent",
        /// Typed prompts whose transcript is gone.
        Prompts = "prompts",
    }

    /// Who speaks in a message.
    Role {
        /// The person, or text that the agent writes in the person's place.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The agent.
        #[default]
        System = "system",
        /// A tool.
        Tool = "tool",
    }

    /// What a message is.
    MessageKind {
        /// A task or question, typed or given to a subagent.
        Prompt = "prompt",
        /// A response of the model.
        Reply = "reply",
        /// The result of a tool call.
        ToolResult = "tool_result",
        /// A summary that replaces the conversation so far.
        Compaction = "compaction",
        /// Any other summary that the agent wrote.
        Summary = "summary",
        /// A command that the person gave to the agent, such as `/clear` or `!ls`.
        Command = "command",
        /// A text that the agent added for the model.
        #[default]
        Meta = "meta",
        /// A report of the agent about its own state.
        Notice = "notice",
        /// A request to the model that failed.
        ApiError = "api_error",
        /// A decision whether a tool may run.
        Permission = "permission",
        /// The end of a turn that the person stopped.
        Abort = "abort",
    }

    /// How a tool call ended.
    Status {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// The person refused it.
        Rejected = "rejected",
        /// It was stopped while it ran.
        Interrupted = "interrupted",
        /// No result is known.
        #[default]
        Pending = "pending",
    }

    /// What kind of tool a call uses.
    Category {
        /// Runs commands.
        Shell = "shell",
        /// Reads files.
        Read = "read",
        /// Writes whole files.
        Write = "write",
        /// Changes parts of files.
        Edit = "edit",
        /// Finds files, folders or text.
        Search = "search",
        /// Searches the web or fetches a page.
        Web = "web",
        /// Drives a browser.
        Browser = "browser",
        /// Starts or controls a subagent.
        Task = "task",
        /// Keeps a list of tasks.
        Todo = "todo",
        /// Comes from an MCP server.
        Mcp = "mcp",
        /// Any other tool.
        #[default]
        Other = "other",
    }

    /// What a row of `usage` counts.
    Grain {
        /// One response of the API.
        #[default]
        Response = "response",
        /// All responses of a turn.
        Turn = "turn",
        /// All responses of a session.
        Session = "session",
    }

    /// Where a cost comes from.
    CostSource {
        /// The agent recorded it.
        Recorded = "recorded",
        /// The tokens times the prices of the day.
        #[default]
        Computed = "computed",
    }

    /// How much of a source could be read.
    SourceState {
        /// All of it.
        #[default]
        Ok = "ok",
        /// All but some bad lines.
        Partial = "partial",
        /// It holds no records.
        Empty = "empty",
        /// None of it.
        Unreadable = "unreadable",
        /// None of it: it is encrypted.
        Encrypted = "encrypted",
        /// It no longer exists.
        Gone = "gone",
    }

    /// How bad a finding is.
    Severity {
        /// A small waste.
        #[default]
        Low = "low",
        /// A waste to look at.
        Medium = "medium",
        /// A large waste.
        High = "high",
    }

    /// How the waste of a finding is known.
    Basis {
        /// The responses cost it.
        Measured = "measured",
        /// It is estimated.
        #[default]
        Estimated = "estimated",
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
        Str::push(builder, value.text());
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
        Opt::<Str>::push(builder, value.map(V::text));
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Opt::<Str>::finish(builder)
    }
    fn get(array: Option<&StringArray>, row: usize) -> Option<V> {
        Opt::<Str>::get(array, row).map(V::of)
    }
}
