#!/usr/bin/env python3
"""Count the costs, messages and tool calls of Crush below a home folder, once each.

    count_crush.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": 0, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null". Crush records no tokens: a session's cost is one response.
"""
import collections
import contextlib
import json
import os
import re
import sqlite3
import sys

import rows


def parsed(text):
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return []
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def of_kind(parts, kind):
    return [part.get("data") or {} for part in parts if part.get("type") == kind]


def ended(result, tool):
    content = result.get("content") or ""
    try:
        code = json.loads(result.get("metadata") or "{}").get("exit_code")
    except ValueError:
        code = None
    if code is None:
        found = re.search(r"^Exit code (-?\d+)\s*\Z", content, re.M)
        code = int(found[1]) if found else None
    if result.get("is_error") and "User denied permission" in content:
        return "rejected"
    return "error" if result.get("is_error") or tool == "bash" and code else "ok"


def read(path, costs, kinds, statuses):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        sessions = {row["id"]: dict(row) for row in database.execute("SELECT * FROM sessions")}
        messages = collections.defaultdict(list)
        for row in database.execute("SELECT rowid, * FROM messages ORDER BY created_at, rowid"):
            messages[row["session_id"]].append(dict(row))
    for name in set(sessions) | set(messages):
        if name.startswith("title-"):
            continue
        models, calls = collections.Counter(), {}
        for message in messages[name]:
            parts, role = parsed(message["parts"]), message["role"]
            for call in calls.values():
                call[1] = "interrupted" if call[1] == "pending" else call[1]
            if role == "assistant" and message["model"]:
                models[message["provider"], message["model"]] += 1
            kinds.append("compaction" if message["is_summary_message"] else
                         {"assistant": "reply", "user": "command" if of_kind(parts, "shell_command") else "prompt"}.get(role, role))
            for call in of_kind(parts, "tool_call"):
                calls[call.get("id")] = [call.get("name"), "pending"]
            for result in of_kind(parts, "tool_result"):
                call = calls.setdefault(result.get("tool_call_id"), [result.get("name"), None])
                call[1] = ended(result, call[0])
            for command in of_kind(parts, "shell_command"):
                statuses.append("error" if command.get("exit_code") else "ok")
            if any(finish.get("reason") in ("canceled", "error") for finish in of_kind(parts, "finish")):
                for call in calls.values():
                    call[1] = "interrupted" if call[1] == "pending" else call[1]
        statuses += [how for _, how in calls.values()]
        valid = {one: max(0, row["cost"]) for one, row in sessions.items()}
        own = valid.get(name, 0) - sum(valid[one] for one, row in sessions.items()
                                       if row["parent_session_id"] == name and not one.startswith("title-"))
        own = max(0, own) + valid.get("title-" + name, 0)
        if own > 0:
            one_provider = len({provider for provider, _ in models}) == 1
            costs.append((models.most_common(1)[0][0][1] if one_provider else None, own))


def total(home):
    costs, kinds, statuses = [], [], []
    for folder, folders, names in os.walk(home):
        if os.path.basename(folder) == ".crush" and "crush.db" in names:
            read(os.path.join(folder, "crush.db"), costs, kinds, statuses)
    models = collections.Counter(model or "null" for model, _ in costs)
    order = ["input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    return {model: {"responses": models[model]} | dict.fromkeys(order, 0) for model in sorted(models)} \
        | rows.counted(kinds, statuses) | rows.measured("usage.cost_usd", [cost for _, cost in costs], 1000)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
