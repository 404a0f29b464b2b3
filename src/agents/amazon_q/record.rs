//! Shapes of the records in a conversation.

use crate::source::records::{List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// A message of the user with the answer to it, since 2025-07-22.
    Entry<'a> {
        user: Object<User<'a>> = "user",
        assistant: Object<Assistant<'a>> = "assistant",
        request: Object<Request<'a>> = "request_metadata",
    }
    ignores []
}

impl<'a> Entry<'a> {
    /// Reads an entry; before 2025-07-22 it was a list of the message and the answer.
    pub(super) fn read(json: &'a str) -> Result<Self, serde_json::Error> {
        if !json.trim_start().starts_with('[') {
            return serde_json::from_str(json);
        }
        let List(pair): List<Raw<'a>> = serde_json::from_str(json)?;
        let mut pair = pair.iter().map(|half| half.json().unwrap_or("null"));
        Ok(Self {
            user: serde_json::from_str(pair.next().unwrap_or("null"))?,
            assistant: serde_json::from_str(pair.next().unwrap_or("null"))?,
            ..Self::default()
        })
    }

    /// Returns the model's answer.
    pub(super) fn reply(&self) -> Option<&Reply<'a>> {
        let assistant = self.assistant.0.as_ref()?;
        assistant.response.0.as_ref().or(assistant.tool_use.0.as_ref())
    }

    /// Returns the texts of the message and the answer, and the ids of their results and calls.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let content = self.user.0.iter().filter_map(|user| user.content.0.as_ref());
        let sent = content.flat_map(|content| [&content.prompt, &content.cancelled, &content.results]);
        let sent = sent.filter_map(|sent| sent.0.as_ref()).flat_map(|sent| {
            let results = sent.results.0.iter().filter_map(|result| result.0.as_ref()?.id.get());
            sent.prompt.get().into_iter().chain(results)
        });
        let answered = self.reply().into_iter().flat_map(|reply| {
            let calls = reply.calls.0.iter().filter_map(|call| call.0.as_ref()?.id.get());
            reply.text.get().into_iter().chain(calls)
        });
        sent.chain(answered)
    }
}

record! {
    /// A message sent to the model.
    User<'a> {
        environment: Object<Environment<'a>> = "env_context",
        content: Object<Content<'a>> = "content",
        timestamp: Moment = "timestamp",
        images: List<Raw<'a>> = "images",
    }
    ignores ["additional_context"]

    /// Facts about the machine that the program adds.
    Environment<'a> { state: Object<State<'a>> = "env_state" }
    ignores ["environment_variables"]

    /// State of the machine.
    State<'a> { cwd: Text<'a> = "current_working_directory" }
    ignores ["operating_system", "environment_variables"]

    /// A prompt, the results of tools, or both if the person typed the prompt in place of a permission.
    Content<'a> {
        prompt: Object<Results<'a>> = "Prompt",
        cancelled: Object<Results<'a>> = "CancelledToolUses",
        results: Object<Results<'a>> = "ToolUseResults",
    }
    ignores []

    /// The results of tools, or a prompt.
    Results<'a> {
        prompt: Text<'a> = "prompt",
        results: List<Object<ToolResult<'a>>> = "tool_use_results",
    }
    ignores []

    /// The result of a tool.
    ToolResult<'a> {
        id: Text<'a> = "tool_use_id",
        content: List<Object<ResultBlock<'a>>> = "content",
        status: Text<'a> = "status",
    }
    ignores []

    /// A part of a result.
    ResultBlock<'a> { text: Text<'a> = "Text", json: Raw<'a> = "Json" }
    ignores ["Image"]

    /// A text, or a text with tool calls.
    Assistant<'a> {
        response: Object<Reply<'a>> = "Response",
        tool_use: Object<Reply<'a>> = "ToolUse",
    }
    ignores []

    /// An answer of the model.
    Reply<'a> {
        id: Text<'a> = "message_id",
        text: Text<'a> = "content",
        calls: List<Object<ToolUse<'a>>> = "tool_uses",
    }
    ignores ["reasoning", "reasoning_content"]

    /// A call of a tool.
    ToolUse<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        original_name: Text<'a> = "orig_name",
        input: Raw<'a> = "args",
        original_input: Raw<'a> = "orig_args",
    }
    ignores []

    /// Metadata of one request.
    Request<'a> {
        id: Text<'a> = "request_id",
        message: Text<'a> = "message_id",
        start: Moment = "request_start_timestamp_ms",
        end: Moment = "stream_end_timestamp_ms",
        model: Text<'a> = "model_id",
        input: TokenNumber = "uncached_input_tokens",
        output: TokenNumber = "output_tokens",
        cache_read: TokenNumber = "cache_read_input_tokens",
        cache_write: TokenNumber = "cache_write_input_tokens",
        first_chunk: Object<Span<'a>> = "time_to_first_chunk",
    }
    ignores [
        "time_between_chunks", "user_prompt_length", "response_size", "chat_conversation_type",
        "tool_use_ids_and_names", "message_meta_tags", "context_usage_percentage", "total_tokens",
    ]

    /// A time.
    Span<'a> { seconds: Number = "secs", nanoseconds: Number = "nanos" }

    /// The model with which the conversation continues.
    ModelInfo<'a> { id: Text<'a> = "model_id", context_window: TokenNumber = "context_window_tokens" }

    /// The conversation that was left for a tangent.
    Tangent<'a> { history: List<Raw<'a>> = "main_history" }

    /// The result of a command.
    CommandResult<'a> { exit_status: Number = "exit_status" }
}

impl Span<'_> {
    /// Milliseconds.
    pub(in crate::agents) fn milliseconds(&self) -> Option<i64> {
        let whole = self.seconds.0.filter(|seconds| *seconds >= 0)?.checked_mul(1000)?;
        whole.checked_add(self.nanoseconds.0.unwrap_or(0).max(0) / 1_000_000)
    }
}
