#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Claude Code below a home folder, once each.

    count_claude_code.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import concurrent.futures
import itertools
import json
import math
import os
import re
import sqlite3
import sys
import threading
import urllib.parse

import edits
import failures
import lines
import rows
import shell

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
START = re.compile(r'\{"(?:parentUuid|type|uuid)"')  # how a record begins
LARGEST = 2**53 - 1  # Claude Code is JavaScript: no whole number beyond this is exact


# ---------------------------------------------------------------- files

def transcripts(root):
    """Session files, and agent files in both layouts. Not: directories, tool results, backups, sidecars."""
    projects = os.path.join(root, "projects")
    for folder, _, names in os.walk(projects):
        inside = os.path.relpath(folder, projects).split(os.sep)
        for name in names:
            stem, extension = os.path.splitext(name)
            if extension != ".jsonl":
                continue
            is_agent = stem.startswith("agent-")
            path = os.path.join(folder, name)
            beside = len(inside) == 1 and inside[0] != "."
            below = "subagents" in inside and is_agent
            if below or beside and (is_agent or UUID.fullmatch(stem) or stem != "resume-head" and has_messages(path)):
                yield path


def has_messages(path):
    """Whether one of the first lines is a message: a session whose name is not a UUID."""
    return any({"sessionId", "uuid", "parentUuid"} <= record.keys() for record in itertools.islice(records_of(path), 50))


# ---------------------------------------------------------------- lines

def records_of(path):
    with open(path, "rb") as file:
        content = file.read()
    for line in content.split(b"\n"):
        line = line.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
        for value in lines.objects(line.decode("utf-8", "replace").strip(), START):
            if isinstance(value, dict):
                yield value


# ---------------------------------------------------------------- values

def text(value):
    """A non-empty string, lone surrogates replaced; else None."""
    if isinstance(value, str) and value:
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    return None


def count(value):
    """A whole number from 0 to LARGEST, also as 12.0 or "12"; anything else is None."""
    if isinstance(value, str):
        try:
            value = float(value) if re.search("[.eE]", value) else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= LARGEST else None


def tokens(usage):
    """The page's "usage: exact arithmetic"."""
    split = usage.get("cache_creation")
    has_split = isinstance(split, dict)
    five = has_split and count(split.get("ephemeral_5m_input_tokens")) or 0
    hour = has_split and count(split.get("ephemeral_1h_input_tokens")) or 0
    written = count(usage.get("cache_creation_input_tokens"))
    if written is None:
        written = five + hour
    return {
        "input_tokens": count(usage.get("input_tokens")) or 0,
        "cache_read_tokens": count(usage.get("cache_read_input_tokens")) or 0,
        "cache_write_5m_tokens": five if has_split and five + hour == written else max(0, written - hour),
        "cache_write_1h_tokens": hour,
        "output_tokens": count(usage.get("output_tokens")) or 0,
    }


# ---------------------------------------------------------------- responses

class Line:
    """One assistant line that has tokens."""

    def __init__(self, record, message, usage):
        self.tokens = tokens(usage)
        self.model = text(message.get("model"))
        self.request = text(record.get("requestId"))
        self.sidechain = record.get("isSidechain") is True
        self.told = {"usage.reasoning_effort": text(record.get("effort")), "usage.skill": text(record.get("attributionSkill")),
                     "usage.requested_model": text(record.get("requestedModel")), "usage.cache_miss_reason": text(missed(message).get("type")),
                     "usage.cache_missed_tokens": count(missed(message).get("cache_missed_input_tokens"))}
        self.stopped = text(message.get("stop_reason")) is not None
        self.advisor = advisor(record, usage)


def missed(message):
    """Why cached input was not used."""
    diagnostics = message.get("diagnostics")
    reason = diagnostics.get("cache_miss_reason") if isinstance(diagnostics, dict) else None
    return reason if isinstance(reason, dict) else {}


def advisor(record, usage):
    """The separate charge of an advisor model: (model, tokens) or None."""
    iterations = usage.get("iterations")
    found = [i for i in iterations if isinstance(i, dict) and i.get("type") == "advisor_message"] \
        if isinstance(iterations, list) else []
    if not found:
        return None
    total = collections.Counter()
    for iteration in found:
        total.update(tokens(iteration))
    return text(record.get("advisorModel")) or text(found[0].get("model")), total


def told_by(record):
    """The line of a subagent that a progress line repeats, if it does."""
    data = record.get("data")
    if record.get("type") != "progress" or not isinstance(data, dict) or data.get("type") != "agent_progress":
        return None
    line = data.get("message")
    message = line.get("message") if isinstance(line, dict) and text(data.get("agentId")) else None
    return line if isinstance(message, dict) and text(message.get("id")) else None


def billed(record):
    """The Line of a record, or None if nobody paid for it."""
    message = record.get("message")
    if record.get("type") != "assistant" or not isinstance(message, dict):
        return None
    if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage") is True:
        return None
    if not isinstance(message.get("usage"), dict):
        return None
    line = Line(record, message, message["usage"])
    return line if any(line.tokens.values()) else None


def identity(record):
    """message.id; without one the line's uuid; without both every line is its own.

    requestId does not tell responses apart: the same message.id under two request ids is one response
    (both in the main thread) or a replay in a side question; see `best`.
    """
    message = record.get("message")
    message_id = text(message.get("id")) if isinstance(message, dict) else None
    if message_id:
        return "message", message_id
    uuid = text(record.get("uuid"))
    return ("uuid", uuid) if uuid else ("nameless", id(record))


def best(copies):
    """The line that tells the response's numbers: greatest output, then one with a stop reason, then the last."""
    main = {line.request for line in copies if not line.sidechain and line.request}
    if main:  # a side question replays the parent's answers under requests of its own
        copies = [line for line in copies if not line.sidechain or not line.request or line.request in main]
    return max(enumerate(copies), key=lambda item: (item[1].tokens["output_tokens"], item[1].stopped, item[0]))[1]


# ---------------------------------------------------------------- messages

INJECTED = ("Caveat: The messages below were generated by the user while running local commands", "<local-command-caveat>",
            "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<bash-input>",
            "<bash-stdout>", "<bash-stderr>", "<task-notification>", "<user-memory-input>", "[Request interrupted by user")
TEAMMATE = "<teammate-message"  # a prompt only in a subagent's own file


def blocks(record):
    """The content of a record's message as a list of blocks."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def is_typed(queued):
    """True if the person wrote what waited until the agent was free."""
    origin, said = queued.get("origin"), queued.get("prompt")
    if queued.get("commandMode") == "task-notification" or queued.get("isMeta") is True:
        return False
    if isinstance(origin, dict) and origin.get("kind", "human") != "human":
        return False
    return not (isinstance(said, str) and said.lstrip().startswith((*INJECTED, TEAMMATE)))


def is_prompt(record):
    attachment = record.get("attachment")
    if record.get("type") == "attachment" and isinstance(attachment, dict):
        return attachment.get("type") == "queued_command" and is_typed(attachment)
    if record.get("type") != "user" or any(record.get(flag) is True for flag in
                                           ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")):
        return False
    origin = record.get("origin")
    if isinstance(origin, dict) and origin.get("kind", "human") != "human":
        return False
    found = blocks(record)
    if any(block.get("type") == "tool_result" for block in found):
        return False
    said = [block.get("text") or "" for block in found if block.get("type") == "text"]
    typed = [words for words in said if not words.lstrip().startswith("<system-reminder>")]
    opening = INJECTED if record.get("isSidechain") is True else (*INJECTED, TEAMMATE)
    is_injected = "".join(typed).lstrip().startswith(opening) or (said and not typed and len(found) == len(said))
    within = record.get("isSidechain") is True and not text(record.get("agentId"))  # a task, in the session's own file
    return not is_injected and not within


def is_reply(record):
    message = record.get("message")
    return record.get("type") == "assistant" and isinstance(message, dict) and \
        message.get("model") != "<synthetic>" and record.get("isApiErrorMessage") is not True


def kinds(records):
    """The kind of each message: lines with one uuid are one prompt, lines of one response are one reply. A side question's
    replay of a reply is a reply of its own: its lines have uuids of their own."""
    prompts, replies, seen = set(), set(), set()
    for record in records:
        if is_prompt(record):
            prompts.add(text(record.get("uuid")) or id(record))
        elif is_reply(record):
            line = text(record.get("uuid"))
            if line is None or line not in seen:
                replies.add((identity(record), record.get("isSidechain") is True))
            seen.add(line)
    return ["prompt"] * len(prompts) + ["reply"] * len(replies)


def modes(records):
    """The permission mode of each prompt."""
    found = {}
    for record in records:
        if is_prompt(record):
            found.setdefault(text(record.get("uuid")) or id(record), text(record.get("permissionMode")))
    return found


def errors(records):
    """Why each request failed: those that were tried again, and those that the session shows."""
    found = {}
    for record in records:
        said = "\n".join(block.get("text") or "" for block in blocks(record))
        name, status = record.get("error"), record.get("apiErrorStatus")
        if record.get("type") == "system" and record.get("subtype") == "api_error":
            name = name if isinstance(name, dict) else {}
            said, status, name = json.dumps(name), name.get("status"), None
        elif record.get("type") != "assistant" or record.get("isApiErrorMessage") is not True:
            continue
        found.setdefault(text(record.get("uuid")) or id(record), failures.reason(said, name, status))
    return found


def times(records):
    """The recorded durations of turns, compactions and slowest hooks. Milliseconds."""
    found = {}
    for record in records:
        if record.get("type") == "system":
            compaction, hooks = record.get("compactMetadata"), record.get("hookInfos")
            told = [record, compaction] + [hook for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) \
                else [record, compaction]
            known = [count(one.get("durationMs")) for one in told if isinstance(one, dict)]
            found.setdefault(text(record.get("uuid")) or id(record), max((one for one in known if one is not None), default=None))
    return found


# ---------------------------------------------------------------- tool calls

UNKNOWN = "[Tool call result not in this copy:"
NOT_RUN = ("[Tool call interrupted:", "[Agent call interrupted:", "[Tool call skipped:", "[Tool call not completed:",
           "[Request interrupted by user for tool use]", "The user doesn't want to take this action right now.",
           "<tool_use_error>Sibling tool call errored", "<tool_use_error>Cancelled: parallel tool call")
NOBODY = re.compile("Claude requested permissions to |This .* command .*requires approval")
DENIALS = {"user-rejected": "rejected", "interrupted": "interrupted", "cancelled": "interrupted"}


def status(record, result):
    """How the call of a result ended."""
    content = result.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    said = "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
    structured = record.get("toolUseResult")
    if text(record.get("toolDenialKind")):
        return DENIALS.get(record["toolDenialKind"], "error")
    if said.startswith("The user doesn't want to proceed with this tool use."):
        return "interrupted" if "this call was stopped while running" in said else "rejected"
    if said.startswith("The agent proposed a plan that was rejected by the user") or NOBODY.match(said):
        return "rejected"
    if said.startswith(UNKNOWN):
        return "pending"
    if said.startswith(NOT_RUN) or (isinstance(structured, dict) and structured.get("interrupted") is True):
        return "interrupted"
    return "error" if result.get("is_error") is True else "ok"


class Calls:
    """Tool calls of all files. An id of Anthropic's is a call's everywhere; another's, only in its line."""

    def __init__(self):
        self.ended, self.results, self.asked, self.told, self.outputs = {}, {}, {}, {}, {}

    def add(self, transcript):
        own = {}  # where the calls with an id stand in this file
        for place, record in enumerate(transcript):
            if record.get("type") != "assistant":
                continue
            for index, block in enumerate(blocks(record)):
                if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
                    name = text(block.get("id")) or ""
                    line = text(record.get("uuid")) or id(record)
                    key = name if name.startswith(("toolu_", "srvtoolu_")) else (line, index)
                    self.ended.setdefault(key, "pending")
                    self.asked.setdefault(key, (text(block.get("name")), block.get("input")))
                    own.setdefault(name, []).append((place, key))
        for place, record in enumerate(transcript):
            for index, block in enumerate(blocks(record)):
                if (block.get("type") or "").endswith("tool_result"):
                    name = text(block.get("tool_use_id"))
                    calls = own.get(name, []) if name else []
                    before = [key for at, key in calls if at <= place] or [key for _, key in calls[:1]]
                    key = before[-1] if before else name or (text(record.get("uuid")) or id(record), index)
                    self.results.setdefault(key, status(record, block))
                    content = block.get("content")
                    content = content if isinstance(content, list) else [{"text": content}]
                    self.outputs.setdefault(key, "\n".join(str(one.get("text")) for one in content if isinstance(one, dict)))
                    alone = sum((one.get("type") or "") == "tool_result" for one in blocks(record)) == 1
                    self.told.setdefault(key, record.get("toolUseResult") if alone else None)

    def statuses(self):
        return (self.ended | self.results).values()

    def shells(self):
        """Commands with their output, and how they ended."""
        for key, how in (self.ended | self.results).items():
            tool, given = self.asked.get(key, (None, None))
            output = self.outputs.get(key, "")
            told = self.told.get(key)
            is_open = isinstance(told, dict) and bool(told.get("backgroundTaskId"))
            if tool in ("Bash", "PowerShell") and isinstance(given, dict):
                yield given.get("command"), output, how, is_open

    def lines(self):
        """Lines added and removed by the calls that ended well."""
        for key, how in (self.ended | self.results).items():
            if how == "ok":
                yield patched(self.told.get(key)) or asked_for(*self.asked.get(key, (None, None)))


def patched(told):
    """The lines of a recorded patch; that of a new file is empty."""
    patch = told.get("structuredPatch") if isinstance(told, dict) else None
    if not isinstance(patch, list):
        return None
    if told.get("type") == "create" and not patch and isinstance(told.get("content"), str):
        return len(told["content"].splitlines()), 0
    return edits.marked([line for hunk in patch if isinstance(hunk, dict) for line in hunk.get("lines") or []])


def asked_for(tool, given):
    """The lines of what was asked for."""
    if tool == "Bash" and isinstance(given, dict) and isinstance(given.get("command"), str):
        return edits.of_command(given["command"])
    return edits.of_arguments(given) if tool in ("Edit", "MultiEdit") else None


# ---------------------------------------------------------------- the old database

def stored(path):
    """Messages of __store.db in the form of transcript lines."""
    uri = "file:" + urllib.parse.quote(os.path.abspath(path)) + "?mode=ro&immutable=1"
    database = sqlite3.connect(uri, uri=True)
    database.row_factory = sqlite3.Row
    try:
        for kind in ("assistant", "user"):
            for row in database.execute("SELECT * FROM %s_messages ORDER BY rowid" % kind):
                row = dict(row)
                try:
                    message = lines.JSON.decode(row.get("message") or "")
                except ValueError:
                    continue
                if isinstance(message, dict):
                    if kind == "assistant":
                        message.setdefault("model", row.get("model"))
                    yield {"type": kind, "uuid": row.get("uuid"), "message": message, "isMeta": bool(row.get("is_meta")),
                           "isApiErrorMessage": bool(row.get("is_api_error_message"))}
    finally:
        database.close()


# ---------------------------------------------------------------- all together

def typed_alone(root, records):
    """Typed prompts whose session left no transcript."""
    sessions = {text(record.get("sessionId")) for record in records}
    known = {block.get("text") for record in records if is_prompt(record) for block in blocks(record)}
    path = os.path.join(root, "history.jsonl")
    for record in records_of(path) if os.path.isfile(path) else ():
        shown, session = text(record.get("display")), text(record.get("sessionId"))
        if shown and not shown.startswith("/") and (session not in sessions if session else shown not in known):
            yield "prompt"


def total(roots):
    keep = []  # keeps every record alive, so that id() stays unique
    responses = collections.defaultdict(list)
    in_files = set()
    written, calls, entrypoints = [], Calls(), {}
    for root in roots:
        for path in sorted(transcripts(root)):
            transcript = list(records_of(path))
            calls.add(transcript)
            written += transcript
            if any(record.get("type") in ("user", "assistant") for record in transcript):
                known = (text(record.get("entrypoint")) for record in transcript)
                entrypoints.setdefault(os.path.basename(path), next((one for one in known if one), None))
            for record in transcript:
                record = told_by(record) or record
                keep.append(record)
                in_files.add(identity(record))
                line = billed(record)
                if line:
                    responses[identity(record)].append(line)
    for root in roots:
        path = os.path.join(root, "__store.db")
        if os.path.isfile(path):
            old = list(stored(path))
            keep += old
            mine = [record for record in old if identity(record) not in in_files]
            calls.add(mine)
            written += mine
            for record in mine:
                line = billed(record)
                if line:
                    responses[identity(record)].append(line)
    found = kinds(written) + [kind for root in roots for kind in typed_alone(root, written)]

    models = collections.defaultdict(collections.Counter)

    def add(model, numbers):
        if any(numbers.values()):
            models[model or "null"].update({"responses": 1, **numbers})

    for copies in responses.values():
        line = best(copies)
        add(line.model, line.tokens)
        if line.advisor:
            add(*line.advisor)
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    by_model = {model: {name: models[model][name] for name in order} for model in sorted(models)}
    told = {}
    for column in ("usage.reasoning_effort", "usage.skill", "usage.requested_model", "usage.cache_miss_reason"):
        known = [next((line.told[column] for line in copies if line.told[column]), None) for copies in responses.values()]
        told |= rows.tally(column, known)
    known = [next((line.told["usage.cache_missed_tokens"] for line in copies), None) for copies in responses.values()]
    told |= rows.measured("usage.cache_missed_tokens", known)
    told |= rows.tally("sessions.entrypoint", entrypoints.values())
    told |= rows.tally("messages.error_type", errors(written).values())
    told |= rows.tally("messages.permission_mode", modes(written).values())
    told |= rows.measured("messages.duration_ms", times(written).values())
    return by_model | rows.counted(found, calls.statuses()) | edits.sums(calls.lines()) | told \
        | shell.columns(calls.shells())


def show(make):
    """Prints what is made of a home. Lines may be nested 100,000 deep."""
    def main():
        json.dump(make(sys.argv[1]), sys.stdout, indent=2)
        print()
    sys.setrecursionlimit(10**6)
    threading.stack_size(1 << 30)
    with concurrent.futures.ThreadPoolExecutor(1) as big_stack:
        big_stack.submit(main).result()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    show(lambda home: total([os.path.join(home, ".claude"), os.path.join(home, ".config", "claude")]))
