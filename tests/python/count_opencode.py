#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that OpenCode recorded below a home folder, once each.

    count_opencode.py HOME

Databases (1.2 and later, 2.x, the Go program's), files in `storage`, and the older ones in `project`. Standard library only.

A call is a `step-finish` part, else a message with tokens or a cost. Copies in forks have new ids, and the moments, model,
tokens and cost of the original, or a cost of 0: they are counted in the session that began first.
"""
import json
import math
import os
import re
import sqlite3
import sys
import urllib.parse

import edits
import failures
import rows
import shell

KINDS = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens")


def load(data):
    if isinstance(data, str):
        data = data.encode()
    if data is None:
        return None
    text = data.decode("utf-8", "replace").lstrip("\ufeff").replace("\0", "")
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value


def load_object(data):
    value = load(data)
    return value if isinstance(value, dict) else None


def load_file(path):
    with open(path, "rb") as file:
        return load_object(file.read())


def number(value):
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def count(value):
    value = number(value)
    return None if value is None else max(0, int(value))


def child(value, key):
    value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def moment(value):
    """Milliseconds; seconds are told by their size."""
    value = number(value)
    if not value:
        return None
    return int(value * 1000) if value < 1e11 else int(value)


class Session:
    def __init__(self, name, version=None, created=None):
        self.name, self.version, self.created = name, version, created
        self.messages, self.slug = {}, None

    def order(self):
        return (self.created or 0, self.name)


class Home:
    def __init__(self):
        self.sessions = {}
        self.kinds, self.statuses = [], []  # the Go program's

    def session(self, name, version=None, created=None):
        session = self.sessions.setdefault(name, Session(name))
        session.version = session.version or version
        session.created = session.created or created
        return session


def add_message(session, name, data, parts):
    """Joins what several stores have of a message: its data, and its parts by their names."""
    known, known_parts = session.messages.setdefault(name, ({}, {}))
    for key, value in data.items():
        known.setdefault(key, value)
    for part, value in parts:
        known_parts.setdefault(part, value)


# ---------------------------------------------------------------- stores

def read_files(home, sessions, messages, parts_of):
    """`sessions`: folders of sessions' files; `messages`: folder with a folder a session."""
    for folder in sessions:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json") and not name.startswith("."):
                info = load_file(os.path.join(folder, name)) or {}
                home.session(name[:-5], info.get("version"), moment(child(info, "time").get("created")))
    for name in sorted(os.listdir(messages)) if os.path.isdir(messages) else []:
        folder = os.path.join(messages, name)
        session = home.session(name)
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".json"):
                continue
            # Of a torn message, its parts are left.
            data = load_file(os.path.join(folder, file)) or {}
            parts = []
            where = parts_of(name, file[:-5])
            for part in sorted(os.listdir(where)) if os.path.isdir(where) else []:
                if part.endswith(".json"):
                    value = load_file(os.path.join(where, part))
                    if value is not None:
                        parts.append((part[:-5], value))
            add_message(session, file[:-5], data, parts)


def read_storage(home, storage):
    folder = os.path.join(storage, "session")
    projects = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    read_files(home, projects, os.path.join(storage, "message"),
               lambda session, message: os.path.join(storage, "part", message))


def read_projects(home, projects):
    for name in sorted(os.listdir(projects)) if os.path.isdir(projects) else []:
        folder = os.path.join(projects, name, "storage", "session")
        info = os.path.join(folder, "info")
        read_files(home, [info] if os.path.isdir(info) else [], os.path.join(folder, "message"),
                   lambda session, message: os.path.join(folder, "part", session, message))


def read_database(home, path):
    uri = "file:" + urllib.parse.quote(os.path.abspath(path)) + "?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    connection.row_factory = sqlite3.Row
    connection.text_factory = bytes
    try:
        tables = {name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "sessions" in tables and "session" not in tables:
            return read_go(home, connection)
        events = {}
        if "session_message" in tables:
            for row in connection.execute("SELECT * FROM session_message ORDER BY session_id, time_created"):
                events.setdefault(row["session_id"].decode(), []).append(row)
            events = {name: rows for name, rows in events.items()
                      if any(row["type"] in (b"user", b"assistant") for row in rows)}
        copied = {}
        for table in ("session_v2", "session"):
            for row in connection.execute(f"SELECT * FROM {table}") if table in tables else []:
                keys = row.keys()
                version = row["version"].decode() if "version" in keys else None
                session = home.session(row["id"].decode(), version, moment(row["time_created"]))
                session.slug = row["slug"].decode() if "slug" in keys and row["slug"] else session.slug
                if "fork_boundary" in keys and row["fork_session_id"] is not None:
                    copied[row["id"].decode()] = row["fork_session_id"].decode(), row["fork_boundary"]
        parts = {}
        if "part" in tables:
            for row in connection.execute("SELECT id, message_id, data FROM part ORDER BY id"):
                value = load_object(row["data"])
                if value is not None:
                    parts.setdefault(row["message_id"], []).append((row["id"].decode(), value))
        for row in connection.execute("SELECT id, session_id, data FROM message") if "message" in tables else []:
            name = row["session_id"].decode()
            if name not in events:
                role = re.search(r'"role"\s*:\s*"(\w+)"', (row["data"] or b"").decode("utf-8", "replace"))
                data = load_object(row["data"]) or ({"role": role[1]} if role else {})
                add_message(home.session(name), row["id"].decode(), data, parts.get(row["id"], []))
        for name, rows in events.items():
            origin, boundary = copied.get(name, (None, None))
            for row in rows:
                if origin in home.sessions and boundary is not None and row["seq"] <= boundary:
                    continue
                data = load_object(row["data"])
                if row["type"] == b"assistant" and data is not None:
                    model = child(data, "model")
                    data = {"role": "assistant", "modelID": model.get("id"), "providerID": model.get("providerID"), "isEvent": True, **data}
                    add_message(home.session(name), row["id"].decode(), data, [])
                elif row["type"] in (b"user", b"shell") and data is not None:
                    data = {"role": row["type"].decode(), "isEvent": True, **data}
                    add_message(home.session(name), row["id"].decode(), data, [])
    finally:
        connection.close()


def read_go(home, connection):
    """Messages, and of the calls only a session's cost: a call without tokens."""
    kinds, statuses = go_messages(connection)
    home.kinds += kinds
    home.statuses += statuses
    for row in connection.execute("SELECT id, cost FROM sessions"):
        if row["cost"] and row["cost"] > 0:
            query = "SELECT model FROM messages WHERE session_id = ? AND role IN ('user', 'assistant') AND model != '' ORDER BY created_at"
            models = [model.decode() for (model,) in connection.execute(query, (row["id"].decode(),))]
            data = {"role": "assistant", "modelID": models[-1] if models else None, "cost": row["cost"], "time": {}}
            add_message(home.session(row["id"].decode()), "session", data, [])


# ---------------------------------------------------------------- what was billed

def billed(tokens, provider, version, is_event=False, writers=()):
    cache = child(tokens, "cache")
    i, o, r = count(tokens.get("input")), count(tokens.get("output")), count(tokens.get("reasoning"))
    cr, cw, total = count(cache.get("read")), count(cache.get("write")), count(tokens.get("total"))
    anthropic = isinstance(provider, str) and ("anthropic" in provider or "bedrock" in provider)
    base = (i or 0) + (o or 0) + (cr or 0) + (cw or 0)
    within = False
    if total is not None:
        within = total == base and total != base + (r or 0)
    elif not anthropic and not is_event:  # events have the reasoning beside the output
        within = (r or 0) <= (o or 0)
    output = (o or 0) + (0 if within else (r or 0))
    if total is None and not anthropic and provider not in writers and (cr or 0) <= (i or 0) and isinstance(version, str):
        head = version.split(".")
        if head[0] == "0" and len(head) > 1 and head[1].isdigit() and int(head[1]) <= 5:
            i = (i or 0) - (cr or 0)
    return (i or 0, cr or 0, cw or 0, 0, output)


def calls(session):
    """Each call of a session: name, fingerprint, cost, model, tokens."""
    writers = set()  # providers that wrote to a cache, which only Anthropic's protocol tells
    for name, (data, parts) in session.messages.items():
        meta = child(data, "metadata")
        first = child(meta, "assistant")
        if data.get("role") != "assistant" and not any(part.get("type") == "step-finish" for part in parts.values()):
            continue
        asked = child(data, "model")
        model = data.get("modelID") or first.get("modelID") or asked.get("modelID")
        provider = data.get("providerID") or first.get("providerID") or asked.get("providerID")
        times = child(data, "time") or child(meta, "time")
        created = moment(times.get("created"))
        steps = [(part, value) for part, value in sorted(parts.items()) if value.get("type") == "step-finish"]
        steps = [(part, value) for part, value in steps if isinstance(value.get("tokens"), dict) or (number(value.get("cost")) or 0) > 0]
        for tokens in [child(data, "tokens") or child(first, "tokens")] + [child(value, "tokens") for _, value in steps]:
            if (count(child(tokens, "cache").get("write")) or 0) > 0:
                writers.add(provider)
        told = [(part, billed(child(value, "tokens"), provider, session.version, writers=writers), number(value.get("cost"))) for part, value in steps]
        if not told:
            tokens = child(data, "tokens") or child(first, "tokens")
            cost = number(data.get("cost") if data.get("cost") is not None else first.get("cost"))
            numbers = billed(tokens, provider, session.version, data.get("isEvent") is True, writers)
            if sum(numbers) or (cost or 0) > 0:
                told = [(name, numbers, cost)]
        for place, (part, numbers, cost) in enumerate(told):
            print_of = (created, provider, model, place, numbers)
            effort = data.get("variant") or asked.get("variant")
            yield (name, part), print_of if created and sum(numbers) else None, cost, model, numbers, effort


def total(home):
    owners, result, efforts = {}, {}, []
    for session in sorted(home.sessions.values(), key=Session.order):
        for _, fingerprint, cost, model, numbers, effort in calls(session):
            if fingerprint is not None:
                earlier = owners.setdefault(fingerprint, [])
                if any(name != session.name and cost in (0, paid) for name, paid in earlier):
                    continue
                earlier.append((session.name, cost))
            row = result.setdefault(model if isinstance(model, str) else "null", dict.fromkeys(("responses",) + KINDS, 0))
            row["responses"] += 1
            for kind, value in zip(KINDS, numbers):
                row[kind] += value
            efforts.append(effort)
    return result | rows.tally("usage.reasoning_effort", efforts)


# ---------------------------------------------------------------- messages and tool calls

REJECTED = ("The user rejected permission to use this specific tool call", "The user dismissed this question",
            "Error: The user rejected permission to use this specific tool call")


def parts_of(data, parts):
    """The parts of a message in their order; the first versions and 2.x have them in the message."""
    inside = data.get("content") if data.get("isEvent") else data.get("parts")
    return [part for part in (inside if isinstance(inside, list) else []) if isinstance(part, dict)] + \
        [part for _, part in sorted(parts.items())]


def said(data, parts):
    """The text of a message that was sent."""
    texts = [part.get("text") for part in parts if part.get("type") == "text" and part.get("ignored") is not True]
    return "\n\n".join(text for text in [data.get("text"), *texts] if isinstance(text, str))


def kind(data, parts, before):
    """The kind of a message; `before` is the last prompt, if a compaction stands between."""
    types = [part.get("type") for part in parts]
    texts = [part for part in parts if part.get("type") == "text"]
    if data.get("role") not in (None, "assistant", "shell"):  # a role that is not known is the person's
        is_program = all(part.get("synthetic") is True for part in texts) if texts else "tool" in types
        is_again = before is not None and before == said(data, parts)
        return "other" if is_program or is_again or "compaction" in types or "subtask" in types else "prompt"
    if data.get("role") != "assistant" or data.get("summary") is True:
        return "other"
    error = child(data, "error") or child(child(data, "metadata"), "error")
    is_failed = error and not said(data, parts) and "tool" not in types
    return "other" if error.get("name") == "MessageAbortedError" or is_failed else "reply"


def errors(data, parts, one):
    """Why requests failed: those that were tried again, and the one that a message is the answer of."""
    told = [child(part, "error") for part in parts if part.get("type") == "retry"]
    error = child(data, "error") or child(child(data, "metadata"), "error")
    is_answer = data.get("role") == "assistant" and data.get("summary") is not True and one == "other"
    if is_answer and error and "bort" not in str(error.get("name") or error.get("type")):
        told.append(error)
    for error in told:
        inner = child(error, "data")
        words = inner.get("message") or error.get("message") or ""
        yield failures.reason(str(words), error.get("name") or error.get("type"), inner.get("statusCode"))


def shelled(part, how):
    """A command with its output, and how it ended."""
    state = child(part, "state")
    meta, given = child(state, "metadata") or child(state, "structured"), child(state, "input")
    if (part.get("tool") or part.get("name")) not in ("bash", "shell"):
        return None, "", how
    output = state.get("output") if isinstance(state.get("output"), str) else meta.get("output")
    if not isinstance(output, str):
        content = state.get("content") if isinstance(state.get("content"), list) else []
        output = "\n".join(str(one.get("text")) for one in content if isinstance(one, dict))
    return given.get("command"), output, how, how == "ok" and number(meta.get("exit")) is None


def status(part, is_aborted):
    """How the call of a part ended; a command that ran in an aborted answer was stopped with it."""
    state = part.get("state") if isinstance(part.get("state"), dict) else child(part, "toolInvocation")
    state = {"status": part["state"], **state} if isinstance(part.get("state"), str) else state
    meta = child(state, "metadata") or child(state, "structured")
    words = str(state.get("error") or child(state, "error").get("message") or "")
    if meta.get("interrupted") is True or "Tool execution aborted" in words:
        return "interrupted"
    if state.get("status") in ("completed", "result") or state.get("state") == "result":
        if "User aborted the command" in str(state.get("output")):
            return "interrupted"
        return "error" if number(meta.get("exit")) or part.get("tool") == "invalid" else "ok"
    if state.get("status") == "error":
        return "rejected" if any(start in words for start in REJECTED) else "error"
    return "interrupted" if is_aborted and state.get("status") == "running" else "pending"


def edited(part):
    """The lines that a call changed: of its files, its file or its diff, else by its arguments."""
    state = child(part, "state")
    meta, given, tool = child(state, "metadata") or child(state, "structured"), child(state, "input"), part.get("tool") or part.get("name")
    files = [one for one in meta.get("files") or () if isinstance(one, dict)] if isinstance(meta.get("files"), list) else []
    for told in (files, [child(meta, "filediff")]):
        counts = [(number(one.get("additions")), number(one.get("deletions"))) for one in told]
        if counts and all(None not in one for one in counts):
            return edits.total((int(added), int(removed)) for added, removed in counts)
    if isinstance(meta.get("diff"), str) and meta["diff"]:
        return edits.of_diff(meta["diff"])
    if tool in ("bash", "shell"):
        return edits.of_command(given["command"]) if isinstance(given.get("command"), str) else None
    return edits.of_arguments(given) if tool in ("edit", "multiedit", "patch", "apply_patch") else None


def go_messages(connection):
    """Kinds of messages and statuses of calls of the Go program."""
    kinds, calls = [], {}
    for row in connection.execute("SELECT * FROM messages ORDER BY session_id, created_at"):
        parts = load(row["parts"])
        if not isinstance(parts, list):
            continue
        parts = [part for part in parts if isinstance(part, dict)]
        is_canceled = any(child(part, "data").get("reason") == "canceled" for part in parts)
        kinds.append({b"user": "prompt", b"assistant": "other" if is_canceled else "reply"}.get(row["role"], "other"))
        for part in parts:
            data = child(part, "data")
            if part.get("type") == "tool_call":
                calls.setdefault((row["session_id"], data.get("id")), "pending")
            elif part.get("type") == "tool_result":
                is_refused = "permission denied" in str(data.get("content"))
                failed = data.get("is_error") is True
                calls[row["session_id"], data.get("tool_call_id")] = "rejected" if is_refused else "error" if failed else "ok"
    return kinds, list(calls.values())


def spoken(home, tasks=()):
    """Kinds of messages and statuses of calls. What a fork copied is its origin's; what Kilo Code moved here, its task's."""
    owners, kinds, statuses, changed = {}, list(home.kinds), list(home.statuses), []
    failed, modes, commands = [], [], []
    for session in sorted(home.sessions.values(), key=Session.order):
        before, compacted = None, False
        for name, (data, parts) in sorted(session.messages.items(), key=lambda item: moment(child(item[1][0], "time").get("created")) or 0):
            found = parts_of(data, parts)
            answers = {"step-start", "step-finish", "tool", "reasoning"} & {part.get("type") for part in found}
            data = {"role": "assistant" if answers else "user", **data} if found else data
            created = moment(child(data, "time").get("created"))
            model, cost = data.get("modelID") or child(data, "model").get("modelID"), number(data.get("cost"))
            earlier = owners.setdefault((created, data.get("role"), model, said(data, found)), [])
            is_copy = any(other != session.name and cost in (None, 0, paid) for other, paid in earlier)
            if created and is_copy or session.slug in tasks and model == "legacy":
                continue
            earlier.append((session.name, cost))
            one = kind(data, found, before if compacted else None)
            compacted = compacted or any(part.get("type") == "compaction" for part in found)
            if one == "prompt":
                before, compacted = said(data, found), False
            kinds.append(one)
            failed += errors(data, found, one)
            mode = data.get("agent") or data.get("mode")
            # What Kilo Code moved from its old tasks has the role in place of a mode.
            modes += [mode] if one == "prompt" and mode != "user" else []
            is_aborted = child(data, "error").get("name") == "MessageAbortedError"
            statuses += [status(part, is_aborted) for part in found if part.get("type") in ("tool", "tool-invocation")]
            changed += [edited(part) for part in found if part.get("type") == "tool" and status(part, is_aborted) == "ok"]
            commands += [shelled(part, status(part, is_aborted)) for part in found if part.get("type") == "tool"]
            if data.get("role") == "shell":
                statuses.append("ok")
                commands.append((data.get("command"), str(data.get("output") or ""), "ok", True))
    return rows.counted(kinds, statuses) | edits.sums(changed) | shell.columns(commands) \
        | rows.tally("messages.error_type", failed) | rows.tally("messages.permission_mode", modes)


def databases(root, programs):
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        if any(name == f"{program}.db" or (name.startswith(f"{program}-") and name.endswith(".db")) for program in programs):
            yield os.path.join(root, name)


def read_data(path, program):
    """What a program of that name keeps in its data folder."""
    home = Home()
    root = os.path.join(path, ".local", "share", program)
    for database in databases(root, (program, "opencode")):
        read_database(home, database)
    read_storage(home, os.path.join(root, "storage"))
    read_projects(home, os.path.join(root, "project"))
    return home


def read_home(path):
    home = read_data(path, "opencode")
    for folder, names, _ in os.walk(path):
        database = os.path.join(folder, ".opencode", "opencode.db")
        if os.path.isfile(database):
            read_database(home, database)
        depth = os.path.relpath(folder, path).count(os.sep) + 1 if folder != path else 0
        names[:] = [] if depth >= 3 else [name for name in names if not name.startswith(".")]
    return home


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = read_home(sys.argv[1])
    json.dump(total(found) | spoken(found), sys.stdout, indent=2)
    print()
