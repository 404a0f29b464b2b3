#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Kimi Code below a home folder, once each.

    count_kimi_code.py HOME

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

LARGEST = 2**53 - 1  # Kimi Code is JavaScript: no whole number beyond this is exact
START = re.compile(r'\{"(type|message|turnId)"')  # how a record begins
KINDS = {"inputOther": "input_tokens", "inputCacheRead": "cache_read_tokens", "inputCacheCreation": "cache_write_5m_tokens",
         "output": "output_tokens"}
DENIED = re.compile(r'Tool "[^"]*" was denied by permission (rule|policy)')
REFUSED = re.compile(r'Tool "[^"]*" was not run because the user rejected|User rejected the plan\.')
CANCELLED = re.compile(r'Tool "[^"]*" was not run because the approval request was cancelled')
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


def records_of(path):
    with open(path, "rb") as file:
        content = file.read().replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
    for line in content.split(b"\n"):
        for record in lines.objects(line.decode("utf-8", "replace"), START):
            if isinstance(record, dict):
                yield record


def said(content):
    """The text of a content."""
    if isinstance(content, str):
        return content
    parts = [table(part) for part in content] if isinstance(content, list) else []
    return "\n".join(part["text"] if isinstance(part.get("text"), str) else "[%s]" % part.get("type", "block") for part in parts)


def kind_of(message):
    """What a message of the model's context is."""
    origin = table(message.get("origin"))
    if message.get("role") in ("assistant", "tool"):
        return "reply" if message["role"] == "assistant" else "other"
    typed = origin.get("kind", "user") == "user"
    return "prompt" if typed or origin.get("kind") == "system_trigger" and origin.get("name") == "subagent" else "other"


class Judge:
    """What was found in all logs; a fork copies lines with their ids and times."""

    def __init__(self):
        self.responses, self.kinds, self.calls, self.errors, self.latencies, self.turns = {}, {}, {}, {}, {}, {}

    def read(self, path):
        agent = os.path.basename(os.path.dirname(path))
        asked, step, open_response, is_stopped, opened = {}, None, None, False, {}
        for record in records_of(path):
            kind, when = record.get("type"), record.get("time")
            place = (agent, when) if when is not None else path
            event = table(record.get("event")) if kind == "context.append_loop_event" else {}
            does = event.get("type")
            if does in ("step.begin", "step.end"):
                step = event.get("uuid")
            elif does in ("content.part", "tool.call"):
                step = event.get("stepUuid") or step
            if does in ("content.part", "tool.call", "step.end") and step and (does != "step.end" or open_response):
                part = table(event.get("part"))
                if does != "content.part" or part.get("text") or part.get("think"):
                    self.kinds[step] = "reply"
            if kind == "llm.request":
                asked = {record.get("modelAlias"): record.get("model")}
            elif kind == "usage.record":
                usage, alias = table(record.get("usage")), record.get("model")
                counts = {KINDS[key]: count(usage.get(key)) for key in KINDS}
                identity = (place, tuple(counts.values()))
                if any(counts.values()):
                    self.responses[identity] = (asked.get(alias) or alias or "null", counts)
                    if record.get("usageScope") != "session":
                        open_response = identity
            elif does == "step.end":
                if open_response and (count(event.get("llmFirstTokenLatencyMs")) is not None):
                    self.latencies[open_response] = count(event["llmFirstTokenLatencyMs"])
                open_response = None
            elif kind == "context.append_message" and isinstance(record.get("message"), dict):
                message = record["message"]
                self.kinds[message.get("id") or (place, json.dumps(message, sort_keys=True))] = kind_of(message)
            elif kind == "turn.prompt":
                is_stopped = False
            elif kind == "turn.cancel":
                is_stopped = True
            elif kind == "turn.ended":
                for key in opened.values():
                    if self.calls[key]["status"] == "pending":
                        self.calls[key]["status"] = "interrupted"
                self.turns[place] = count(record.get("durationMs"))
                is_stopped, error = False, table(record.get("error"))
                status = table(error.get("details")).get("statusCode")
                if status or str(error.get("code")).startswith("provider."):
                    self.errors[place] = failures.reason(error.get("message"), error.get("name"), status)
            elif kind == "turn.step.retrying":
                self.errors[place] = failures.reason(record.get("errorMessage"), record.get("errorName"), record.get("statusCode"))
            elif does == "tool.call":
                name = event.get("toolCallId")
                key = name if GLOBAL.search(name or "") else event.get("uuid")
                if key:
                    self.calls.setdefault(key, {"status": "pending", "name": event.get("name"), "args": event.get("args"), "output": ""})
                    opened[name or key] = key
            elif does == "tool.result" and isinstance(event.get("result"), dict):
                call = self.calls.get(opened.get(event.get("toolCallId")))
                if call and call["status"] == "pending":
                    call["output"] = said(event["result"].get("output"))
                    call["status"] = ended(event["result"], call["output"], is_stopped)
                    call["code"] = exit_code(call["output"]) if event["result"].get("isError") is True else None
        if open_response and step:
            self.kinds[step] = "reply"


def ended(result, output, is_stopped):
    if result.get("isError") is not True:
        return "ok"
    if DENIED.match(output):
        return "error"
    if REFUSED.match(output):
        return "rejected"
    return "interrupted" if CANCELLED.match(output) or is_stopped else "error"


def exit_code(output):
    codes = re.findall(r"Command failed with exit code: (-?\d+)", output)
    return int(codes[-1]) if codes else None


def commands(calls):
    for call in calls:
        if call["name"] == "Bash":
            command = table(call["args"]).get("command")
            yield command if isinstance(command, str) else None, call["output"], call["status"], call.get("code") is None


def total(home):
    judge = Judge()
    work = "kimi-desktop/daimon-share/daimon/runtime/kimi-code/home"
    homes = (".kimi-code", "Library/Application Support/" + work, "AppData/Roaming/" + work)
    found = [glob.glob(os.path.join(glob.escape(home), root, "sessions/*/*/agents/*/wire.jsonl")) for root in homes]
    for path in sorted(sum(found, [])):
        judge.read(path)
    models = collections.defaultdict(collections.Counter)
    for model, counts in judge.responses.values():
        models[model].update({"responses": 1, **{name: counts[name] or 0 for name in counts}})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    calls = list(judge.calls.values())
    changed = [edits.of_arguments(call["args"]) for call in calls if call["name"] == "Edit" and call["status"] == "ok"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} \
        | rows.counted(judge.kinds.values(), [call["status"] for call in calls]) | edits.sums(changed) \
        | shell.columns(list(commands(calls))) \
        | rows.measured("tool_calls.exit_code", [call.get("code") for call in calls]) \
        | rows.measured("messages.duration_ms", judge.turns.values()) \
        | rows.measured("usage.time_to_first_token_ms", judge.latencies.values()) \
        | rows.tally("messages.error_type", judge.errors.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
