#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Goose below a home folder, once each.

    count_goose.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import contextlib
import datetime
import glob
import json
import os
import re
import sqlite3
import sys

import lines
import rows

START = re.compile(r'\{"(?:working_dir|role|id)"')
COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
LARGEST = 2**53 - 1
REFUSED = ("The user has declined to run this tool", "Let the user know the tool call was skipped in Goose chat mode")


def number(value):
    return value if isinstance(value, int) and 0 <= value <= LARGEST else 0


def numbers(record, prefix=""):
    return [number(record.get(prefix + name)) for name in COUNTS]


def tokens(counts):
    """Cached tokens are parts of the input."""
    given, output, read, write = counts
    return {"input_tokens": max(0, given - read - write), "cache_read_tokens": read, "cache_write_5m_tokens": write,
            "cache_write_1h_tokens": 0, "output_tokens": output}


def table(value):
    return value if isinstance(value, dict) else {}


class Session:
    def __init__(self, created=None):
        self.created = created
        self.messages = []  # (id, role, moment, blocks, for user, for agent)

    def add(self, identity, role, moment, blocks, metadata):
        blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
        self.messages.append((identity, role, moment, blocks, metadata.get("userVisible") is not False,
                              metadata.get("agentVisible") is not False))

    def is_copied(self, moment):
        return self.created is not None and moment < self.created


def kind(role, blocks, for_user, for_agent, was_aside):
    kinds = [block.get("type") for block in blocks]
    has_text = any(block.get("type") == "text" and block.get("text") for block in blocks)
    if not for_user and for_agent and was_aside and (has_text or "systemNotification" in kinds):
        return "compaction"
    if "toolResponse" in kinds:
        return "tool_result"
    if "systemNotification" in kinds and not has_text:
        return "notice"
    if role == "assistant":
        return "reply"
    return "prompt" if for_user and (has_text or "image" in kinds) else "meta"


def status(result):
    value = result.get("value")
    pieces = value if isinstance(value, list) else table(value).get("content") or []
    text = "\n".join(str(table(piece).get("text") or "") for piece in pieces)
    if text.startswith(REFUSED):
        return "rejected"
    return "error" if table(value).get("isError") is True or result.get("status") == "error" else "ok"


def spoken(sessions, kinds, statuses):
    """Adds the messages and calls of some sessions, the older sessions first."""
    seen = set()
    for session in sorted(sessions, key=lambda one: one.created or 0):
        calls, was_aside = {}, False
        for identity, role, moment, blocks, for_user, for_agent in session.messages:
            aside, was_aside = was_aside, not for_agent
            if identity in seen:
                continue
            seen.add(identity)
            for call in calls.values():
                call[1] = "interrupted" if call[1] == "pending" else call[1]
            kinds.append(kind(role, blocks, for_user, for_agent, aside))
            for block in blocks:
                if block.get("type") in ("toolRequest", "frontendToolRequest"):
                    failed = table(block.get("toolCall")).get("status") == "error"
                    calls[block.get("id")] = [identity, "error" if failed else "pending"]
                elif block.get("type") == "toolResponse":
                    calls.setdefault(block.get("id"), [identity, None])[1] = status(table(block.get("toolResult")))
        statuses += [how for _, how in calls.values()]


def select(database, name):
    tables = {one for (one,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return [dict(row) for row in database.execute("SELECT rowid, * FROM %s ORDER BY rowid" % name)] if name in tables else []


def parsed(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def read_database(path, sessions, usage):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        known = {row["id"]: row for row in select(database, "sessions")}
        messages, ledger = collections.defaultdict(list), collections.defaultdict(list)
        for row in select(database, "messages"):
            messages[row["session_id"]].append(row)
        for row in select(database, "usage_ledger"):
            ledger[row["session_id"]].append(row)
        imported = set()
        for name in sorted(set(known) | set(messages) | set(ledger), key=lambda one: known.get(one, {}).get("created_at") or ""):
            row = known.get(name, {})
            created = datetime.datetime.fromisoformat(row["created_at"] + "+00:00").timestamp() if row.get("created_at") else None
            session = sessions[name] = Session(created)
            for message in sorted(messages[name], key=lambda one: (one["created_timestamp"], one["id"])):
                moment = message["created_timestamp"]
                moment = moment / 1000 if moment > 10**10 else moment
                blocks = parsed(message["content_json"])
                if blocks is not None:
                    identity = message.get("message_id") or "msg_%s_%s" % (name, message["id"])
                    session.add(identity, message["role"], moment, blocks, table(parsed(message["metadata_json"])))
            model = table(parsed(row.get("model_config_json"))).get("model_name")
            for entry in ledger[name]:
                if any(numbers(entry)):
                    usage.append((entry["model"] or (model if entry["cost_source"] != "carried_forward" else None), numbers(entry)))
            sums = numbers(row, "accumulated_")
            if not any(sums) and not ledger[name] and all(row.get("accumulated_" + one) is None for one in COUNTS):
                sums = numbers(row)
            rest = [max(0, total - sum(numbers(entry)[place] for entry in ledger[name])) for place, total in enumerate(sums)]
            first = session.messages[0] if session.messages else None
            twin = (first[0], tuple(sums)) if first else None
            is_import = not ledger[name] and twin in imported and session.is_copied(first[2])
            if any(rest) and not is_import:
                usage.append((model, rest))
            imported.add(twin)


def read_lines(path, sessions, usage):
    name = os.path.basename(path)[:-len(".jsonl")]
    if name in sessions:
        return
    session, sums = Session(), None
    with open(path, "rb") as file:
        for place, line in enumerate(file.read().split(b"\n")):
            for record in lines.objects(line.decode("utf-8", "replace"), START):
                if isinstance(record, dict) and record.get("role"):
                    session.add((path, place), record["role"], record.get("created") or 0, record.get("content"), {})
                elif isinstance(record, dict):
                    sums = numbers(record, "accumulated_") if any(numbers(record, "accumulated_")) else numbers(record)
    sessions[name] = session
    if sums and any(sums):
        usage.append((None, sums))


def total(home):
    sessions, usage, kinds, statuses = {}, [], [], []
    folder = os.path.join(home, ".local/share/goose/sessions")
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.db"))):
        read_database(path, sessions, usage)
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.jsonl"))):
        read_lines(path, sessions, usage)
    spoken(sessions.values(), kinds, statuses)
    models = collections.defaultdict(collections.Counter)
    for model, counts in usage:
        models[model or "null"].update({"responses": 1, **tokens(counts)})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} | rows.counted(kinds, statuses)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
