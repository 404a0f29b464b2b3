//! The billed responses of a conversation, as its state counts them when a run ends.

use super::record::{Main, Metrics, State, Usage};
use crate::agents::document::Torn;
use crate::agents::ids::qualified;
use crate::agents::kit::values::rounded;
use crate::extract::{KeyMap, Kind, key};
use crate::source::records::{Object, Usd};

/// One billed response.
pub(super) struct Response {
    pub(super) id: String,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// Tokens: input, read from the cache, written to it, output.
    pub(super) tokens: [i64; 4],
    pub(super) reasoning: Option<i64>,
    pub(super) context_window: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) cost_usd: Option<f64>,
    /// Name of the task, if a subagent made the request.
    pub(super) task: Option<String>,
}

/// Returns the responses that a state counts. Ids that are not unique are qualified by the outermost conversation, as a
/// state repeats what its subagents count.
pub(super) fn responses(state: &State<'_>, scope: &str) -> Vec<Response> {
    let json = state.stats.0.as_ref().and_then(|stats| stats.by_use.json()).unwrap_or("{}");
    let uses = Torn::read(json, "");
    let mut responses = Vec::new();
    for name in uses.names() {
        let metrics: Object<Metrics<'_>> = uses.field(name);
        if let Some(metrics) = &metrics.0 {
            add_all(&mut responses, metrics, name.strip_prefix("task:"), scope);
        }
    }
    responses
}

/// Returns the model of the main loop.
pub(super) fn main_model(state: &State<'_>) -> Option<String> {
    let json = state.stats.0.as_ref()?.by_use.json()?;
    let main: Object<Main<'_>> = Torn::read(json, "").field("agent");
    named(main.0?.model.get()).1
}

/// Returns the provider and the model of a name.
fn named(name: Option<&str>) -> (Option<String>, Option<String>) {
    match name.filter(|name| *name != "default").map(|name| name.split_once('/').ok_or(name)) {
        Some(Ok((provider, model))) => (Some(provider.to_owned()), Some(model.to_owned())),
        Some(Err(model)) => (None, Some(model.to_owned())),
        None => (None, None),
    }
}

fn add_all(responses: &mut Vec<Response>, metrics: &Metrics<'_>, task: Option<&str>, scope: &str) {
    let costs: Vec<_> = metrics.costs.0.iter().map(|cost| cost.0.as_ref().and_then(|cost| cost.usd.0)).collect();
    let sum: f64 = costs.iter().flatten().sum();
    let is_priced = costs.len() == metrics.usages.0.len() && sum > 0.0;
    let latencies = metrics.latencies.0.iter().filter_map(|latency| latency.0.as_ref());
    let latency = |latency: &super::record::Latency<'_>| {
        Some((key("", Kind::Response, latency.response.get()?), milliseconds(latency.seconds.0?)?))
    };
    let latencies: KeyMap<i64> = latencies.filter_map(latency).collect();
    for (place, usage) in metrics.usages.0.iter().enumerate() {
        let Some(usage) = &usage.0 else { continue };
        let Some(id) = usage.response.get() else { continue };
        let Some(tokens) = tokens(usage) else { continue };
        let (provider, model) = named(usage.model.get().or(metrics.model.get()));
        let cost = if is_priced { costs.get(place).copied().flatten() } else { None };
        let Usd(cost_usd) = Usd::of(cost);
        responses.push(Response {
            id: qualified(scope, id).into_owned(),
            provider,
            model,
            tokens,
            reasoning: usage.reasoning.0.map(|reasoning| reasoning.min(tokens[3])),
            context_window: usage.context_window.0.filter(|tokens| *tokens > 0),
            duration_ms: latencies.get(&key("", Kind::Response, id)).copied(),
            cost_usd,
            task: task.map(str::to_owned),
        });
    }
}

/// Returns the tokens of a response; none if all counts are 0. The prompt has the cached tokens in it.
fn tokens(usage: &Usage<'_>) -> Option<[i64; 4]> {
    let [prompt, read, write, output] =
        [usage.prompt, usage.cache_read, usage.cache_write, usage.completion].map(|count| count.0.unwrap_or(0));
    let read = read.min(prompt);
    let write = write.min(prompt - read);
    let tokens = [prompt - read - write, read, write, output];
    (tokens != [0; 4]).then_some(tokens)
}

fn milliseconds(seconds: f64) -> Option<i64> {
    Some(seconds).filter(|seconds| *seconds < 1e9).and_then(|seconds| rounded(seconds * 1000.0))
}
