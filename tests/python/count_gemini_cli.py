#!/usr/bin/env python3
"""Count the tokens of every Gemini CLI response below a home folder, once each.

    count_gemini_cli.py HOME

An independent judge of llrem's `usage` table: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}}; a missing model is called "null".
"""
import collections
import json
import math
import os
import re
import sys

import lines

START = re.compile(r'\{"(?:id|\$set|sessionId|\$rewindTo)"')  # how a record begins
LARGEST = 2**53 - 1  # Gemini CLI is JavaScript: no whole number beyond this is exact
UUID = re.compile(r"\{?[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?")
REPLIES = ("gemini", "model", "assistant")


# ---------------------------------------------------------------- files

def chats(home):
    """Chats, and those of subagents: (path, session that started it or None)."""
    root = os.path.join(home, ".gemini", "tmp")
    for project in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        top = os.path.join(root, project, "chats")
        for folder, _, names in os.walk(top):
            parent = os.path.relpath(folder, top).replace(os.sep, "/")
            for name in sorted(names):
                if not name.endswith((".json", ".jsonl")):
                    continue
                if parent != "." or name.startswith("session-"):
                    yield os.path.join(folder, name), None if parent == "." else parent


# ---------------------------------------------------------------- records

def sound(content):
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"")
    return content.decode("utf-8", "replace")


def records_of_lines(content):
    for line in content.split(b"\n"):
        for value in lines.objects(sound(line), START):
            if isinstance(value, dict):
                yield value


def document(text):
    """A document, torn or not: its fields and messages before the tear, and whether it is whole."""
    try:
        whole = lines.JSON.decode(text)
        return (whole if isinstance(whole, dict) else {}), True
    except ValueError:
        pass
    fields = {}
    session = re.search(r'"sessionId"\s*:\s*("(?:[^"\\]|\\.)*")', text)
    opening = re.search(r'"messages"\s*:\s*\[', text)
    if session:
        fields["sessionId"] = lines.JSON.decode(session.group(1))
    messages = fields["messages"] = []
    rest = text[opening.end():] if opening else ""
    while rest.strip():
        try:
            message, end = lines.JSON.raw_decode(rest.lstrip())
        except ValueError:
            break
        messages.append(message)
        rest = rest.lstrip()[end:].lstrip()
        if not rest.startswith(","):
            break
        rest = rest[1:]
    return fields, False


# ---------------------------------------------------------------- tokens

def count(value):
    """A whole number up to LARGEST, also as 12.0 or "12", never below 0; anything else is None."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return max(0, int(value)) if abs(value) <= LARGEST else None


def billed(tokens):
    """The page's "usage": cached is inside input, thoughts and tool are beside output and input."""
    if not isinstance(tokens, dict):
        return None
    i, c, o, th, tu = (count(tokens.get(name)) or 0 for name in ("input", "cached", "output", "thoughts", "tool"))
    total = count(tokens.get("total"))
    if c > 0 and total == i + c + o + th + tu:
        uncached = i
    else:
        c = min(c, i)
        uncached = i - c
    numbers = {"input_tokens": uncached + tu, "cache_read_tokens": c, "cache_write_5m_tokens": 0,
               "cache_write_1h_tokens": 0, "output_tokens": o + th}
    return numbers if any(numbers.values()) else None


# ---------------------------------------------------------------- chats

def messages_of(record):
    """Every version of a message that a record holds."""
    if isinstance(record.get("$rewindTo"), str):
        return
    if isinstance(record.get("id"), (str, int)) or record.get("type") in REPLIES:
        yield record
        return
    inner = record["$set"] if isinstance(record.get("$set"), dict) else record
    if inner is record and not record.get("sessionId"):
        return
    found = inner.get("messages")
    yield from (message for message in found if isinstance(message, dict)) if isinstance(found, list) else ()


def responses(path, parent):
    """The responses of one chat: {identity: (numbers, model)}. The last version with tokens tells them."""
    stem, extension = os.path.splitext(os.path.basename(path))
    with open(path, "rb") as file:
        content = file.read()
    if extension == ".json":
        fields, is_whole = document(sound(content))
        records = [{**fields, "sessionId": fields.get("sessionId") or (stem if is_whole else None)}]
    else:
        records = list(records_of_lines(content))
    session = None
    found = {}
    for record in records:
        for place in (record, record.get("$set") if isinstance(record.get("$set"), dict) else {}):
            if not session and not record.get("id") and isinstance(place.get("sessionId"), str):
                session = place["sessionId"] or None
        for message in messages_of(record):
            is_reply = message.get("type") in REPLIES or message.get("type") == "message_update"
            identity = message.get("id")
            if not is_reply or not identity:
                continue
            numbers, model = found.get(str(identity), (None, None))
            if isinstance(message.get("model"), str) and message["model"]:
                model = message["model"]
            found[str(identity)] = (billed(message.get("tokens")) or numbers, model)
    if extension == ".json" and not session:
        return {}
    session = session or stem
    if parent:
        session = parent + "/" + stem
    elif session.startswith("a2a-server"):
        session = stem
    return {identity if UUID.fullmatch(identity) else (session, identity): told
            for identity, told in found.items() if told[0]}


def total(home):
    copies = collections.defaultdict(list)
    for path, parent in sorted(chats(home), key=lambda chat: (not chat[0].endswith(".jsonl"), chat[0])):
        for identity, told in responses(path, parent).items():
            copies[identity].append(told)
    models = collections.defaultdict(collections.Counter)
    for told in copies.values():
        numbers = max((numbers for numbers, _ in told), key=lambda numbers: numbers["output_tokens"])
        model = told[0][1] or "null"
        models[model].update({"responses": 1, **numbers})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.setrecursionlimit(10**6)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
