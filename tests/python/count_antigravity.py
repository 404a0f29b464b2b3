#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Antigravity below a home folder, once each.

    count_antigravity.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import contextlib
import glob
import json
import os
import re
import sqlite3
import sys

import lines
import rows

START = re.compile(r'\{"step_index"')
ACTIONS = {"LIST_DIRECTORY": ("list_dir", "list_directory"),
           "CODE_ACTION": ("write_to_file", "replace_file_content", "multi_replace_file_content", "edit_file")}
META = ("EPHEMERAL_MESSAGE", "CONVERSATION_HISTORY")


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if not byte & 128:
            return number, at
        if shift > 63:
            raise ValueError


def fields(data):
    """The fields of a message, in lists by their numbers, up to where it is torn."""
    found, at = collections.defaultdict(list), 0
    data = data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else b""
    try:
        while at < len(data):
            tag, at = varint(data, at)
            kind = tag & 7
            if kind == 0:
                value, at = varint(data, at)
            elif kind == 2:
                size, at = varint(data, at)
                value = data[at:at + size]
                at += size
                if at > len(data):
                    break
            elif kind in (1, 5):
                value, at = None, at + (8 if kind == 1 else 4)
            else:
                break
            found[tag >> 3].append(value)
    except (IndexError, ValueError):
        pass
    return found


def inner(data, *path):
    for field in path:
        data = next((value for value in fields(data)[field] if isinstance(value, bytes)), None)
        if data is None:
            return None
    return data


def number(data, field):
    return next((value for value in fields(data)[field] if isinstance(value, int)), None)


def text(data, field):
    value = inner(data, field)
    return value.decode("utf-8", "replace") if value else None


def steps_made(data):
    for value in fields(data)[2]:
        if isinstance(value, int):
            yield value
        at = 0
        while isinstance(value, bytes) and at < len(value):
            try:
                step, at = varint(value, at)
            except (IndexError, ValueError):
                break
            yield step


def select(database, table, order):
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return list(database.execute("SELECT * FROM %s ORDER BY %s" % (table, order))) if table in tables else []


def billed(path):
    """(model, usage) of each response of a database, by its id."""
    found, repeated = {}, set()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        for row in select(database, "gen_metadata", "idx"):
            call = inner(row["data"], 1)
            if call is None:
                continue
            model = text(call, 19) if not (text(call, 19) or "-default").endswith("-default") else text(call, 21)
            blocks = [inner(call, 4)] + [inner(attempt, 2) for attempt in fields(call)[17] if isinstance(attempt, bytes)]
            if any(usage is not None for usage in blocks):
                repeated.update(steps_made(row["data"]))
            for place, usage in enumerate(blocks):
                if usage is not None and (text(usage, 11) or place == 0):
                    found.setdefault(text(usage, 11) or (path, "call", row["idx"]), (model, usage))
        for row in select(database, "steps", "idx"):
            usage = inner(row["metadata"], 9)
            # The step of an answer repeats the block of the call that made it.
            if usage is not None and (text(usage, 11) or row["step_type"] != 15 or row["idx"] not in repeated):
                found.setdefault(text(usage, 11) or (path, "step", row["idx"]), (None, usage))
    for model, usage in found.values():
        given, output, read = number(usage, 2), number(usage, 3), number(usage, 5)
        if output is None and None not in (number(usage, 9), number(usage, 10)):
            output = number(usage, 9) + number(usage, 10)
        if (given, output, read) != (None, None, None):
            model = model or ("enum:%d" % number(usage, 1) if number(usage, 1) is not None else None)
            yield model, {"input_tokens": given or 0, "cache_read_tokens": read or 0, "output_tokens": output or 0}


def steps_of(path):
    with open(path, "rb") as file:
        for line in file.read().split(b"\n"):
            for record in lines.objects(line.decode("utf-8", "replace"), START):
                if isinstance(record, dict):
                    yield record


def spoken(path):
    kinds, statuses, opened = [], [], []
    for step in steps_of(path):
        kind, content = step.get("type"), step.get("content") or ""
        if kind == "USER_INPUT":
            kinds.append("prompt")
            statuses += ["interrupted" for _ in opened]
            opened = []
        elif kind == "PLANNER_RESPONSE":
            kinds.append("reply")
            opened += [call.get("name") for call in step.get("tool_calls") or []]
        elif kind not in ("SYSTEM_MESSAGE", "CHECKPOINT", "ERROR_MESSAGE") + META and step.get("source") == "MODEL" and opened:
            names = ACTIONS.get(kind, (kind.lower(),))
            place = next((place for place, name in enumerate(opened) if (name or "").lower() in names), 0)
            opened.pop(place)
            failed = kind == "RUN_COMMAND" and re.search(r"failed with exit code: (-?\d+)", content)
            statuses.append("error" if failed and int(failed[1]) else "ok")
    return kinds, statuses + ["pending" for _ in opened]


def total(home):
    models, kinds, statuses = collections.defaultdict(collections.Counter), [], []
    for folder in ("antigravity-cli", "antigravity", "antigravity-ide"):
        root = os.path.join(glob.escape(home), ".gemini", folder)
        for path in sorted(glob.glob(os.path.join(root, "conversations/*.db"))):
            for model, counts in billed(path):
                models[model or "null"].update({"responses": 1, **counts})
        for logs in sorted(glob.glob(os.path.join(root, "brain/*/.system_generated/logs"))):
            paths = [os.path.join(logs, name) for name in ("transcript_full.jsonl", "transcript.jsonl")]
            for path in [path for path in paths if os.path.isfile(path)][:1]:
                found = spoken(path)
                kinds, statuses = kinds + found[0], statuses + found[1]
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} | rows.counted(kinds, statuses)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
