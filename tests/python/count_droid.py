#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of every Droid session below a home folder, once each.

    count_droid.py HOME

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

START = re.compile(r'\{"type"')  # how a record begins
LARGEST = 2**53 - 1  # no whole number beyond this is exact
KINDS = ["input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
STREAM = {"system", "message", "tool_call", "tool_result", "completion", "error"}


# ---------------------------------------------------------------- values

def text(value):
    return value if isinstance(value, str) and value else None


def count(value):
    """A whole number, at least 0, also as 12.0 or "12"; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return max(0, int(value)) if abs(value) <= LARGEST else None


def inside(value, *names):
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def model_name(stored):
    """`custom:Big-[Acme]-0` is `Big`."""
    if not stored or not stored.startswith("custom:"):
        return stored
    name = re.sub(r"-[0-9]+$", "", stored[len("custom:"):])
    name = re.sub(r"\[[^\[]*\]$", "", name).rstrip("- ")
    return name or stored


# ---------------------------------------------------------------- lines

def records(path):
    with open(path, "rb") as file:
        content = file.read()
    for line in content.split(b"\n"):
        line = line.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
        for value in lines.objects(line.decode("utf-8", "replace").strip(), START):
            if isinstance(value, dict):
                yield value


# ---------------------------------------------------------------- session files

def texts_of(content):
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "text" and text(block.get("text")):
            yield block["text"]


def named_models(content):
    """Models that the reminders of a message name, the first of each reminder."""
    for part in texts_of(content):
        for reminder in re.findall(r"<system-reminder>(.*?)</system-reminder>", part, re.S):
            found = re.search(r"^\s*Model:[ \t]*(\S.*?)\s*$", reminder, re.M)
            if found:
                yield found.group(1)


def is_reply(message):
    """Whether the model wrote it, as far as the record tells."""
    opening = "\n".join(texts_of(message.get("content"))).lstrip()
    stopped = opening.startswith(("Request interrupted by user", "[Request interrupted by user"))
    return not stopped and message.get("visibility") != "user_only" and not text(message.get("hookEventName"))


def read_session(path):
    """(id, model or None, tokens or None, facts) of a session file; None if it holds none."""
    session = os.path.basename(path)[:-len(".jsonl")]
    settings = read_settings(path[:-len(".jsonl")] + ".settings.json")
    chosen = chosen_model(settings)
    found = header = False
    parent = forked_at = hint = None
    replied = False
    at_fork = False
    models, efforts, seen = [], [], set()
    effort = None
    for record in records(path):
        kind = record.get("type")
        if kind == "session_start":
            if not found:
                session = text(record.get("id")) or session
            if not header:
                parent, forked_at = text(record.get("parent")), text(record.get("forkedAtMessageId"))
            found = header = True
        elif kind == "session_settings":
            hint = model_name(text(record.get("model"))) or hint
            effort = text(record.get("reasoningEffort")) or effort
        elif kind == "message" and isinstance(record.get("message"), dict):
            message = record["message"]
            identity = text(record.get("id")) or text(message.get("id"))
            if identity and identity in seen:
                continue
            seen.add(identity)
            found = True
            if message.get("role") == "assistant":
                if is_reply(message):
                    replied = True
                    model = model_name(text(message.get("modelId"))) or hint or chosen
                    if model:
                        models.append(model)
                    efforts.append(text(message.get("reasoningEffort")) or effort or text(settings.get("reasoningEffort")))
            else:
                for name in named_models(message.get("content")):
                    hint = model_name(name)
        last = text(record.get("id")) or (text(inside(record, "message", "id")) if kind == "message" else None)
        if kind in ("message", "compaction_state") and parent and forked_at and last == forked_at and not at_fork:
            at_fork, replied, models, efforts = True, False, [], []  # a fork's total is what it spent itself
    if not found:
        return None
    tokens = total(settings)
    names = set(models)
    model = chosen if not names else names.pop() if len(names) == 1 else None
    if parent and not (replied and at_fork) and tokens:
        above = os.path.dirname(os.path.dirname(path))
        for folder in (os.path.dirname(path), above, *sorted(glob.glob(os.path.join(glob.escape(above), "*")))):
            copied = total(read_settings(os.path.join(folder, parent + ".settings.json")))
            if copied:
                holds = all(tokens[kind] >= copied[kind] for kind in KINDS)
                is_copy = holds if at_fork or not replied else tokens == copied
                tokens = None if is_copy else tokens
                break
    efforts = {one for one in efforts if one} or {text(settings.get("reasoningEffort"))}
    return session, model, tokens, facts_of(settings) | {"effort": efforts.pop() if len(efforts) == 1 else None}


def read_settings(path):
    try:
        with open(path, "rb") as file:
            settings = json.loads(file.read().decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def chosen_model(settings):
    model, routed = text(settings.get("model")), text(inside(settings, "effectiveFactoryRouterModel", "modelId"))
    return model_name(routed if routed and (not model or "router" in model) else model)


def facts_of(settings):
    """What settings tell of a session's usage: the router that was asked, and the credits."""
    model = text(settings.get("model")) or ""
    credits = inside(settings, "tokenUsage", "factoryCredits")
    is_number = isinstance(credits, (int, float)) and not isinstance(credits, bool) and math.isfinite(credits)
    return {"requested": model if "router" in model else None,
            "credits": credits if is_number and credits >= 0 else None}


def total(settings):
    usage = settings.get("tokenUsage")
    if not isinstance(usage, dict):
        return None
    tokens = dict(zip(KINDS, [
        count(usage.get("inputTokens")) or 0,
        count(usage.get("cacheReadTokens")) or 0,
        count(usage.get("cacheCreationTokens")) or 0,
        0,
        count(usage.get("thinkingTokens") if count(usage.get("outputTokens")) is None else usage.get("outputTokens")) or 0,
    ]))
    return tokens if any(tokens.values()) else None


# ---------------------------------------------------------------- captured streams

def read_capture(path):
    """(session, turn, model, tokens, effort) for each completion that has tokens."""
    session = os.path.basename(path)[:-len(".jsonl")]
    models, turns, replies, named, efforts = {}, collections.Counter(), {}, collections.Counter(), {}
    for record in records(path):
        kind = record.get("type")
        if kind not in STREAM:
            continue
        session = text(record.get("session_id")) or text(record.get("sessionId")) or session
        models[session] = model_name(text(record.get("model"))) or models.get(session)
        efforts[session] = text(record.get("reasoning_effort")) or text(record.get("reasoningEffort")) or efforts.get(session)
        if kind == "message" and record.get("role") == "assistant":
            replies[session] = text(record.get("id"))
        elif kind == "message" and record.get("role") == "user":
            replies.pop(session, None)
        if kind != "completion":
            continue
        turns[session] += 1
        # Each program counts its turns from 1: when they ended tells them apart.
        turn = record.get("timestamp") or replies.pop(session, None) or turns[session]
        named[session, turn] += 1
        turn = turn, named[session, turn]
        usage = record.get("usage") if isinstance(record.get("usage"), dict) else {}
        names = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "", "output_tokens"]
        tokens = {kind: count(usage.get(name)) or 0 for kind, name in zip(KINDS, names)}
        if any(tokens.values()):
            yield session, turn, models[session], tokens, efforts[session]


def is_session(path):
    with open(path, "rb") as file:
        head = file.read(65536)
    return b'"session_start"' in head or b'"message":{' in head


# ---------------------------------------------------------------- messages and tool calls

REJECTED = re.compile(r"(rejected|denied|cancelled|canceled) by (the )?user|User (rejected|denied|cancelled|canceled)", re.I)
STOPPED = re.compile(r"(?:Error: )?(Request|Tool|Command|Execution).{0,20} (was )?(interrupted|aborted)", re.I)


def blocks(message):
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def kind(message):
    if message.get("role") == "assistant":
        return "reply" if is_reply(message) else "other"
    found = blocks(message)
    said = "\n".join(texts_of(message.get("content")))
    typed = re.sub(r"<system-reminder>.*?(</system-reminder>|$)", "", said, flags=re.S).strip()
    others = [block for block in found if block.get("type") in ("image", "document")]
    is_hidden = message.get("visibility") in ("user_only", "llm_only") or text(message.get("hookEventName"))
    has_results = any(block.get("type") == "tool_result" for block in found)
    is_typed = message.get("role") != "system" and not is_hidden and (typed or others and not has_results)
    is_programs = typed.startswith(("Request interrupted", "[Request interrupted", "BYOK Error:"))
    return "prompt" if is_typed and not is_programs else "other"


def exit_code(said):
    """The exit code that a result tells: in an object, in its first line or at the end of the last."""
    whole = re.match(r"\s*\{.*\}\s*$", said, re.S)
    code = whole and re.search(r'"exitCode": ?(-?\d+)', said) or re.match(r".*\(exit code: ?(-?\d+)\)", said) \
        or re.search(r"(?:\(exit code: ?(-?\d+)\)|\[Process exited with code (-?\d+)\])\s*\Z", said)
    return int(next(one for one in code.groups() if one is not None)) if code else None


def ended(said, is_error):
    """How a call ended, by its result."""
    failed = is_error is True or is_error is None and said.startswith("Error:") or exit_code(said)
    if failed and REJECTED.search(said[:300]):
        return "rejected"
    return "interrupted" if failed and STOPPED.match(said) else "error" if failed else "ok"


def shown(value):
    return value if isinstance(value, str) else "\n".join(texts_of(value)) if isinstance(value, list) else json.dumps(value)


SHELLS = ("Execute", "Shell")
EDITS = ("Edit", "MultiEdit", "ApplyPatch", "apply_patch")


def arguments(given):
    """Arguments, which may be text."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


class Spoken:
    """Messages by identity, and calls by the program's id."""

    def __init__(self):
        self.kinds, self.calls, self.sessions = {}, {}, set()
        self.made, self.outputs, self.modes, self.errors = {}, {}, {}, {}

    def open(self, call, name, given):
        self.calls.setdefault(call, "pending")
        self.made.setdefault(call, (name, arguments(given)))

    def close(self, call, said, is_error):
        if self.calls.get(call, "pending") == "pending":
            self.calls[call], self.outputs[call] = ended(said, is_error), said

    def facts(self):
        """The columns of calls and messages."""
        changed, commands, codes = [], [], []
        for key, how in self.calls.items():
            (name, given), said = self.made.get(key, (None, None)), self.outputs.get(key, "")
            command = given.get("command") if isinstance(given, dict) else None
            if name in SHELLS:
                codes.append(exit_code(said))
                commands.append((command, said, how, codes[-1] is None))
            if how == "ok" and name in SHELLS and isinstance(command, str):
                changed.append(edits.of_command(command))
            elif how == "ok" and name in EDITS:
                changed.append(edits.of_arguments(given))
        return edits.sums(changed) | shell.columns(commands) | rows.measured("tool_calls.exit_code", codes) \
            | rows.tally("messages.permission_mode", [self.modes.get(key) for key, kind in self.kinds.items() if kind == "prompt"]) \
            | rows.tally("messages.error_type", self.errors.values())

    def session(self, path):
        opened, mode = {}, None
        for place, record in enumerate(records(path)):
            if record.get("type") == "session_start":
                self.sessions.add(text(record.get("id")) or os.path.basename(path)[:-len(".jsonl")])
            if record.get("type") == "session_settings":
                mode = text(record.get("autonomyLevel")) or mode
            message = record.get("message")
            if record.get("type") != "message" or not isinstance(message, dict):
                continue
            self.sessions.add(os.path.basename(path)[:-len(".jsonl")])
            name = text(record.get("id")) or text(message.get("id"))
            identity = (name, record.get("timestamp")) if name else (path, place)
            self.kinds.setdefault(identity, kind(message))
            self.modes.setdefault(identity, mode)
            said = "\n".join(texts_of(message.get("content"))).lstrip()
            if message.get("role") == "user" and said.startswith("BYOK Error:"):
                self.errors.setdefault(identity, failures.reason(said))
            for at, block in enumerate(blocks(message)):
                if block.get("type") == "tool_use":
                    call = opened[block.get("id")] = identity, at
                    self.open(call, block.get("name"), block.get("input"))
                elif block.get("type") == "tool_result":
                    name = text(block.get("tool_use_id"))
                    call = opened.get(name, (identity, at)) if name else (identity, at)
                    self.close(call, shown(block.get("content")), block.get("is_error"))

    def capture(self, path):
        session, answer = os.path.basename(path)[:-len(".jsonl")], None
        for place, record in enumerate(records(path)):
            session = text(record.get("session_id")) or text(record.get("sessionId")) or session
            if session in self.sessions:
                continue
            identity = session, text(record.get("toolCallId")) or text(record.get("id")) or (path, place)
            if record.get("type") == "message":
                self.kinds[identity] = {"user": "prompt", "assistant": "reply"}.get(record.get("role"), "other")
                answer = record.get("text") if record.get("role") == "assistant" else None
            elif record.get("type") == "completion" and text(record.get("finalText")):
                if (answer or "").strip() != record["finalText"].strip():
                    self.kinds[identity] = "reply"
            elif record.get("type") == "tool_call":
                self.open(identity, record.get("toolName"), record.get("parameters"))
            elif record.get("type") == "tool_result":
                self.close(identity, shown(record.get("value")), record.get("isError"))
            elif record.get("type") == "error":
                self.errors.setdefault(identity, failures.reason(text(record.get("message"))))


# ---------------------------------------------------------------- all together

def files(home):
    """Session files and captured streams."""
    sessions, captures = [], []
    root = os.path.join(home, ".factory", "sessions")
    for folder, folders, names in os.walk(root):
        if folder != root:
            folders.clear()
        sessions += [os.path.join(folder, name) for name in names if name.endswith(".jsonl")]
    for folder, _, names in os.walk(os.path.join(home, ".factory", "projects")):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".jsonl")):
            (sessions if is_session(path) else captures).append(path)
    return sorted(sessions), sorted(captures)


def all_usage(home):
    """Usage by identity: (model, tokens, facts), the fullest copy of each."""
    sessions, captures = files(home)
    usage = {}

    def add(identity, model, tokens, size, facts):
        known = usage.get(identity)
        if known is None or size(tokens) > size(known[1]):
            usage[identity] = model, tokens, facts

    totalled = set()
    for path in sessions:
        found = read_session(path)
        if found and found[2]:
            add(found[0], found[1], found[2], lambda tokens: sum(tokens.values()), found[3])
            totalled.add(found[0])
    for path in captures:
        for session, turn, model, tokens, effort in read_capture(path):
            if session not in totalled:
                add((session, turn), model, tokens, lambda tokens: tokens["output_tokens"], {"effort": effort})
    return usage


def main():
    models = collections.defaultdict(collections.Counter)
    usage = all_usage(sys.argv[1]).values()
    for model, tokens, _ in usage:
        models[model or "null"].update({"responses": 1, **tokens})
    order = ["responses"] + KINDS
    by_model = {model: {name: models[model][name] for name in order} for model in sorted(models)}
    spoken = Spoken()
    sessions, captures = files(sys.argv[1])
    for path in sessions:
        spoken.session(path)
    for path in captures:
        spoken.capture(path)
    told = rows.tally("usage.requested_model", [facts.get("requested") for *_, facts in usage]) \
        | rows.tally("usage.reasoning_effort", [facts.get("effort") for *_, facts in usage]) \
        | rows.measured("usage.credits", [facts.get("credits") for *_, facts in usage], 1000)
    counted = rows.counted(spoken.kinds.values(), spoken.calls.values())
    json.dump(by_model | counted | spoken.facts() | told, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.setrecursionlimit(10**6)
    main()
