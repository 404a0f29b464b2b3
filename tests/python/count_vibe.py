#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Mistral Vibe below a home folder, once each.

    count_vibe.py HOME

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

import lines
import rows

LARGEST = 2**53 - 1
START = re.compile(r'\{"(role|sequence)":')
ORDER = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]


def count(value):
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LARGEST else 0


def table(value):
    return value if isinstance(value, dict) else {}


def items(value):
    return value if isinstance(value, list) else []


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def objects(path):
    with open(path, "rb") as file:
        content = file.read()
    for line in content.split(b"\n"):
        yield from (it for it in lines.objects(line.decode("utf-8", "replace"), START) if isinstance(it, dict))


def model_of(meta):
    config = table(meta.get("config"))
    alias = config.get("model_name") or config.get("active_model")
    if not isinstance(alias, str):
        return "null"
    return next((it["name"] for it in items(config.get("models")) if alias in (it.get("alias"), it.get("name"))), alias)


def spent(meta):
    told = table(meta.get("stats"))
    return [count(told.get("session_prompt_tokens")), count(told.get("session_completion_tokens"))]


def ended(text, name):
    if text.startswith("<user_cancellation>"):
        return "rejected" if "skipped" in text else "interrupted"
    code = re.search(r"^returncode: (-?\d+)\s*$", text, re.M) if name == "bash" else None
    return "error" if text.startswith("<tool_error>") or code and int(code[1]) else "ok"


def of_lines(session, meta, messages, found):
    """Messages and calls of 2.x and 1.x. What a fork copied has the same ids."""
    open_calls = {}
    for number, message in enumerate(messages):
        text = message.get("content") if isinstance(message.get("content"), str) else ""
        own = message.get("message_id")
        key = own if isinstance(own, str) and len(own) == 36 else (session, own or number)
        if message.get("role") == "user":
            found["messages"][key] = "other" if message.get("injected") is True else "prompt"
        elif message.get("role") == "assistant":
            if key in found["messages"]:
                for call in items(message.get("tool_calls")):
                    open_calls[call["id"]] = key, call["id"]
                continue
            found["messages"][key] = "reply"
            for call in items(message.get("tool_calls")):
                open_calls[call["id"]] = key, call["id"]
                found["calls"][key, call["id"]] = "pending", call["function"]["name"]
        elif message.get("role") == "tool":
            call = open_calls.setdefault(message.get("tool_call_id"), (session, message.get("tool_call_id")))
            status, name = found["calls"].get(call, ("pending", message.get("name")))
            if status == "pending":
                found["calls"][call] = ended(text, name), name


def of_store(folder, session, found, usage):
    """A session of 3.0: the history, the answers that the journal has, and what is left of the sum."""
    current = load(os.path.join(folder, "CURRENT"))
    generation = os.path.join(folder, "generations", str(current.get("generation")))
    manifest = load(os.path.join(generation, "manifest.json"))
    snapshot = table(load(os.path.join(generation, "projection-state.json")).get("snapshot"))
    entries = []
    for chunk in items(table(manifest.get("projection_state")).get("chunks")):
        entries += items(load(os.path.join(folder, "chunks", chunk + ".json")))
    answers = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "journal/*.jsonl"))):
        for line in objects(path):
            payload = table(line.get("payload"))
            told = table(table(table(payload.get("result")).get("result")).get("usage"))
            if line.get("type") == "action_result" and told:
                cached = min(count(told.get("cached_input_tokens")), count(told.get("input_tokens")))
                answers[payload["action_id"]] = [count(told.get("input_tokens")) - cached, cached, count(told.get("output_tokens"))]
            for change in items(payload.get("delta")) if line.get("sequence", 0) > current.get("snapshot_sequence", 0) else []:
                entries += [change["entry"]] if change["op"] == "append_entry" else []
                if change["op"] == "replace_entry":
                    entries = [change["entry"] if it.get("id") == change["id"] else it for it in entries]
                if change["op"] == "remove_entry":
                    entries = [it for it in entries if it.get("id") != change["id"]]
                snapshot = change["state"] if change["op"] == "set_envelope" else snapshot
    thoughts = set()
    for entry in map(table, entries):
        key = session, entry.get("id")
        if entry.get("type") == "message":
            is_prompt = entry["role"] == "user" and entry.get("source") != "harness"
            found["messages"][key] = "prompt" if is_prompt else "reply" if entry["role"] == "assistant" else "other"
        elif entry.get("type") == "reasoning":
            thoughts.add((session, "assistant-" + entry["id"][len("reasoning-"):].rsplit("-", 1)[0]))
        elif entry.get("type") == "effect":
            state = table(entry.get("state"))
            failed = table(state.get("output")).get("type") == "failure" or table(table(state.get("output")).get("structured_content")).get("returncode")
            named = {"running": "pending", "skipped": "rejected", "cancelled": "interrupted", "failed": "error"}
            found["calls"][key] = named.get(state.get("status"), "error" if failed else "ok"), None
    found["messages"].update((key, "reply") for key in thoughts)
    if not entries and not answers:
        return
    model = model_of(load(os.path.join(folder, "meta.json")))
    usage.update(((session, action), (model, numbers)) for action, numbers in answers.items())
    runtime = load(os.path.join(generation, str(table(manifest.get("runtime_state")).get("path"))))
    found["efforts"] += [table(runtime.get("session_metadata")).get("reasoning_effort")] * len(answers)
    told = table(table(snapshot.get("session")).get("tokenUsage"))
    if told:
        cached = min(count(told.get("cachedInputTokens")), count(told.get("inputTokens")))
        whole = [count(told.get("inputTokens")) - cached, cached, count(told.get("outputTokens"))]
        left = [max(0, it - sum(numbers[at] for numbers in answers.values())) for at, it in enumerate(whole)]
        if any(left):
            usage[session, "total"] = model, left


def total(home):
    root = os.path.join(home, ".vibe/logs/session")
    found, usage, stores = {"messages": {}, "calls": {}, "efforts": []}, {}, set()
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "unified/*/CURRENT"))):
        session = load(path).get("session_id")
        if session:
            stores.add(session)
            of_store(os.path.dirname(path), session, found, usage)
    folders = sorted(glob.glob(os.path.join(glob.escape(root), "*/messages.jsonl")) + glob.glob(os.path.join(glob.escape(root), "*/agents/*/messages.jsonl")))
    metas = {}
    for path in folders:
        meta = load(os.path.join(os.path.dirname(path), "meta.json"))
        metas[meta.get("session_id")] = meta
    sessions = [(load(os.path.join(os.path.dirname(path), "meta.json")), list(objects(path)), os.path.basename(os.path.dirname(path))) for path in folders]
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "session_*.json"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        document = load(path)
        torn = re.search(r'"session_id":"([^"]*)".*"messages":\[(\{.*?\}),\{', text)
        messages = items(document.get("messages")) if document else [json.loads(torn[2])]
        sessions.append((document.get("metadata") or {"session_id": torn[1]}, messages, path))
    for meta, messages, name in sorted(sessions, key=lambda it: str(it[0].get("start_time"))):
        session = meta.get("session_id") or name
        if session in stores:
            continue
        of_lines(session, meta, messages, found)
        numbers = spent(meta)
        before = metas.get(meta.get("parent_session_id"))
        if before and messages[0].get("injected") is True and all(own >= its for own, its in zip(numbers, spent(before))):
            numbers = [own - its for own, its in zip(numbers, spent(before))]
        if any(spent(meta)):
            usage[session, "total"] = model_of(meta), [numbers[0], 0, numbers[1]]
    models = collections.defaultdict(collections.Counter)
    for model, (given, cached, output) in usage.values():
        models[model].update(dict(zip(ORDER, (1, given, cached, 0, 0, output))))
    by_model = {model: {name: models[model][name] for name in ORDER} for model in sorted(models)}
    return by_model | rows.counted(found["messages"].values(), (status for status, _ in found["calls"].values())) \
        | rows.tally("usage.reasoning_effort", found["efforts"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(json.dumps(total(sys.argv[1]), indent=2))
