#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Qwen Code below a home folder, once each.

    count_qwen_code.py HOME

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

LARGEST = 2**53 - 1  # Qwen Code is JavaScript: no whole number beyond this is exact
START = re.compile(r'\{"uuid"')  # how a record begins
PLACES = ("chats/*.jsonl", "chats/archive/*.jsonl", "subagents/*/agent-*.jsonl")


def count(value):
    """A whole number up to LARGEST, also as 12.0 or "12", never below 0; anything else is 0."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0
    return max(0, int(value)) if abs(value) <= LARGEST else 0


def billed(usage):
    """Cached tokens are inside the prompt; thoughts are inside the candidates, unless the total adds them."""
    prompt = count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount"))
    output = count(usage.get("candidatesTokenCount"))
    thoughts = count(usage.get("thoughtsTokenCount"))
    if thoughts and count(usage.get("totalTokenCount")) == prompt + output + thoughts:
        output += thoughts
    cached = min(prompt, count(usage.get("cachedContentTokenCount")))
    return {"input_tokens": prompt - cached, "cache_read_tokens": cached, "cache_write_5m_tokens": 0,
            "cache_write_1h_tokens": 0, "output_tokens": output}


def records_of(path):
    """(line, record) of each record of one file."""
    with open(path, "rb") as file:
        content = file.read().replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(content.split(b"\n"), 1):
        for record in lines.objects(line.decode("utf-8", "replace"), START):
            if isinstance(record, dict):
                yield number, record


def responses(path):
    """(identity, model, numbers, context window) of the model's lines of one file."""
    for number, record in records_of(path):
        usage = record.get("usageMetadata")
        numbers = billed(usage) if record.get("type") == "assistant" and isinstance(usage, dict) else {}
        if any(numbers.values()):
            yield record.get("uuid") or (path, number), record.get("model") or "null", numbers, record.get("contextWindowSize")


def parts(record):
    message = record.get("message")
    found = message.get("parts") if isinstance(message, dict) else None
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def kind(record):
    typed = (None, "mid_turn_user_message", "agent_launch_prompt")
    if record.get("type") == "user":
        return "prompt" if record.get("subtype") in typed else "other"
    return "reply" if record.get("type") == "assistant" else "other"


def ended(record, response, decision):
    """How a call ended: by the line's result, or the answer itself where there is none."""
    told, answer = table(record.get("toolCallResult")), table(response.get("response"))
    said = json.dumps([answer, told.get("resultDisplay")], ensure_ascii=False)
    if decision == "reject":
        return "rejected"
    if told.get("status") == "cancelled":
        return "rejected" if re.search(r"User (denied|declined|rejected|did not allow)", said) else "interrupted"
    if told.get("status") == "error" or not told.get("status") and "error" in answer:
        return "error"
    return "error" if response.get("name") == "run_shell_command" and exit_code(printed(response)) else "ok"


def table(value):
    return value if isinstance(value, dict) else {}


def printed(response):
    """What a tool gave the model."""
    answer = table(response.get("response"))
    said = [answer.get(key) for key in ("output", "error") if isinstance(answer.get(key), str)]
    return said[0] if said else json.dumps(answer)


def exit_code(output):
    code = re.search(r"^Exit Code: (-?\d+)", output, re.M)
    return int(code[1]) if code else None


def edited(name, given, record):
    """The lines that a call changed: as shown, else by its arguments."""
    display, given = table(table(record.get("toolCallResult")).get("resultDisplay")), table(given)
    if name == "run_shell_command":
        return edits.of_command(given["command"]) if isinstance(given.get("command"), str) else None
    if name not in ("edit", "replace", "write_file", "notebook_edit"):
        return None
    counts = table(display.get("diffStat"))
    added, removed = (counts.get("model_%s_lines" % what, counts.get("ai_%s_lines" % what)) for what in ("added", "removed"))
    if added is not None and removed is not None:
        return added + counts.get("user_added_lines", 0), removed + counts.get("user_removed_lines", 0)
    if isinstance(display.get("fileDiff"), str) and display["fileDiff"]:
        return edits.of_diff(display["fileDiff"])
    return edits.of_arguments(given) if name != "write_file" else None


def error(event):
    """Why a request to the model failed."""
    if event.get("event.name") == "qwen-code.api_error":
        return failures.reason(event.get("error_message") or event.get("error"), event.get("error_type"), event.get("status_code"))
    return None


def spoken(paths):
    """Kinds of messages and statuses of calls. What a fork copied has the same uuid and line."""
    kinds, calls, made, answers, errors = {}, {}, {}, {}, {}
    for path in paths:
        opened, decisions = {}, {}
        found = list(records_of(path))
        for number, record in found:
            event = table(table(record.get("systemPayload")).get("uiEvent"))
            if event.get("event.name") == "qwen-code.tool_call":
                decisions[event.get("call_id")] = event.get("decision")
            errors[record.get("uuid") or (path, number)] = error(event)
        for number, record in found:
            same = {name: record[name] for name in ("type", "subtype", "message", "usageMetadata") if name in record}
            identity = record.get("uuid") or (path, number), json.dumps(same, sort_keys=True)
            kinds[identity] = kind(record)
            for place, part in enumerate(parts(record)):
                call, answer = part.get("functionCall"), part.get("functionResponse")
                if isinstance(call, dict) and record.get("type") == "assistant":
                    key = opened[call.get("id") or call.get("name")] = identity[0], call.get("id") or (number, place)
                    calls.setdefault(key, "pending")
                    made.setdefault(key, (call.get("name"), call.get("args")))
                elif isinstance(answer, dict) and record.get("type") == "tool_result":
                    name = answer.get("id") or answer.get("name")
                    key = opened.get(name, (identity, place))
                    if calls.get(key, "pending") == "pending":
                        calls[key] = ended(record, answer, decisions.get(name))
                        answers[key] = printed(answer), record
    changed, commands, codes = [], [], []
    for key, how in calls.items():
        (name, given), (output, record) = made.get(key, (None, None)), answers.get(key, ("", {}))
        changed += [edited(name, given, record)] if how == "ok" else []
        if name == "run_shell_command":
            codes.append(exit_code(output))
            output = re.sub(r"^(Output|Stdout|Stderr): ", "", output, flags=re.M)
            commands.append((table(given).get("command"), output, how, codes[-1] is None))
    return rows.counted(kinds.values(), calls.values()) | edits.sums(changed) | shell.columns(commands) \
        | rows.measured("tool_calls.exit_code", codes) | rows.tally("messages.error_type", errors.values())


def files(home):
    found = [path for place in PLACES for path in sorted(glob.glob(os.path.join(glob.escape(home), ".qwen/projects/*", place)))]
    return [path for path in found if os.path.basename(path).count(".") == 1]  # others are kept beside a session


def total(home):
    fullest = {}  # several lines with one uuid are one response
    for path in files(home):
        for identity, model, numbers, window in responses(path):
            known = fullest.get(identity)
            if known is None or numbers["output_tokens"] >= known[1]["output_tokens"]:
                fullest[identity] = (model, numbers, window)
    models = collections.defaultdict(collections.Counter)
    for model, numbers, _ in fullest.values():
        models[model].update({"responses": 1, **numbers})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    by_model = {model: {name: models[model][name] for name in order} for model in sorted(models)}
    windows = [count(window) or None for _, _, window in fullest.values()]
    return by_model | spoken(files(home)) | rows.measured("usage.context_window", windows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
