#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Auggie below a home folder, once each.

    count_auggie.py HOME

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
import rows
import shell

LARGEST = 2**53 - 1
KINDS = {"input_tokens": "input_tokens", "cache_read_input_tokens": "cache_read_tokens",
         "cache_creation_input_tokens": "cache_write_5m_tokens", "output_tokens": "output_tokens"}
GLOBAL = re.compile(r"(?=[A-Za-z0-9]*[A-Z0-9])[A-Za-z0-9]{16,}$|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
SHELL = ("launch-process", "write-process", "read-process", "kill-process", "list-processes")


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


def tables(value):
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def document(text):
    """A document; of a torn one, what stands before the last exchange."""
    try:
        return table(json.loads(text))
    except ValueError:
        pass
    start = re.search(r'"chatHistory"\s*:\s*\[', text)
    if not start:
        return {}
    place, found = start.end(), []
    while True:
        place += len(text[place:]) - len(text[place:].lstrip(" \n\r\t,"))
        try:
            value, place = json.JSONDecoder().raw_decode(text, place)
        except ValueError:
            break
        found.append(value)
    head = text[:start.start()].rstrip().rstrip(",")
    try:
        return {**json.loads(head + "}"), "chatHistory": found}
    except ValueError:
        return {"chatHistory": found}


def nodes(value, kind):
    return [node for node in tables(value) if number(node.get("type")) == kind]


class Judge:
    def __init__(self):
        self.responses, self.kinds, self.calls, self.costs = {}, {}, {}, {}

    def read(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            found = document(file.read())
        scope = found.get("sessionId") or os.path.basename(path)[:-5]
        main = scope, table(found.get("agentState")).get("modelId")
        self.take_all(found.get("chatHistory"), *main)
        for one in tables(found.get("summarizations")):
            key = self.key(scope, one.get("request_id"))
            if key not in self.kinds:
                self.kinds[key] = "summary"
                self.bill(key, one, one.get("model"), number(one.get("cost_usd"), float))
        for run in tables(found.get("subAgents")):
            self.take_all(run.get("chatHistory"), scope, run.get("model"))

    def key(self, scope, name):
        return name if name and GLOBAL.search(name) else (scope, name)

    def bill(self, key, usage, model, cost):
        counts = {KINDS[name]: number(usage.get(name)) for name in KINDS}
        if any(counts.values()) and key not in self.responses:
            self.responses[key] = (model or "null", counts)
            self.costs[key] = cost or None

    def take_all(self, history, scope, model):
        opened = {}
        for place, item in enumerate(sorted(tables(history), key=lambda item: math.inf if number(item.get("sequenceId"), float) is None else number(item["sequenceId"], float))):
            exchange = item.get("exchange")
            if not isinstance(exchange, dict):
                continue
            name = exchange.get("request_id")
            key = self.key(scope, name) if name else (scope, place)
            if key in self.kinds:
                continue
            request, response = exchange.get("request_nodes"), exchange.get("response_nodes")
            billings = [table(node.get("billing_metadata")) for node in nodes(response, 9)]
            asked = next((one["effective_model_name"] for one in billings if one.get("effective_model_name")), exchange.get("model_id") or model)
            costs = {one.get("transaction_id"): number(one.get("cost_usd"), float) for one in billings if number(one.get("usage_unit")) == 2}
            usages = [table(node.get("token_usage")) for node in nodes(response, 10)]
            if usages:
                self.bill(key, usages[0], asked, sum(cost for cost in costs.values() if cost) if costs else None)
            if item.get("isHistorySummary") is True:
                self.kinds[key] = "compaction"
                continue
            typed = exchange.get("request_message") or any(table(node.get("text_node")).get("content") for node in nodes(request, 0))
            if typed:
                self.kinds[(key, "request")] = "prompt"
            for node in nodes(request, 1):
                result = table(node.get("tool_result_node"))
                call = opened.pop(result.get("tool_use_id"), None)
                if call:
                    ended(call, result)
            for call in opened.values():
                call["status"] = "interrupted"  # unless its result comes later
            made = [node["tool_use"] for node in nodes(response, 5) if isinstance(node.get("tool_use"), dict)]
            said = exchange.get("response_text") or any(node.get("content") for node in nodes(response, 0)) or nodes(response, 8)
            self.kinds[key] = "reply" if said or made or key in self.responses else "other"
            for number_, used in enumerate(made):
                name = used.get("tool_use_id")
                call = {"status": "pending", "name": used.get("tool_name"), "args": arguments(used), "output": "", "code": None}
                self.calls[name if name and GLOBAL.search(name) else (key, number_)] = opened[name or number_] = call


def arguments(used):
    try:
        return table(json.loads(used.get("input_json") or "{}"))
    except ValueError:
        return {}


def ended(call, result):
    text = result.get("content") or ""
    code = re.search(r"<return-code>\s*(-?\d+)\s*</return-code>", text) if call["name"] in SHELL else None
    printed = re.search(r"<output>\s*(.*?)\s*</output>", text, re.S)
    call["code"] = int(code[1]) if code else None
    call["output"] = printed[1] if code and printed else text
    if result.get("is_error") is True:
        cancelled = text.startswith(("Cancelled by user", "Tool execution was cancelled by user interrupt"))
        call["status"] = "rejected" if text.startswith("Tool execution denied") else "interrupted" if cancelled else "error"
    else:
        call["status"] = "error" if call["code"] else "ok"


def total(home):
    judge = Judge()
    for path in sorted(glob.glob(os.path.join(glob.escape(home), ".augment/sessions/*.json"))):
        judge.read(path)
    models = collections.defaultdict(collections.Counter)
    for model, counts in judge.responses.values():
        models[model].update({"responses": 1, **{name: counts[name] or 0 for name in counts}})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    calls = list(judge.calls.values())
    changed = [edits.of_arguments(call["args"]) for call in calls if call["name"] in ("str-replace-editor", "apply_patch") and call["status"] == "ok"]
    commands = [(call["args"].get("command"), call["output"], call["status"], call["code"] is None) for call in calls if call["name"] in SHELL]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} \
        | rows.counted(judge.kinds.values(), [call["status"] for call in calls], (*rows.KINDS, "compaction", "summary")) \
        | edits.sums(changed) | shell.columns(commands) \
        | rows.measured("tool_calls.exit_code", [call["code"] for call in calls])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
