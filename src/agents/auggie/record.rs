//! The shapes of Auggie's records.

use crate::source::records::{Flag, Fraction, List, Moment, Number, Object, Raw, Text, TokenNumber, Usd, record};

record! {
    /// One exchange with the model, and the program's metadata of it.
    Item<'a> {
        exchange: Object<Exchange<'a>> = "exchange",
        completed: Raw<'a> = "completed",
        sequence: Fraction = "sequenceId",
        finished: Moment = "finishedAt",
        is_summary: Flag = "isHistorySummary",
    }

    /// A request to the model and its response.
    Exchange<'a> {
        id: Text<'a> = "request_id",
        request: Text<'a> = "request_message",
        response: Text<'a> = "response_text",
        model: Text<'a> = "model_id",
        request_nodes: List<Object<Node<'a>>> = "request_nodes",
        response_nodes: List<Object<Node<'a>>> = "response_nodes",
    }

    /// One part of a request or a response.
    Node<'a> {
        kind: Number = "type",
        content: Text<'a> = "content",
        text: Object<Content<'a>> = "text_node",
        result: Object<ToolResult<'a>> = "tool_result_node",
        call: Object<ToolUse<'a>> = "tool_use",
        thinking: Object<Content<'a>> = "thinking",
        billing: Object<Billing<'a>> = "billing_metadata",
        usage: Object<Usage<'a>> = "token_usage",
    }

    /// A text.
    Content<'a> {
        content: Text<'a> = "content",
        summary: Text<'a> = "summary",
    }

    /// Output of a tool, as the model gets it.
    ToolResult<'a> {
        call: Text<'a> = "tool_use_id",
        content: Text<'a> = "content",
        is_error: Flag = "is_error",
        duration_ms: Number = "duration_ms",
    }

    /// A call of the model.
    ToolUse<'a> {
        id: Text<'a> = "tool_use_id",
        name: Text<'a> = "tool_name",
        input: Text<'a> = "input_json",
        started: Moment = "started_at_ms",
        completed: Moment = "completed_at_ms",
    }

    /// Arguments of calls that have columns.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path" | "file_path",
    }

    /// Amounts that a response was billed for. The unit is 1 for credits and 2 for USD.
    Billing<'a> {
        transaction: Text<'a> = "transaction_id",
        cost: Usd = "cost_usd",
        credits: Fraction = "credits_consumed",
        unit: Number = "usage_unit",
        model: Text<'a> = "effective_model_name",
    }

    /// Tokens of one response.
    Usage<'a> {
        input: TokenNumber = "input_tokens",
        output: TokenNumber = "output_tokens",
        cache_read: TokenNumber = "cache_read_input_tokens",
        cache_write: TokenNumber = "cache_creation_input_tokens",
    }

    /// A call that summed up the history.
    Summarization<'a> {
        id: Text<'a> = "request_id",
        model: Text<'a> = "model",
        finished: Moment = "finishedAt",
        input: TokenNumber = "input_tokens",
        output: TokenNumber = "output_tokens",
        cache_read: TokenNumber = "cache_read_input_tokens",
        cache_write: TokenNumber = "cache_creation_input_tokens",
        cost: Usd = "cost_usd",
        credits: Fraction = "credits_consumed",
    }

    /// The run of a subagent.
    Subagent<'a> {
        name: Text<'a> = "name",
        model: Text<'a> = "model",
        request: Text<'a> = "tool_call_request_id",
        history: List<Object<Item<'a>>> = "chatHistory",
    }

    /// Model that the session was set to.
    AgentState<'a> { model: Text<'a> = "modelId" }
}
