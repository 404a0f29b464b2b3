#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that OpenClaw recorded below a home folder, once each.

    count_openclaw.py HOME

Files, archives of files and databases; the lines are pi's: see count_pi.py. Standard library only: Zstandard is unpacked
by Python 3.14's module, by the `zstd` program, or, where frames hold nothing compressed, right here.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.parse

import count_pi

ROOTS = re.compile(r"\.(openclaw(-.+)?|clawdbot|moldbot|moltbot|kimi_openclaw)")
ENDINGS = re.compile(r"\.jsonl(|\.zst|\.(reset|deleted|bak)\..+|\.full\.bak|\.imported-.+)")


# ---------------------------------------------------------------- Zstandard

def plain_frame(data):
    """What a frame of raw and repeated blocks holds; what is cut off is missing. None for any other frame."""
    if data[:4] != b"\x28\xb5\x2f\xfd":
        return None
    descriptor = data[4]
    single = descriptor >> 5 & 1
    sizes = (1 if single else 0, 2, 4, 8)
    at = 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + sizes[descriptor >> 6]
    out = b""
    while at + 3 <= len(data):
        header = int.from_bytes(data[at:at + 3], "little")
        at += 3
        kind, size = header >> 1 & 3, header >> 3
        if kind == 0:
            out += data[at:at + size]
            at += size
        elif kind == 1:
            out += data[at:at + 1] * size
            at += 1
        else:
            return None
        if header & 1:
            break
    return out


def unpack(data):
    plain = plain_frame(data)
    if plain is not None:
        return plain
    if data[:4] != b"\x28\xb5\x2f\xfd":
        return b""
    try:
        from compression import zstd
        return zstd.decompress(data)
    except ImportError:
        return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=False).stdout


# ---------------------------------------------------------------- what a model wrote, and OpenClaw paid for

def billed(message):
    """Not: what was delivered and written down again, and runs of other agents' programs that have a session nobody names.
    What has a session which is named counts here, because no other agent's files are read."""
    if message.get("api") == "openclaw-transcript":
        return False
    if message.get("provider") == "openclaw" and message.get("model") in ("delivery-mirror", "gateway-injected"):
        return False
    key = message.get("idempotencyKey")
    if isinstance(key, str) and key.startswith("codex-app-server:"):
        return True
    return message.get("provider") not in ("claude-cli", "codex-cli") or message["provider"] in message.get("bound", ())


def bound(listed):
    """Programs that have a session for the one that is listed."""
    found = {"claude-cli"} if listed.get("claudeCliSessionId") else set()
    for key in ("cliSessionBindings", "cliSessionIds"):
        one = listed.get(key) if isinstance(listed.get(key), dict) else {}
        found |= {program for program, session in one.items() if session}
    return found


def marked(transcript, programs):
    for entry in transcript:
        if isinstance(entry.get("message"), dict):
            entry["message"]["bound"] = programs
    return transcript


# ---------------------------------------------------------------- places

def files(folder):
    """Transcripts and archives in a folder, as lists of entries."""
    try:
        with open(os.path.join(folder, "sessions.json"), "rb") as file:
            listed = json.load(file)
    except (OSError, ValueError):
        listed = {}
    programs = {one.get("sessionId"): bound(one) for one in listed.values() if isinstance(one, dict)}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        stem, dot, _ = name.partition(".jsonl")
        if not dot or not ENDINGS.fullmatch(name[len(stem):]) or ".checkpoint." in stem or stem.endswith(".trajectory"):
            continue
        with open(path, "rb") as file:
            data = file.read()
        found = list(count_pi.entries(unpack(data) if name.endswith(".zst") else data))
        header = next((entry.get("id") for entry in found if entry.get("type") == "session"), stem)
        yield marked(found, programs.get(header, ()))


def cold(folder):
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), "rb") as file:
            rows = [json.loads(line) for line in unpack(file.read()).splitlines() if line.strip()]
        yield [json.loads(row["row"]["event_json"]) for row in rows if row.get("kind") == "event"]


def database(path):
    """Each session of a database, then each archive that it holds."""
    uri = "file:" + urllib.parse.quote(os.path.abspath(path)) + "?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    connection.row_factory = sqlite3.Row
    try:
        sessions = {}
        for row in connection.execute("SELECT * FROM transcript_events ORDER BY session_id, seq"):
            row = dict(row)
            event = row.get("event_json")
            event = event.encode() if event is not None else unpack(row.get("event_zstd") or b"")
            sessions.setdefault(row["session_id"], []).append(event)
        for events in sessions.values():
            yield [entry for event in events for entry in count_pi.entries(event)]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if "session_transcript_archives" in tables:
            for encoding, blob in connection.execute("SELECT encoding, archive_blob FROM session_transcript_archives"):
                yield list(count_pi.entries(unpack(blob) if encoding == "zstd" else blob))
    finally:
        connection.close()


def transcripts(home, roots=ROOTS):
    for name in sorted(os.listdir(home)):
        root = os.path.join(home, name)
        if not roots.fullmatch(name):
            continue
        yield from files(os.path.join(root, "sessions"))
        agents = os.path.join(root, "agents")
        for agent in sorted(os.listdir(agents)) if os.path.isdir(agents) else []:
            agent = os.path.join(agents, agent)
            store = os.path.join(agent, "agent", "openclaw-agent.sqlite")
            if os.path.isfile(store):
                yield from database(store)
            yield from files(os.path.join(agent, "sessions"))
            yield from cold(os.path.join(agent, "sessions", "cold"))
            yield from files(os.path.join(agent, "session-sqlite-import-archive"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count_pi.show(count_pi.total(transcripts(sys.argv[1]), billed))
