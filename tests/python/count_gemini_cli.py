#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Gemini CLI below a home folder, once each.

    count_gemini_cli.py HOME

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
    if isinstance(record.get("id"), (str, int)) or record.get("type") in ("user", *REPLIES):
        yield record
        return
    inner = record["$set"] if isinstance(record.get("$set"), dict) else record
    if inner is record and not record.get("sessionId"):
        return
    found = inner.get("messages")
    yield from (message for message in found if isinstance(message, dict)) if isinstance(found, list) else ()


def messages(path, parent):
    """The session of one chat, and its messages: {identity: all versions}."""
    stem, extension = os.path.splitext(os.path.basename(path))
    with open(path, "rb") as file:
        content = file.read()
    if extension == ".json":
        fields, is_whole = document(sound(content))
        records = [{**fields, "sessionId": fields.get("sessionId") or (stem if is_whole else None)}]
    else:
        records = list(records_of_lines(content))
    session = None
    found = collections.defaultdict(list)
    for record in records:
        for place in (record, record.get("$set") if isinstance(record.get("$set"), dict) else {}):
            if not session and not record.get("id") and isinstance(place.get("sessionId"), str):
                session = place["sessionId"] or None
        for message in messages_of(record):
            found[str(message.get("id") or "line %d" % len(found))].append(message)
    if extension == ".json" and not session:
        return None, {}
    session = session or stem
    if parent:
        session = parent + "/" + stem
    elif session.startswith("a2a-server"):
        session = stem
    return session, {identity if UUID.fullmatch(identity) else (session, identity): versions
                     for identity, versions in found.items()}


def response(versions):
    """(numbers, model) of a reply, or None. The last version with tokens tells them."""
    numbers, model = None, None
    for message in versions:
        if message.get("type") in (*REPLIES, "message_update"):
            numbers = billed(message.get("tokens")) or numbers
            if isinstance(message.get("model"), str) and message["model"]:
                model = message["model"]
    return (numbers, model) if numbers else None


# ---------------------------------------------------------------- messages and tool calls

SYNTHETIC = "Binary content received. Proceeding with analysis."
THANKS = "Got it. Thanks for the additional context!"
INJECTED = ("<session_context>", "<hook_context>", "/", "?", "I ran the following shell command:")
DENIED = ("Reason: User denied execution.", "Reason: User did not allow tool call")
STOPPED = ("Command was cancelled by user before it could start", "Command cancelled by user.")


def parts(content):
    """Text parts, and how many others there are."""
    found = content if isinstance(content, list) else [content]
    texts = [part if isinstance(part, str) else part["text"] for part in found
             if isinstance(part, str) or isinstance(part, dict) and isinstance(part.get("text"), str)]
    return texts, [part for part in found if isinstance(part, dict) and not isinstance(part.get("text"), str)]


def kind(versions):
    replies = [message for message in versions if message.get("type") in REPLIES]
    message = (replies or versions)[-1]
    texts, others = parts(message.get("displayContent") or message.get("content"))
    said = "".join(texts).strip()
    if message.get("type") == "user":
        is_result = others and not said and all("functionResponse" in part for part in others)
        is_injected = said.startswith(INJECTED) or "<state_snapshot>" in said
        return "prompt" if not is_result and not is_injected else "other"
    return "reply" if message.get("type") in REPLIES and said not in (SYNTHETIC, THANKS) else "other"


def error(versions):
    """Why a request to the model failed."""
    said = "".join(parts(versions[-1].get("content"))[0])
    return failures.reason(said) if versions[-1].get("type") == "error" and "[API Error" in said else None


def status(call):
    said = json.dumps([call.get("result"), call.get("resultDisplay")], ensure_ascii=False)
    if call.get("status") == "cancelled":
        return "rejected" if any(words in said for words in DENIED) else "interrupted"
    if call.get("status") == "error":
        return "error"
    if call.get("status") != "success":
        return "pending"
    if any(words in said for words in STOPPED):
        return "interrupted"
    failed = re.search(r"^Exit Code: (?!0\b)|^Signal: [1-9]", shown(call), re.M)
    return "error" if call.get("name") == "run_shell_command" and failed else "ok"


def shown(call):
    """What a call gave back: the answer to the model, else what was displayed."""
    result = call.get("result")
    answers = [part["functionResponse"].get("response") for part in result if isinstance(part, dict)
               and isinstance(part.get("functionResponse"), dict)] if isinstance(result, list) else []
    said = [one.get("output") or one.get("error") for one in answers if isinstance(one, dict)]
    said = [one for one in said if isinstance(one, str)] or parts(result)[0]
    display = call.get("resultDisplay")
    return "\n".join(said) or (display if isinstance(display, str) else "")


def exit_code(call):
    """The exit code of a command: since 2026 it is written only if it is not 0."""
    if call.get("name") != "run_shell_command" or status(call) not in ("ok", "error") or call.get("status") != "success":
        return None
    said = shown(call)
    code = re.search(r"^Exit Code: (-?\d+|\(none\))", said, re.M)
    if code:
        return int(code[1]) if code[1] != "(none)" else None
    return None if re.search(r"^Signal: \d|moved to background", said, re.M) else 0


def shell_call(call):
    """(command, output, status, whether the exit code is unknown) of a command, without the names of the output's parts."""
    given, code = call.get("args"), exit_code(call)
    output = re.sub(r"^(Output|Stdout|Stderr): ", "", shown(call), flags=re.M)
    return given.get("command") if isinstance(given, dict) else None, output, status(call), code is None


def edited(call):
    """The lines that a call changed: as shown, else by its arguments."""
    display, given = call.get("resultDisplay"), call.get("args")
    given = given if isinstance(given, dict) else {}
    if call.get("name") == "run_shell_command":
        return edits.of_command(given["command"]) if isinstance(given.get("command"), str) else None
    if call.get("name") not in ("replace", "edit", "write_file"):
        return None
    display = display if isinstance(display, dict) else {}
    counts = display.get("diffStat") if isinstance(display.get("diffStat"), dict) else {}
    added, removed = (counts.get("model_%s_lines" % what, counts.get("ai_%s_lines" % what)) for what in ("added", "removed"))
    if added is not None and removed is not None:
        return added + counts.get("user_added_lines", 0), removed + counts.get("user_removed_lines", 0)
    if isinstance(display.get("fileDiff"), str) and display["fileDiff"]:
        return edits.of_diff(display["fileDiff"])
    return edits.of_arguments(given) if call.get("name") != "write_file" else None


def typed_alone(home, sessions):
    """Typed prompts whose session left no chat, in the form of messages."""
    for path in sorted(glob.glob(os.path.join(glob.escape(home), ".gemini/tmp/*/logs.json"))):
        with open(path, "rb") as file:
            typed = lines.JSON.decode(sound(file.read()))
        for entry in typed if isinstance(typed, list) else ():
            if isinstance(entry, dict) and entry.get("type") == "user" and entry.get("sessionId") not in sessions:
                if isinstance(entry.get("message"), str):
                    yield {"type": "user", "content": entry["message"]}


def total(home):
    copies, ended, sessions = collections.defaultdict(list), collections.defaultdict(list), set()
    for path, parent in sorted(chats(home), key=lambda chat: (not chat[0].endswith(".jsonl"), chat[0])):
        session, found = messages(path, parent)
        sessions.add(session)
        for identity, versions in found.items():
            copies[identity].append(versions)
            for message in versions:
                of_message = message.get("toolCalls")
                for call in of_message if isinstance(of_message, list) else ():
                    if isinstance(call, dict):
                        ended[session, call.get("id") or identity].append((status(call), call))
    models = collections.defaultdict(collections.Counter)
    for identity, found in copies.items():
        told = [one for one in map(response, found) if one]
        if told:
            numbers = max((numbers for numbers, _ in told), key=lambda numbers: numbers["output_tokens"])
            models[told[0][1] or "null"].update({"responses": 1, **numbers})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    by_model = {model: {name: models[model][name] for name in order} for model in sorted(models)}
    kinds = [kind(found[0]) for found in copies.values()] + [kind([entry]) for entry in typed_alone(home, sessions)]
    calls = [next((one for one in reversed(told) if one[0] != "pending"), ("pending", told[-1][1])) for told in ended.values()]
    commands = [call for _, call in calls if call.get("name") == "run_shell_command"]
    return by_model | rows.counted(kinds, [how for how, _ in calls]) \
        | edits.sums(edited(call) for how, call in calls if how == "ok") \
        | shell.columns(map(shell_call, commands)) | rows.measured("tool_calls.exit_code", map(exit_code, commands)) \
        | rows.tally("messages.error_type", [error(found[0]) for found in copies.values()])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.setrecursionlimit(10**6)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
