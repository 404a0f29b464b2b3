#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Junie below a home folder, once each.

    count_junie.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import glob
import json
import math
import os
import re
import sys

import edits
import failures
import lines
import rows
import shell

LARGEST = 2**53 - 1
START = re.compile(r'\{"kind"')  # how a record begins
KINDS = {"inputTokens": "input_tokens", "cacheInputTokens": "cache_read_tokens", "cacheCreateTokens": "cache_write_5m_tokens",
         "outputTokens": "output_tokens"}
ENDS = {"COMPLETED": "ok", "FINISHED": "ok", "FAILED": "error", "REJECTED": "rejected", "CANCELED": "interrupted", "CANCELLED": "interrupted"}
TEXTS = {"AgentThoughtBlockUpdatedEvent": ("text",), "MarkdownBlockUpdatedEvent": ("text",), "ResultBlockUpdatedEvent": ("result", "title")}
BLOCKS = ("TerminalBlock", "FileChangesBlock", "ViewFilesBlock", "McpBlock", "ToolBlock", "TestRunBlock", "CustomAgentBlock")


def number(value, convert=int):
    """A number up to LARGEST, also in a text; anything else is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return convert(value) if 0 <= value <= LARGEST else None


def table(value):
    return value if isinstance(value, dict) else {}


def items(value):
    return value if isinstance(value, list) else []


def records_of(path):
    with open(path, "rb") as file:
        content = file.read().replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
    for line in content.split(b"\n"):
        for record in lines.objects(line.decode("utf-8", "replace"), START):
            if isinstance(record, dict):
                yield record


class Judge:
    def __init__(self):
        self.responses, self.costs, self.kinds, self.calls, self.errors = {}, {}, {}, {}, {}

    def read(self, path):
        steps = {}
        records = list(records_of(path))
        for record in records:  # captions of other blocks are no calls
            event = table(table(record.get("event")).get("agentEvent"))
            if str(event.get("kind")).startswith(BLOCKS) and not event["kind"].startswith("ToolBlock"):
                steps[event.get("stepId")] = True
        for record in records:
            kind, when = record.get("kind"), record.get("timestampMs")
            event = table(table(record.get("event")).get("agentEvent"))
            does, step = event.get("kind"), event.get("stepId")
            if kind == "UserPromptEvent":
                self.kinds[(path, record.get("requestId") or when or record.get("prompt"))] = "prompt"
            elif kind in ("UserResponseEvent", "UserAsyncResponseEvent"):
                self.kinds[(path, when, kind)] = "prompt"
            elif kind == "TaskState":
                for key, call in self.calls.items():
                    if key[0] == path and call["status"] == "pending":
                        call["status"] = "interrupted"
            elif kind != "SessionA2uxEvent":
                continue
            elif does == "LlmResponseMetadataEvent":
                for place, usage in enumerate(items(event.get("modelUsage"))):
                    counts = {KINDS[key]: number(table(usage).get(key)) for key in KINDS}
                    if any(counts.values()):
                        identity = path, when, place, str(usage.get("model")), tuple(counts.values())
                        self.responses[identity] = (str(usage.get("model") or "null"), counts)
                        self.costs[identity] = number(usage.get("cost"), float) or None
            elif does in TEXTS:
                if any(event.get(key) for key in TEXTS[does]):
                    self.kinds[(path, step, does == "AgentThoughtBlockUpdatedEvent")] = "reply"
            elif does == "AgentFailureEvent":
                self.errors[(path, when)] = failures.reason(event.get("message"), event.get("errorCode"), None)
            elif str(does).startswith(BLOCKS) and step and not (does.startswith("ToolBlock") and step in steps):
                changes = items(event.get("changes")) if does.startswith("FileChanges") else [None]
                for place, change in enumerate(changes):
                    self.take_call((path, step, place), does, event, table(change))

    def take_call(self, key, does, event, change):
        call = self.calls.setdefault(key, {"status": "pending", "does": does, "command": None, "output": "", "code": None, "edit": None})
        if call["status"] != "pending":
            return
        call["command"] = event.get("command") if isinstance(event.get("command"), str) else call["command"]
        call["status"] = ENDS.get(event.get("status"), "pending")
        if call["status"] != "pending":
            call["code"] = int(event["exitCode"]) if event.get("exitCode") is not None else None
            call["status"] = "error" if call["code"] and call["status"] == "ok" else call["status"]
            call["output"] = event.get("output") or event.get("presentableOutput") or event.get("details") or ""
            before, after = change.get("beforeContent"), change.get("afterContent")
            if change:
                call["edit"] = edits.between(before, after or "") if before else (len(after.splitlines()), 0) if after else None


def total(home):
    judge = Judge()
    for path in sorted(glob.glob(os.path.join(glob.escape(home), ".junie/sessions/*/events.jsonl"))):
        judge.read(path)
    models = collections.defaultdict(collections.Counter)
    for model, counts in judge.responses.values():
        models[model].update({"responses": 1, **{name: counts[name] or 0 for name in counts}})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    calls = list(judge.calls.values())
    commands = [(call["command"], call["output"], call["status"], call["code"] is None) for call in calls if call["does"].startswith("Terminal")]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} \
        | rows.counted(judge.kinds.values(), [call["status"] for call in calls]) \
        | edits.sums([call["edit"] for call in calls if call["status"] == "ok"]) | shell.columns(commands) \
        | rows.measured("tool_calls.exit_code", [call["code"] for call in calls]) \
        | rows.tally("messages.error_type", judge.errors.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
