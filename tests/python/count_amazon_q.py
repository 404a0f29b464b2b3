#!/usr/bin/env python3
"""Count the requests that Amazon Q noted below a home folder, once each, with their tokens; and messages and tool calls.

    count_amazon_q.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
Kiro CLI keeps conversations likewise: its script uses the functions below.
"""
import collections
import json
import math
import os
import sqlite3
import sys
import urllib.parse

import edits
import rows
import shell

ORDER = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens",
         "output_tokens"]
LARGEST = 2**53 - 1
DATA = (".local/share", "Library/Application Support", "AppData/Local", "AppData/Roaming")
WORDS = ("amazonq", "amazon-q", "amazon_q", "q-chat", "q_chat")


# ---------------------------------------------------------------- values

def mapping(value):
    return value if isinstance(value, dict) else {}


def text(value):
    return value if isinstance(value, str) and value else None


def count(value):
    """A whole number up to LARGEST, also as 12.0 or "12", never below 0; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return max(0, int(value)) if abs(value) <= LARGEST else None


def document(data, names):
    """An object; of a torn one the fields, and the items of the lists of those names, that are whole."""
    data = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    data = data.removeprefix("\ufeff").replace("\0", "").strip()
    try:
        return mapping(json.loads(data))
    except ValueError:
        pass
    decoder = json.JSONDecoder()
    found = {}
    at = 1 if data.startswith("{") else len(data)

    def skip(at, characters=" \t\r\n"):
        while at < len(data) and data[at] in characters:
            at += 1
        return at

    try:
        while at < len(data):
            key, at = decoder.raw_decode(data, skip(at, " \t\r\n,"))
            at = skip(at)
            if data[at] != ":":
                break
            at = skip(at + 1)
            if key in names and data[at] == "[":
                found[key] = []
                at += 1
                while data[skip(at, " \t\r\n,")] != "]":
                    item, at = decoder.raw_decode(data, skip(at, " \t\r\n,"))
                    found[key].append(item)
                at = skip(at, " \t\r\n,") + 1
            else:
                found[key], at = decoder.raw_decode(data, at)
    except (ValueError, IndexError):
        pass
    return found


# ---------------------------------------------------------------- conversations

def requests(conversation):
    """(identity, model, numbers) of each request of a conversation, the compaction's first."""
    fallback = text(mapping(conversation.get("model_info")).get("model_id")) or text(conversation.get("model"))
    summary = conversation.get("latest_summary")
    if isinstance(summary, list) and len(summary) == 2:
        yield from one(mapping(summary[1]), None, fallback)
    entries = mapping(conversation.get("tangent_state")).get("main_history") or []
    entries = entries + (conversation.get("history") or [])
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("request_metadata"), dict):
            assistant = mapping(entry.get("assistant"))
            reply = mapping(assistant.get("Response")) or mapping(assistant.get("ToolUse"))
            yield from one(entry["request_metadata"], text(reply.get("message_id")), fallback)


def one(request, reply, fallback):
    identity = text(request.get("request_id")) or reply or text(request.get("message_id"))
    if not identity:
        return
    yield identity, text(request.get("model_id")) or fallback or "null", {
        "input_tokens": count(request.get("uncached_input_tokens")),
        "cache_read_tokens": count(request.get("cache_read_input_tokens")),
        "cache_write_5m_tokens": count(request.get("cache_write_input_tokens")),
        "output_tokens": count(request.get("output_tokens")),
        "first_token": milliseconds(request.get("time_to_first_chunk")),
    }


def milliseconds(duration):
    whole = count(mapping(duration).get("secs"))
    return None if whole is None else whole * 1000 + (count(duration.get("nanos")) or 0) // 1_000_000


def values(path):
    """The values of a database, the newest conversations first."""
    uri = "file:" + urllib.parse.quote(os.path.abspath(path)) + "?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if "conversations_v2" in tables:
            yield from (value for (value,) in connection.execute("SELECT value FROM conversations_v2"))
        if "conversations" in tables:
            yield from (value for (value,) in connection.execute("SELECT value FROM conversations"))
    finally:
        connection.close()


def conversations(home, program, words):
    for folder in DATA:
        path = os.path.join(home, folder, program, "data.sqlite3")
        if os.path.isfile(path):
            yield from (document(value, ["history"]) for value in values(path) if value is not None)
    for folder, below, files in os.walk(home):
        depth = 0 if folder == home else os.path.relpath(folder, home).count(os.sep) + 1
        hidden = {"node_modules", "target", "Library"}
        below[:] = [name for name in below if not name.startswith(".") and name not in hidden] if depth < 2 else []
        for name in sorted(files):
            if name.lower().endswith(".json") and any(word in name.lower()[:-5] for word in words):
                with open(os.path.join(folder, name), "rb") as file:
                    yield document(file.read(), ["history"])


def total(calls):
    first = {}
    for identity, model, numbers in calls:
        first.setdefault(identity, (model, numbers))
    models = collections.defaultdict(collections.Counter)
    for model, numbers in first.values():
        models[model].update({"responses": 1, **{name: numbers.get(name) or 0 for name in ORDER[1:]}})
    told = [numbers for _, numbers in first.values()]
    return {model: {name: models[model][name] for name in ORDER} for model in sorted(models)} \
        | rows.measured("usage.time_to_first_token_ms", [numbers.get("first_token") for numbers in told]) \
        | rows.measured("usage.credits", [numbers.get("credits") for numbers in told], 1000) \
        | rows.tally("usage.reasoning_effort", [numbers.get("effort") for numbers in told])


# ---------------------------------------------------------------- messages and tool calls

SHELLS = ("execute_bash", "execute_cmd", "shell", "executeBash", "executePwsh")
WRITES = ("fs_write", "write", "fsWrite", "strReplace")
PROGRAMS = ("In a few words, summarize our conversation so far.", "[SYSTEM NOTE: This is an automated")
FORBIDDEN = "was rejected because the arguments supplied were forbidden"


def turns(conversation):
    """(user, assistant, request) of each entry, and of the prompt that waits."""
    entries = mapping(conversation.get("tangent_state")).get("main_history") or []
    for entry in entries + (conversation.get("history") or []):
        if isinstance(entry, list) and len(entry) == 2:
            yield mapping(entry[0]), mapping(entry[1]), {}
        elif isinstance(entry, dict):
            yield mapping(entry.get("user")), mapping(entry.get("assistant")), mapping(entry.get("request_metadata"))
    yield mapping(conversation.get("next_message")), {}, {}


def ended(result):
    parts = [mapping(part) for part in result.get("content") or () if isinstance(part, dict)]
    if result.get("status") == "Error":
        cancelled = any("Tool use was cancelled by the user" in str(part.get("Text")) for part in parts)
        return "rejected" if cancelled else "error"
    return "error" if any(mapping(part.get("Json")).get("exit_status", "0") not in ("0", 0, None) for part in parts) else "ok"


class Spoken:
    """Kinds of messages and statuses of calls of all conversations."""

    def __init__(self):
        self.kinds, self.calls, self.made, self.printed, self.errors = {}, {}, {}, {}, {}

    def add(self, conversation):
        name, made = text(conversation.get("conversation_id")), []
        for place, (user, assistant, request) in enumerate(turns(conversation) if name else ()):
            content = mapping(user.get("content"))
            at = user.get("timestamp") or request.get("request_start_timestamp_ms") or place
            for kind in ("Prompt", "CancelledToolUses", "ToolUseResults"):
                inner = mapping(content.get(kind))
                prompt = text(inner.get("prompt"))
                if prompt and FORBIDDEN in prompt:
                    last = [call for call in made if self.calls[call] == "pending"]
                    self.calls.update((call, "error") for call in last)
                if prompt:
                    is_programs = prompt.startswith(PROGRAMS) or FORBIDDEN in prompt
                    self.kinds[name, at, prompt] = "other" if is_programs else "prompt"
                for result in inner.get("tool_use_results") or ():
                    call = name, text(mapping(result).get("tool_use_id"))
                    if call[1] and self.calls.get(call, "pending") == "pending":
                        self.calls[call] = ended(result)
                        self.printed[call] = [one for part in result.get("content") or () for one in mapping(part).values()]
            made = []
            for kind in ("Response", "ToolUse"):
                if isinstance(assistant.get(kind), dict):
                    reply = assistant[kind]
                    identity = text(reply.get("message_id")) or text(request.get("request_id")) or place
                    self.kinds[name, identity, "reply"] = "reply"
                    for call in reply.get("tool_uses") or ():
                        made.append((name, text(mapping(call).get("id"))))
                        self.calls.setdefault(made[-1], "pending")
                        tool = text(mapping(call).get("orig_name")) or text(mapping(call).get("name"))
                        self.made.setdefault(made[-1], (tool, mapping(call).get("args")))

    def counted(self):
        changed, commands, codes = [], [], []
        for key, how in self.calls.items():
            tool, given = self.made.get(key, (None, None))
            parts = self.printed.get(key, ())
            command = mapping(given).get("command")
            if tool in SHELLS:
                told = [mapping(part).get("exit_status") for part in parts]
                codes.append(next((int(code) for code in told if code is not None), None))
                said = [part if isinstance(part, str) else "%s\n%s" % (mapping(part).get("stdout"), mapping(part).get("stderr"))
                        for part in parts]
                commands.append((command, "\n".join(said), how, codes[-1] is None))
            if how == "ok" and tool in SHELLS and isinstance(command, str):
                changed.append(edits.of_command(command))
            elif how == "ok" and tool in WRITES and command not in ("create", "append", "insert"):
                changed.append(edits.of_arguments(given))
        return rows.counted(self.kinds.values(), self.calls.values()) | edits.sums(changed) | shell.columns(commands) \
            | rows.measured("tool_calls.exit_code", codes) | rows.tally("messages.error_type", self.errors.values())


def show(calls, spoken):
    json.dump(total(calls) | spoken.counted(), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = [one for one in conversations(sys.argv[1], "amazon-q", WORDS) if text(one.get("conversation_id"))]
    spoken = Spoken()
    for conversation in found:
        spoken.add(conversation)
    show((call for conversation in found for call in requests(conversation)), spoken)
