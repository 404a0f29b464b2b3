#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Hermes below a home folder, once each.

    count_hermes.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import glob
import json
import os
import re
import sqlite3
import sys

import lines
import rows

LARGEST = 2**53 - 1
START = re.compile(r'\{"role":')
KINDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
ORDER = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
REFUSED = re.compile(r"User denied|denied by user|denied/timed out|without user response|deny rule|\(hardline\)|smart approval|requires approval.*but no")


def count(value):
    return value if isinstance(value, int) and 0 <= value <= LARGEST else 0


def calls_of(text):
    try:
        made = text if isinstance(text, list) else json.loads(text or "[]")
    except ValueError:
        return []
    return [it for it in made if isinstance(it, dict)] if isinstance(made, list) else []


def ended(text):
    text = text or ""
    try:
        told = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        told = {}
    told = told if isinstance(told, dict) else {}
    places = [text] + ([told.get("output")] if told.get("exit_code") != 0 else [])
    blocks = [it for it in places if isinstance(it, str) and it.startswith("BLOCKED")]
    blocks += [it for it in [told.get("error")] if isinstance(it, str) and "BLOCKED" in it]
    if any(REFUSED.search(it) for it in blocks):
        return "rejected"
    failed = told.get("error") or told.get("success") is False or told.get("exit_code")
    return "error" if failed or text.startswith("BLOCKED") or re.match(r"Tool '.*does not exist", text) else "ok"


def speak(session, said, found, copied=()):
    """Messages and calls of a session, each (row, role, text, calls, call id, state)."""
    archived, opened, copied, before, may_be_copy = set(), {}, set(copied), "live", False
    for number, (row, role, text, made, call, state) in enumerate(said):
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        same = role, text, made if isinstance(made, str) else json.dumps(made), call
        if same in copied:
            continue
        copied = set()
        # What a compaction kept follows its summary, up to the next new message of the person.
        is_summary = (text or "").lstrip().startswith("[CONTEXT ")
        may_be_copy = may_be_copy or is_summary or before == "archived" != state
        before = state
        if may_be_copy and same in archived:
            continue
        may_be_copy = may_be_copy and (role != "user" or is_summary)
        if state == "archived":
            archived.add(same)
        key = session, row if row is not None else number
        if role == "user":
            start = (text or "").lstrip()
            found["messages"][key] = "prompt" if not re.match(r"\[(CONTEXT |(IMPORTANT|SYSTEM): The user has invoked the)", start) else "other"
        elif role == "assistant":
            found["messages"][key] = "reply"
            for place, it in enumerate(calls_of(made)):
                opened[it.get("id")] = key, place
                found["calls"][key, place] = "interrupted"
        elif role == "tool":
            found["calls"][opened.pop(call, (key, "alone"))] = ended(text)


def of_database(path, prefix, found, usage):
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    database.row_factory = sqlite3.Row
    database.text_factory = lambda value: value.decode("utf-8", "replace")
    read = lambda name: [dict(it) for it in database.execute("SELECT * FROM " + name)] if database.execute(
        "SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)).fetchone() else []
    sessions = {it["id"]: it for it in read("sessions")}
    said = collections.defaultdict(list)
    for it in read("messages"):
        state = "undone" if it.get("active") == 0 else "live"
        state = "archived" if state == "undone" and it.get("compacted") == 1 else state
        said[it["session_id"]].append((it["id"], it["role"], it["content"], it["tool_calls"], it["tool_call_id"], state))
    counted = collections.defaultdict(collections.Counter)
    for it in read("session_model_usage"):
        numbers = {kind: count(it[kind]) for kind in KINDS}
        if it["session_id"] in said and any(numbers.values()):
            key = prefix + it["session_id"], it["model"], it["billing_provider"], it["task"]
            usage.setdefault(key, (it["model"], collections.Counter()))[1].update(numbers)
            if not it["task"]:
                counted[it["session_id"]].update(numbers)
    for session, messages in said.items():
        known = sessions.get(session, {})
        origin = re.search(r'"_branched_from": "([^"]*)"', known.get("model_config") or "")
        copied = [(it[1], it[2], it[3] or "null", it[4]) for it in said.get(origin[1], [])] if origin else []
        speak(prefix + session, [(it[0], it[1], it[2], it[3], it[4], it[5]) for it in messages], found, copied)
        left = {kind: max(0, count(known.get(kind)) - counted[session][kind]) for kind in KINDS}
        if any(left.values()):
            usage[prefix + session, "left"] = known["model"], collections.Counter(left)
    database.close()
    return {prefix + it for it in said}


def of_transcript(path, session, found):
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    if path.endswith(".jsonl"):
        said = [it for line in text.split("\n") for it in lines.objects(line, START) if isinstance(it, dict)]
    else:
        try:
            said = json.loads(text)["messages"]
        except ValueError:
            said = [json.loads(re.search(r'"messages": ?\[(\{.*?\})', text)[1])]
    speak(session, [(None, it.get("role"), it.get("content"), it.get("tool_calls"), it.get("tool_call_id"), "live") for it in said], found)


def total(home):
    found, usage = {"messages": {}, "calls": {}}, {}
    root = os.path.join(home, ".hermes")
    for folder in [root] + sorted(glob.glob(os.path.join(glob.escape(root), "profiles/*"))):
        prefix = os.path.basename(folder) + "/" if folder != root else ""
        path = os.path.join(folder, "state.db")
        stored = of_database(path, prefix, found, usage) if os.path.isfile(path) else set()
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "sessions/*.json*"))):
            name = os.path.basename(path)
            session = prefix + os.path.splitext(name)[0].removeprefix("session_" if name.endswith("json") else "-")
            if (name.endswith("l") or name.startswith("session_")) and session not in stored:
                of_transcript(path, session, found)
    models = collections.defaultdict(collections.Counter)
    for model, numbers in usage.values():
        models[model or "null"].update(dict(zip(ORDER, (1, *(numbers[kind] for kind in KINDS[:3]), 0, numbers[KINDS[3]]))))
    by_model = {model: {name: models[model][name] for name in ORDER} for model in sorted(models)}
    return by_model | rows.counted(found["messages"].values(), found["calls"].values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(json.dumps(total(sys.argv[1]), indent=2))
