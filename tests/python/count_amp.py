#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Amp below a home folder, once each.

    count_amp.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import glob
import json
import os
import re
import sys

import rows

STATUSES = {"done": "ok", "error": "error", "rejected-by-user": "rejected", "cancelled": "interrupted"}


def table(value):
    return value if isinstance(value, dict) else {}


def count(value):
    return value if isinstance(value, int) and value >= 0 else 0


def thread(path):
    """The thread and its messages; those of a torn one up to the tear."""
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    try:
        found = json.loads(text)
        return table(found), [one for one in found.get("messages") or [] if isinstance(one, dict)]
    except ValueError:
        pass
    start = re.search(r'"messages": \[', text)
    messages, at = [], start.end() if start else len(text)
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(", \n\t\r"))
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            return {}, messages
        if isinstance(value, dict):
            messages.append(value)


def billed(usage):
    given, write, read = (count(usage.get(key)) for key in ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"))
    if re.match(r"gpt-|o[1-4]", usage.get("model") or ""):
        given, write = given + write, 0
    return {"input_tokens": given, "cache_read_tokens": read, "cache_write_5m_tokens": write,
            "output_tokens": count(usage.get("outputTokens"))}


def blocks(message):
    content = message.get("content")
    content = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def kind(message):
    kinds = {block.get("type") for block in blocks(message)}
    if message.get("role") in ("assistant", "info"):
        return "reply" if message["role"] == "assistant" else "notice"
    return "tool_result" if "tool_result" in kinds and "text" not in kinds else "prompt"


def status(block):
    run = block.get("run")
    if not isinstance(run, dict):
        return "error" if block.get("is_error") else "ok"
    how = STATUSES.get(run.get("status"), "pending")
    return "error" if how == "ok" and table(run.get("result")).get("exitCode") else how


def total(home):
    models, kinds, statuses = collections.defaultdict(collections.Counter), [], []
    for path in sorted(glob.glob(os.path.join(glob.escape(home), ".local/share/amp/threads/T-*.json"))):
        found, messages = thread(path)
        usages = [(message.get("messageId"), message["usage"]) for message in messages if isinstance(message.get("usage"), dict)]
        events = [event for event in table(found.get("usageLedger")).get("events") or [] if isinstance(event, dict)]
        named = {number for number, _ in usages}
        free = [event for event in events if event.get("toMessageId") not in named]
        direct = {event.get("toMessageId") for event in events}
        for number, usage in usages:
            models[usage.get("model") or "null"].update({"responses": 1, **billed(usage)})
            same = [event for event in free if event.get("model") == usage.get("model")
                    and table(event.get("tokens")).get("output") == usage.get("outputTokens")]
            if number not in direct and same:
                free.remove(same[0])
        for event in free:
            tokens = table(event.get("tokens"))
            if tokens:
                models[event.get("model") or "null"].update({
                    "responses": 1, "input_tokens": count(tokens.get("input")), "output_tokens": count(tokens.get("output"))})
        calls = {}
        for message in messages:
            kinds.append(kind(message))
            calls = {name: "interrupted" if how == "pending" else how for name, how in calls.items()}
            for block in blocks(message):
                if block.get("type") == "tool_use":
                    calls[block.get("id")] = "pending"
                elif block.get("type") == "tool_result":
                    calls[block.get("toolUseID") or block.get("tool_use_id")] = status(block)
            if table(message.get("state")).get("type") in ("cancelled", "error"):
                calls = {name: "interrupted" if how == "pending" else how for name, how in calls.items()}
        statuses += calls.values()
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} | rows.counted(kinds, statuses)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
