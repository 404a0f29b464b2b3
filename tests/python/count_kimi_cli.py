#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of kimi-cli below a home folder, once each.

    count_kimi_cli.py HOME

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
START = re.compile(r'\{"(timestamp|type)"')  # how a record begins
KINDS = {"input_other": "input_tokens", "input_cache_read": "cache_read_tokens",
         "input_cache_creation": "cache_write_5m_tokens", "output": "output_tokens"}
GLOBAL = re.compile(r"(?=[A-Za-z0-9]*[A-Z0-9])[A-Za-z0-9]{16,}$|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


def count(value):
    """A whole number up to LARGEST, also as 12.0 or "12"; anything else is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= LARGEST else None


def table(value):
    return value if isinstance(value, dict) else {}


def text_of(value):
    """A text, also if it is written as a number."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def said(content):
    """The text of a content."""
    if isinstance(content, str):
        return content
    parts = [table(part) for part in content] if isinstance(content, list) else []
    return "\n".join(part["text"] if isinstance(part.get("text"), str) else "[%s]" % part.get("type", "block") for part in parts)


def records_of(path):
    with open(path, "rb") as file:
        content = file.read().replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
    for line in content.split(b"\n"):
        for record in lines.objects(line.decode("utf-8", "replace"), START):
            message = table(record).get("message")
            if isinstance(message, dict):
                yield record.get("timestamp"), message.get("type"), table(message.get("payload"))


class Judge:
    """What was found in all logs; a fork copies lines with their times and ids."""

    def __init__(self):
        self.responses, self.kinds, self.calls, self.errors, self.windows = {}, {}, {}, {}, {}

    def read(self, path, logs):
        agent = os.path.basename(os.path.dirname(path)) if "/subagents/" in path else ""
        model = None
        if agent:
            try:
                with open(os.path.join(os.path.dirname(path), "meta.json"), encoding="utf-8") as file:
                    model = table(table(json.load(file)).get("launch_spec")).get("effective_model")
            except (OSError, ValueError):
                pass
        talks = collections.defaultdict(lambda: {"step": None, "opened": {}})
        for when, kind, payload in records_of(path):
            talk = agent
            if kind == "SubagentEvent":
                # The log of a subagent has the same.
                if payload.get("agent_id") in logs or not isinstance(payload.get("event"), dict):
                    continue
                talk = payload.get("agent_id") or payload.get("parent_tool_call_id") or payload.get("task_tool_call_id")
                kind, payload = payload["event"].get("type"), table(payload["event"].get("payload"))
            self.take(kind, payload, (talk, when), talks[talk], model)

    def take(self, kind, payload, place, state, model):
        if kind in ("ContentPart", "ToolCall"):
            state["step"] = state["step"] or place
            self.kinds[("reply", state["step"])] = "reply"
        if kind in ("TurnBegin", "SteerInput"):
            text = said(payload.get("user_input"))
            self.kinds[("prompt", place)] = "command" if re.match(r"\s*/[^/.\s]+(\s|$)", text) else "prompt"
        if kind in ("TurnBegin", "SteerInput", "TurnEnd", "StepBegin", "StepInterrupted", "CompactionBegin"):
            state["step"] = None
        if kind == "StatusUpdate" and isinstance(payload.get("token_usage"), dict):
            counts = {KINDS[key]: count(payload["token_usage"].get(key)) for key in KINDS}
            name = text_of(payload.get("message_id"))
            if any(counts.values()):
                key = name if GLOBAL.search(name) else (place, name)
                self.responses.setdefault(key, (model or "null", counts))
                self.windows.setdefault(key, count(payload.get("max_context_tokens")) or None)
                state["step"] = None
        elif kind == "StepRetry":
            self.errors[place] = failures.reason(None, payload.get("error_type"), payload.get("status_code"))
        elif kind in ("TurnEnd", "StepInterrupted"):
            for key in state["opened"].values():
                if self.calls[key]["status"] == "pending":
                    self.calls[key]["status"] = "interrupted"
        elif kind == "ToolCall":
            name, function = text_of(payload.get("id")), table(payload.get("function"))
            key = name if GLOBAL.search(name) else (place, name)
            state["opened"][name] = state["last"] = key
            self.calls.setdefault(key, {"status": "pending", "name": function.get("name"), "args": function.get("arguments") or "", "output": "", "code": None})
        elif kind == "ToolCallPart" and state.get("last") in self.calls:
            self.calls[state["last"]]["args"] += payload.get("arguments_part") or ""
        elif kind == "ToolResult":
            call, value = self.calls.get(state["opened"].get(text_of(payload.get("tool_call_id")))), table(payload.get("return_value"))
            if call and call["status"] == "pending":
                output, message, failed = said(value.get("output")), value.get("message") or "", value.get("is_error") is True
                refused = message.startswith("The tool call is rejected by the user") or output.startswith("The tool call is rejected by the user")
                call["status"] = ("rejected" if refused else "error") if failed else "ok"
                code = re.match(r"Command failed with exit code: (-?\d+)", message)
                call["code"] = int(code[1]) if failed and code else None
                call["output"] = "\n".join(filter(None, [output, message if failed or not output else ""]))


def commands(calls):
    for call in calls:
        if call["name"] == "Shell":
            try:
                command = table(json.loads(call["args"])).get("command")
            except ValueError:
                command = None
            yield command, call["output"], call["status"], call["code"] is None


def edited(call):
    """The lines that an edit changes: one replacement, or a list of them."""
    try:
        given = table(json.loads(call["args"])).get("edit")
    except ValueError:
        return None
    given = given if isinstance(given, list) else [given]
    return edits.total(None if table(one).get("replace_all") else edits.between(one["old"], one["new"]) for one in given)


def total(home):
    judge = Judge()
    root = os.path.join(glob.escape(home), ".kimi/sessions/*/*")
    logs = {os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(root, "subagents/*/wire.jsonl"))}
    for place in ("wire.jsonl", "subagents/*/wire.jsonl"):
        for path in sorted(glob.glob(os.path.join(root, place))):
            judge.read(path, logs)
    models = collections.defaultdict(collections.Counter)
    for model, counts in judge.responses.values():
        models[model].update({"responses": 1, **{name: counts[name] or 0 for name in counts}})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    calls = list(judge.calls.values())
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} \
        | rows.counted(judge.kinds.values(), [call["status"] for call in calls], (*rows.KINDS, "command")) \
        | edits.sums([edited(call) for call in calls if call["name"] == "StrReplaceFile" and call["status"] == "ok"]) \
        | shell.columns(list(commands(calls))) \
        | rows.measured("tool_calls.exit_code", [call["code"] for call in calls]) \
        | rows.measured("usage.context_window", judge.windows.values()) \
        | rows.tally("messages.error_type", judge.errors.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
