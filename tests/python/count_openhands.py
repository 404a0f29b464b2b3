#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of OpenHands below a home folder, once each.

    count_openhands.py HOME

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
import rows
import shell

LARGEST = 2**53 - 1
GLOBAL = re.compile(r"(?=[A-Za-z0-9]*[A-Z0-9])[A-Za-z0-9]{16,}$|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


def count(value):
    """A whole number up to LARGEST, also as 12.0 or "12"; anything else is 0."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0
    return int(value) if 0 <= value <= LARGEST else 0


def table(value):
    return value if isinstance(value, dict) else {}


def tables(value):
    return [table(item) for item in value] if isinstance(value, list) else []


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return table(json.load(file))
    except ValueError:
        return {}


def said(content):
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if isinstance(part.get("text"), str) else "[%s]" % part.get("type", "block") for part in tables(content))


def billed(usage):
    """Cached tokens are inside the prompt."""
    prompt, output = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    cached = min(prompt, count(usage.get("cache_read_tokens")))
    written = min(prompt - cached, count(usage.get("cache_write_tokens")))
    return {"input_tokens": prompt - cached - written, "cache_read_tokens": cached, "cache_write_5m_tokens": written,
            "cache_write_1h_tokens": 0, "output_tokens": output}


class Judge:
    def __init__(self):
        self.responses, self.kinds, self.calls, self.errors = {}, {}, {}, {}

    def read(self, path):
        folder = os.path.dirname(path)
        above = os.path.dirname(folder)
        outer = os.path.dirname(above) if os.path.basename(above) == "subagents" else folder
        scope, state = os.path.basename(outer), read(path)
        for metrics in table(table(state.get("stats")).get("usage_to_metrics")).values():
            metrics = table(metrics)
            for usage in tables(metrics.get("token_usages")):
                name, numbers = usage.get("response_id"), billed(usage)
                if name and any(numbers.values()):
                    model = next((model for model in (usage.get("model"), metrics.get("model_name")) if model), "null")
                    key = name if GLOBAL.search(name) else (scope, name)
                    if numbers["output_tokens"] > self.responses.get(key, (None, {"output_tokens": -1}))[1]["output_tokens"]:
                        self.responses[key] = (model.split("/", 1)[-1], numbers)
        names = [name for name in sorted(os.listdir(os.path.join(folder, "events"))) if re.match(r"event-\d+-.*\.json$", name)] \
            if os.path.isdir(os.path.join(folder, "events")) else []
        opened = {}
        for name in sorted(names, key=lambda name: int(name.split("-")[1])):
            event = read(os.path.join(folder, "events", name))
            self.take(event, event.get("id") or (folder, name), (scope, event.get("llm_response_id")), opened)
        if state.get("execution_status") in ("running", "paused"):
            for key in opened.values():
                if self.calls[key]["status"] == "pending":
                    self.calls[key]["status"] = "interrupted"

    def take(self, event, identity, response, opened):
        kind = event.get("kind")
        if kind == "MessageEvent":
            self.kinds[identity] = "prompt" if event.get("source") == "user" else "reply"
        elif kind == "ActionEvent":
            self.kinds[response if response[1] else identity] = "reply"
            made = table(event.get("tool_call"))
            name = event.get("tool_call_id")
            key = name if name and GLOBAL.search(name) else identity
            opened[name] = key
            self.calls[key] = {"status": "pending", "name": event.get("tool_name") or made.get("name"), "args": arguments(made), "output": "", "code": None, "seen": {}}
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            call = self.calls.get(opened.get(event.get("tool_call_id")))
            if call and call["status"] == "pending":
                seen = table(event.get("observation"))
                code = seen.get("exit_code")
                failed = kind == "AgentErrorEvent" or seen.get("is_error") is True or code not in (None, 0)
                call["status"] = "rejected" if kind == "UserRejectObservation" else "error" if failed else "ok"
                call["seen"] = seen
                call["output"], call["code"] = said(seen.get("content")), code if code is not None and code >= 0 else None
        elif kind == "ConversationErrorEvent" and str(event.get("code")).startswith("LLM"):
            self.errors[identity] = failures.reason(event.get("detail"), event.get("code"), None)


def arguments(made):
    try:
        return table(json.loads(made.get("arguments") or "{}"))
    except ValueError:
        return {}


def changed_lines(call):
    """Lines that a call of the editor adds and removes: by what the file had before and after, else by the arguments."""
    seen, given = call["seen"], call["args"]
    before, after = seen.get("old_content"), seen.get("new_content")
    if isinstance(before, str) and isinstance(after, str):
        return edits.between(before, after)
    new = {"create": "file_text", "insert": "new_str"}.get(given.get("command"))
    if new:
        is_over = given["command"] == "create" and seen.get("prev_exist") is True
        return None if is_over or not isinstance(given.get(new), str) else (len(given[new].splitlines()), 0)
    return edits.of_arguments(given)


def total(home):
    judge = Judge()
    root = os.path.join(glob.escape(home), ".openhands/conversations/*")
    for place in ("base_state.json", "subagents/*/base_state.json"):
        for path in sorted(glob.glob(os.path.join(root, place))):
            judge.read(path)
    models = collections.defaultdict(collections.Counter)
    for model, numbers in judge.responses.values():
        models[model].update({"responses": 1, **numbers})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    calls = list(judge.calls.values())
    changed = [changed_lines(call) for call in calls if call["name"] == "file_editor" and call["status"] == "ok"
               and call["args"].get("command") != "view"]
    commands = [(call["args"].get("command"), call["output"], call["status"], call["code"] is None) for call in calls if call["name"] == "terminal"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} \
        | rows.counted(judge.kinds.values(), [call["status"] for call in calls]) | edits.sums(changed) | shell.columns(commands) \
        | rows.measured("tool_calls.exit_code", [call["code"] for call in calls]) \
        | rows.tally("messages.error_type", judge.errors.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
