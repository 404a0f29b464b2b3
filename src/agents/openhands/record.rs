//! The shapes of OpenHands' records.

use crate::agents::kit::texts::Blocks;
use crate::source::records::{Flag, Fraction, List, Number, Object, Raw, Text, TokenNumber, Usd, record};

record! {
    /// One event of a conversation.
    Event<'a> {
        id: Text<'a> = "id",
        time: Text<'a> = "timestamp",
        source: Text<'a> = "source",
        kind: Text<'a> = "kind",
        message: Object<Message<'a>> = "llm_message",
        response: Text<'a> = "llm_response_id",
        thought: Blocks<Part<'a>> = "thought",
        reasoning: Text<'a> = "reasoning_content",
        thinking: List<Object<Part<'a>>> = "thinking_blocks",
        action: Object<Action<'a>> = "action",
        tool: Text<'a> = "tool_name",
        call: Text<'a> = "tool_call_id",
        tool_call: Object<ToolCall<'a>> = "tool_call",
        observation: Object<Observation<'a>> = "observation",
        error: Text<'a> = "error",
        rejection: Text<'a> = "rejection_reason",
        code: Text<'a> = "code",
        detail: Text<'a> = "detail",
        summary: Text<'a> = "summary",
    }

    /// A message to the model or from it.
    Message<'a> {
        content: Blocks<Part<'a>> = "content",
        reasoning: Text<'a> = "reasoning_content",
        thinking: List<Object<Part<'a>>> = "thinking_blocks",
    }

    /// One part of a message.
    Part<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
    }

    /// The action of a call, as far as it holds a text of the model.
    Action<'a> {
        kind: Text<'a> = "kind",
        message: Text<'a> = "message",
        thought: Text<'a> = "thought",
    }

    /// A call as the model made it.
    ToolCall<'a> {
        name: Text<'a> = "name",
        arguments: Text<'a> = "arguments",
    }

    /// The output that the model gets.
    Observation<'a> {
        content: Blocks<Part<'a>> = "content",
        is_error: Flag = "is_error",
        exit_code: Number = "exit_code",
        task: Text<'a> = "task_id",
        subagent: Text<'a> = "subagent",
        existed: Flag = "prev_exist",
        old: Text<'a> = "old_content",
        new: Text<'a> = "new_content",
    }

    /// The arguments of calls that the tables know.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path",
        content: Text<'a> = "file_text",
        inserted: Text<'a> = "new_str",
    }

    /// `base_state.json`.
    State<'a> {
        workspace: Object<Workspace<'a>> = "workspace",
        status: Text<'a> = "execution_status",
        stats: Object<Stats<'a>> = "stats",
    }

    /// The folder of the conversation.
    Workspace<'a> { folder: Text<'a> = "working_dir" }

    /// Tokens and costs of a conversation, by what they were used for.
    Stats<'a> { by_use: Raw<'a> = "usage_to_metrics" }

    /// Tokens and costs of one use.
    Metrics<'a> {
        model: Text<'a> = "model_name",
        usages: List<Object<Usage<'a>>> = "token_usages",
        latencies: List<Object<Latency<'a>>> = "response_latencies",
        costs: List<Object<Cost<'a>>> = "costs",
    }

    /// The model of the main loop.
    Main<'a> { model: Text<'a> = "model_name" }

    /// Tokens of one response.
    Usage<'a> {
        model: Text<'a> = "model",
        response: Text<'a> = "response_id",
        prompt: TokenNumber = "prompt_tokens",
        completion: TokenNumber = "completion_tokens",
        cache_read: TokenNumber = "cache_read_tokens",
        cache_write: TokenNumber = "cache_write_tokens",
        reasoning: TokenNumber = "reasoning_tokens",
        context_window: TokenNumber = "context_window",
    }

    /// The duration of a response.
    Latency<'a> {
        seconds: Fraction = "latency",
        response: Text<'a> = "response_id",
    }

    /// The cost of one response.
    Cost<'a> { usd: Usd = "cost" }
}
