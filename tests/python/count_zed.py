#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Zed's agent below a home folder, once each.

    count_zed.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness. Threads are unpacked by
Python 3.14's module, or by the `zstd` program.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import glob
import json
import os
import sqlite3
import subprocess
import sys

import rows

LARGEST = 2**53 - 1
KINDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
ORDER = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
PLACES = (".local/share/zed", "Library/Application Support/Zed", "AppData/Local/Zed", ".var/app/dev.zed.Zed*/data/zed")


def unpack(data):
    try:
        from compression import zstd
        return zstd.decompress(data)
    except ImportError:
        return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout


def table(value):
    return value if isinstance(value, dict) else {}


def items(value):
    return value if isinstance(value, list) else []


def tokens(usage):
    read = lambda value: int(value) if isinstance(value, (int, float)) and 0 <= value <= LARGEST else 0
    return [read(table(usage).get(kind)) for kind in KINDS]


def ended(result):
    if not isinstance(result, dict):
        return "interrupted"
    said = json.dumps(result.get("content"))
    if result.get("is_error") is not True:
        return "ok"
    return "rejected" if "denied by user" in said else "interrupted" if "canceled by user" in said else "error"


def speak(thread, document, found):
    for place, message in enumerate(items(document.get("messages"))):
        kind, calls = "other", []
        if isinstance(message, dict) and "role" in message:
            kind = {"user": "prompt", "assistant": "reply"}.get(message["role"], "other")
            results = {it["tool_use_id"]: it for it in items(message.get("tool_results"))}
            calls = [(it["id"], results.get(it["id"])) for it in items(message.get("tool_uses"))]
        elif isinstance(message, dict) and "User" in message:
            kind = "prompt"
        elif isinstance(message, dict) and "Agent" in message:
            kind, agent = "reply", table(message["Agent"])
            calls = [(it["ToolUse"]["id"], table(agent.get("tool_results")).get(it["ToolUse"]["id"]))
                     for it in items(agent.get("content")) if "ToolUse" in table(it)]
        found["messages"][thread, place] = kind
        found["calls"].update(((thread, place, call), ended(result)) for call, result in calls)


def total(home):
    found, usage = {"messages": {}, "calls": {}}, []
    for place in PLACES:
        for path in sorted(glob.glob(os.path.join(glob.escape(home), place, "threads/threads.db"))):
            database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
            for thread, kind, data in database.execute("SELECT id, data_type, data FROM threads"):
                try:
                    document = json.loads(unpack(data) if kind == "zstd" else data)
                except ValueError:
                    continue
                speak(thread, document, found)
                if document.get("imported") is True:
                    continue
                model = table(document.get("model")).get("model") or "null"
                requests = document.get("request_token_usage")
                requests = [tokens(it) for it in (requests.values() if isinstance(requests, dict) else items(requests))]
                counted = [sum(it[at] for it in requests) for at in range(4)]
                left = [max(0, it - counted[at]) for at, it in enumerate(tokens(document.get("cumulative_token_usage")))]
                usage += [(model, it) for it in requests + [left] if any(it)]
            database.close()
    models = collections.defaultdict(collections.Counter)
    for model, (given, cached, written, output) in usage:
        models[model].update(dict(zip(ORDER, (1, given, cached, written, 0, output))))
    by_model = {model: {name: models[model][name] for name in ORDER} for model in sorted(models)}
    return by_model | rows.counted(found["messages"].values(), found["calls"].values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(json.dumps(total(sys.argv[1]), indent=2))
