#!/usr/bin/env python3
"""Count the tokens, prompts and tool calls of Codex below a home folder, once each.

    count_codex.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null". Replies are not counted: nothing in the files says which items are of one response.
"""
import collections
import concurrent.futures
import datetime
import glob
import io
import json
import math
import os
import re
import subprocess
import sys
import threading

import edits
import failures
import lines
import rows
import shell

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
START = re.compile(r'\{"(?:timestamp|type|id|ordinal)"')  # how a record begins
LARGEST = 2**53 - 1
KINDS = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
         "reasoning_output_tokens", "total_tokens"]


# ---------------------------------------------------------------- files

def rollouts(root):
    """(preference, path): plain files in sessions/ first, then archived ones, then compressed ones."""
    for place, top in enumerate(["sessions", "archived_sessions"]):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".jsonl"):
                    yield place, path
                elif name.endswith(".jsonl.zst"):
                    yield 2 + place, path


def unpacked(data, path):
    """A zstd frame: of stored blocks by hand, else by the tool or library that is there."""
    try:
        from compression import zstd
        return zstd.decompress(data)
    except ImportError:
        pass
    except Exception:
        return b""
    whole = stored_blocks(data)
    if whole is not None:
        return whole
    return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def stored_blocks(data):
    if data[:4] != b"\x28\xb5\x2f\xfd" or len(data) < 6:
        return b""
    descriptor = data[4]
    single = descriptor >> 5 & 1
    at = 5 + (not single) + [0, 1, 2, 4][descriptor & 3] + [single, 2, 4, 8][descriptor >> 6]
    out = b""
    while at + 3 <= len(data):
        head = int.from_bytes(data[at:at + 3], "little")
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        at += 3
        if kind == 0:
            out += data[at:at + size]
            at += size
        elif kind == 1:
            out += data[at:at + 1] * size
            at += 1
        else:
            return None
        if last:
            break
    return out


# ---------------------------------------------------------------- lines

def records(path):
    with open(path, "rb") as file:
        content = file.read()
    if path.endswith(".zst"):
        content = unpacked(content, path)
    for number, line in enumerate(content.split(b"\n"), 1):
        line = line.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
        for value in lines.objects(line.decode("utf-8", "replace").strip(), START):
            if isinstance(value, dict):
                yield number, value


# ---------------------------------------------------------------- values

def text(value):
    """A non-empty string, lone surrogates replaced; else None."""
    if isinstance(value, str) and value:
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    return None


def table(value):
    return value if isinstance(value, dict) else {}


def count(value):
    """A whole number from 0 to LARGEST, also as 12.0 or "12"; anything else is 0."""
    if isinstance(value, str):
        try:
            value = float(value) if re.search("[.eE]", value) else int(value)
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0
    return int(value) if 0 <= value <= LARGEST else 0


def numbers(usage):
    return tuple(count(usage.get(kind)) for kind in KINDS) if isinstance(usage, dict) else None


def tokens(usage):
    """The page's split of input; output holds the reasoning already."""
    read = min(usage[1], usage[0])
    written = min(usage[2], usage[0] - read)
    return {"input_tokens": usage[0] - read - written, "cache_read_tokens": read, "cache_write_5m_tokens": written,
            "cache_write_1h_tokens": 0, "output_tokens": usage[3]}


def born(uuid):
    """Milliseconds in a UUIDv7; None for anything else."""
    match = UUID.fullmatch(uuid or "")
    return int(uuid[:8] + uuid[9:13], 16) if match and match[1] == "7" else None


def limits(told):
    """The account's limits: of the windows, the longest under a day, and the longest of a day or more."""
    if not isinstance(told, dict):
        return {}
    windows = []
    for name in ("primary", "secondary"):
        window = told.get(name) if isinstance(told.get(name), dict) else {
            "used_percent": told.get(name + "_used_percent"), "window_minutes": told.get(name + "_window_minutes")}
        if isinstance(window.get("used_percent"), (int, float)) and isinstance(window.get("window_minutes"), int):
            windows.append((window["window_minutes"], window["used_percent"], moment(window.get("resets_at"))))
    short = max((one for one in windows if one[0] < 1440), default=(None, None, None))
    long = max((one for one in windows if one[0] >= 1440), default=(None, None, None))
    return {"plan": text(told.get("plan_type")), "short": short[1], "short_end": short[2], "long": long[1],
            "long_end": long[2], "minutes": long[0]}


def moment(seconds):
    """Seconds since 1970 as the lake shows a time."""
    if not isinstance(seconds, int):
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---------------------------------------------------------------- one rollout

class Rollout:
    def __init__(self, path):
        self.lines = list(records(path))
        name = os.path.basename(path).removesuffix(".zst").removesuffix(".jsonl")
        self.thread = name[-36:] if UUID.fullmatch(name[-36:]) else name
        self.meta = {}
        for number, record in self.lines:
            payload = table(record.get("payload"))
            if record.get("type") == "session_meta" and (number == 1 or payload.get("id") == self.thread):
                self.meta = payload
                break
            name = text(record.get("id") or record.get("session_id"))
            if "payload" not in record and record.get("type") in (None, "metadata") and name:
                self.meta = {"id": name}
                break
        self.thread = text(self.meta.get("id")) or self.thread
        self.own_from = self.meta.get("subagent_history_start_ordinal")
        subagent = table(table(self.meta.get("source")).get("subagent"))
        self.is_child = any([text(self.meta.get("forked_from_id")), text(self.meta.get("parent_thread_id")),
                             isinstance(subagent.get("thread_spawn"), dict), self.own_from is not None])

    def responses(self):
        """(key, certain, model, numbers) of each; what is not certain may be another thread's."""
        kept = []
        for response in self.read():
            if response is None:  # all before was copied
                kept = [known for known in kept if known[1]]
            else:
                kept.append(response)
        return kept

    def times_turns(self):
        """False for versions whose own turns do not tell their time."""
        version = [int(part) if part.isdigit() else 0 for part in (text(self.meta.get("cli_version")) or "").split(".")]
        return version[:2] >= [0, 100]

    def read(self):
        owner = "own" if not self.is_child else "copied" if self.own_from is not None else "unclear"
        is_child, began, origin = self.is_child, born(self.thread), None
        is_fork = text(self.meta.get("forked_from_id")) is not None
        times_turns = self.times_turns()
        held = None  # the last response that a total told
        effort, window, facts, told = None, None, {}, {}
        of_turn = []  # the facts of the turn's responses
        model, total, last, seen_turn, recorded, seen = None, None, None, False, False, collections.Counter()
        for number, record in self.lines:
            facts.update(told)  # limits are of the last response before them
            told = {}
            kind, payload = record.get("type"), record.get("payload")
            if not isinstance(payload, dict):
                if kind == "metadata":
                    model = text(record.get("model")) or model
                if kind == "agent_response":
                    model = text(record.get("model")) or model
                    usage = numbers(record.get("usage") or record.get("token_usage"))
                    if usage and (usage[0] or usage[3]):
                        yield (self.thread, "line", number), True, (model, {}), usage
                continue
            if self.own_from is not None and "ordinal" in record and count(record["ordinal"]) >= count(self.own_from):
                owner = "own"
            event = payload.get("type") if kind == "event_msg" else None
            is_inherited = owner != "own" and is_fork and not seen_turn and began is not None
            if event == "token_count" and owner != "copied" and not is_inherited:
                told = limits(payload.get("rate_limits"))
            if kind == "session_meta":
                other = text(payload.get("id"))
                if other != self.thread and (number > 1 or self.meta is not payload):
                    origin, is_child, is_fork = other, True, True
                    owner = "unclear" if owner == "own" else owner
            elif kind == "turn_context" or event in ("task_started", "turn_started"):
                seen_turn = True
                began_turn = born(text(payload.get("turn_id")))
                if began is not None and began_turn is not None:
                    if began_turn >= began:
                        if owner == "unclear" and origin and times_turns:
                            if held:
                                yield held
                                held = None
                            yield None
                        owner = "own"
                    elif is_child:
                        owner = "copied"
                of_turn = [] if event else of_turn
                if event:
                    recorded = False
                elif owner != "copied":
                    model = text(payload.get("model")) or model
                    effort = text(payload.get("effort"))
            elif event == "thread_settings_applied" or kind in ("token_usage_record", "compacted"):
                named = table(payload.get("latest_token_usage_record")) if kind == "compacted" else payload
                if text(named.get("thread_id")):
                    mine = named["thread_id"] == self.thread
                    owner = "own" if mine else "copied" if is_child else owner
                if event and owner != "copied":
                    model = text(table(payload.get("thread_settings")).get("model")) or model
                mine = payload.get("thread_id", self.thread) == self.thread
                if kind == "token_usage_record" and owner != "copied" and mine:
                    usage = numbers(payload.get("usage"))
                    if usage and (usage[0] or usage[3]):
                        recorded = True
                        thread_total = count(table(payload.get("thread_token_usage")).get("total_tokens"))
                        name = text(payload.get("response_id")) or thread_total
                        if held and held[3][:5] != usage[:5]:
                            yield held
                        same = held and held[3][:5] == usage[:5]
                        facts = held[2][1] if same else {"effort": effort, "window": window}
                        of_turn += [] if same else [facts]
                        held = None  # or the total of the same response stood before its record
                        yield (self.thread, "response", name), True, (model, facts), usage
            elif event == "token_count" and isinstance(payload.get("info"), dict):
                now = numbers(payload["info"].get("total_token_usage"))
                step = numbers(payload["info"].get("last_token_usage"))
                before, before_step = total, last
                total, last = now or total, step or last
                if owner == "copied" or (owner != "own" and is_fork and not seen_turn and began is not None):
                    continue
                window = count(payload["info"].get("model_context_window")) or window
                if (now is not None and now == before) or (now is None and step == before_step):
                    continue
                if step is None:
                    if now is None or (before is None and is_child):
                        continue
                    step = tuple(a - b for a, b in zip(now, before or (0,) * 6))
                    step = now if min(step) < 0 else step
                if step[0] + step[3] == 0 or recorded:
                    continue
                thread = origin if origin and owner == "unclear" else self.thread
                name = now[5] if now else ("at", str(record.get("timestamp")))
                seen[name] += 1
                if held:
                    yield held
                facts = {"effort": effort, "window": window}
                of_turn.append(facts)
                held = (thread, name, seen[name]), owner == "own", (model, facts), step
            elif event in ("task_complete", "turn_complete") and owner != "copied" and of_turn:
                of_turn[0]["first_token"] = payload.get("time_to_first_token_ms")
                of_turn = []
        facts.update(told)
        if held:
            yield held


# ---------------------------------------------------------------- prompts and tool calls

INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>",
            "<user_shell_command>", "<subagent_notification>", "<skill", "<permissions", "<recommended_plugins>",
            "<codex_internal_context>", "<goal_context>", "<model_switch>", "<personality_spec>", "<realtime_delegation>",
            "<image_resize_notice>", "<external_", "<collaboration_mode>")
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "image_generation_call",
         "tool_search_call")
REJECTED = re.compile(r"(?:^|\n)(exec command |patch )?rejected by user$|approval policy is Never; reject command")
ABORTED = re.compile(r"(Wall time: .*\n)?(command )?aborted( by user)?( after [\d.]+s)?\s*$")
FAILED = re.compile("Script failed|apply_patch verification failed|failed in sandbox|sandbox denied|command timed out|failed to parse function arguments"
                    "|execution error|rejected by user approval settings|This action was rejected due to unacceptable risk")


def payloads(rollout):
    """(line, type, payload) of each record; bare items are response items."""
    for number, record in rollout.lines:
        if isinstance(record.get("payload"), dict):
            yield number, record.get("type"), record["payload"]
        elif "payload" not in record and isinstance(record.get("type"), str) and "record_type" not in record:
            yield number, "response_item", record


def own_part(rollout, by_thread):
    """The payloads that were not copied from another thread."""
    found = list(payloads(rollout))
    others = [payload.get("id") for _, kind, payload in found if kind == "session_meta" and
              text(payload.get("id")) not in (None, rollout.thread)]
    if not rollout.is_child and not others:
        return found
    ordinals = {number: record.get("ordinal") for number, record in rollout.lines}
    began = born(rollout.thread)
    for place, (number, kind, payload) in enumerate(found):
        if rollout.own_from is not None and count(ordinals[number]) >= count(rollout.own_from):
            return found[place:]
        if kind == "turn_context" or payload.get("type") in ("task_started", "turn_started"):
            turn = born(text(payload.get("turn_id")))
            if began is not None and turn is not None and turn >= began and rollout.times_turns():
                return found[place:]
    origin = text(rollout.meta.get("forked_from_id")) or text(rollout.meta.get("parent_thread_id")) or (others or [None])[0]
    mine = [one for one in found if one[1] != "session_meta"]
    theirs = [one[1:] for one in payloads(by_thread[origin]) if one[1] != "session_meta"] if origin in by_thread else []
    start = 0  # an old version leaves out some of what it copies
    for place, one in enumerate(mine):
        if one[1:] not in theirs[start:]:
            return mine[place:]
        start = theirs.index(one[1:], start) + 1
    return []


def said(content):
    """The text of a message or a result."""
    if isinstance(content, dict):
        content = content.get("content")
    found = content if isinstance(content, list) else [content]
    return "\n".join(part if isinstance(part, str) else part.get("text") or "" for part in found
                     if isinstance(part, (str, dict))).strip()


def prompts(found, is_child):
    """Places and texts of the prompts: those of events, or the messages of the person if no event tells of any."""
    told, completed, written, given = [], [], [], []
    for place, (_, kind, payload) in enumerate(found):
        item, what = table(payload.get("item")), payload.get("type")
        if kind == "event_msg" and what == "user_message":
            told.append((place, said(payload.get("message"))))
        elif kind == "event_msg" and what == "item_completed" and item.get("type") == "UserMessage":
            completed.append((place, said(item.get("content"))))
        elif kind == "response_item" and what in (None, "message") and payload.get("role") == "user":
            written.append((place, said(payload.get("content"))))
        elif kind == "response_item" and what == "agent_message" and is_child:
            given.append((place, said(payload.get("content"))))
    return (told or completed or [one for one in written if not one[1].startswith(INJECTED)]) + given


def modes(found, asked):
    """The approval policy and sandbox of each prompt: of the context in its turn, which old versions write after it."""
    for place, _ in asked:
        after = []
        for _, kind, payload in found[place + 1:]:
            if payload.get("type") in ("task_started", "turn_started", "user_message"):
                break
            after += [payload] if kind == "turn_context" else []
        before = [payload for _, kind, payload in found[:place] if kind == "turn_context"]
        context = (after[:1] or before[-1:] or [{}])[0]
        sandbox = context.get("sandbox_policy")
        sandbox = sandbox.get("mode") or sandbox.get("type") if isinstance(sandbox, dict) else sandbox
        parts = [part for part in (context.get("approval_policy"), sandbox) if text(part)]
        yield "/".join(parts) or None


def endings(found):
    """Recorded durations of turns, and why turns failed: an event's error is not told again by the turn's end."""
    durations, errors, last = [], [], None
    for _, kind, payload in found:
        event = payload.get("type") if kind == "event_msg" else None
        if event in ("task_complete", "turn_complete", "turn_aborted") and isinstance(payload.get("duration_ms"), int):
            durations.append(payload["duration_ms"])
        if event in ("task_started", "turn_started"):
            last = None
        error = payload if event == "error" else payload.get("error") if event in ("task_complete", "turn_complete") else None
        if error and not (event != "error" and last):
            error = error if isinstance(error, dict) else {"message": error}
            inner = table(error.get("error"))
            last = text(error.get("message")) or text(inner.get("message"))
            info = error.get("codex_error_info") or inner.get("kind")
            errors.append(failures.reason(last, json.dumps(info) if info else None))
    return durations, errors


def changed(changes):
    """The lines of recorded changes."""
    def of_file(change):
        change = table(change)
        kind = change.get("type") or next(iter(change), None)
        change = change if "type" in change else table(change.get(kind))
        lines_of = len((change.get("content") or "").splitlines())
        if isinstance(change.get("unified_diff"), str) and change["unified_diff"]:
            return edits.of_diff(change["unified_diff"])
        return {"add": (lines_of, 0), "delete": (0, lines_of)}.get(kind)
    return edits.total(of_file(change) for change in changes.values()) if isinstance(changes, dict) else None


def asked_for(payload):
    """The lines of the patch that a call asks for."""
    given = payload.get("input") or payload.get("arguments")
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        pass
    if payload.get("name") == "apply_patch":
        return edits.of_arguments(given)
    command = run(payload)
    return edits.of_command(command) if command else None


def run(payload):
    """The shell command of a call."""
    given = payload.get("input") or payload.get("arguments")
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        pass
    return line(table(given).get("command") or table(given).get("cmd") or table(payload.get("action")).get("command"))


def line(command):
    if isinstance(command, list):
        command = command[2] if len(command) > 2 and command[1] in ("-c", "-lc") else " ".join(map(str, command))
    return text(command)


class Call:
    """A tool call: how it ended by its result and by an event, the lines that it changed, its command and output."""

    def __init__(self, by_text="", edit=None, command=None):
        self.by_text, self.event, self.edit, self.command, self.output = by_text, None, edit, command, ""

    def status(self):
        return self.event if self.event and self.by_text not in ("rejected", "interrupted") else self.by_text

    def shell(self):
        is_open = bool(re.search(r"^Process running with session ID", self.output, re.M))
        return self.command, self.output, self.status(), is_open


def calls_of(found):
    """The tool calls, in order."""
    calls = {}
    for number, kind, payload in found:
        what, item = payload.get("type"), table(payload.get("item"))
        name = text(payload.get("call_id")) or text(payload.get("id"))
        last = max((key for key in calls if key[0] == name), key=lambda key: key[1], default=(name, number))
        if kind == "response_item" and what in CALLS:
            whole = what in ("web_search_call", "local_shell_call", "image_generation_call")
            state = STATES.get(payload.get("status"), "pending") if whole else "pending"
            calls[name, number] = Call(state, asked_for(payload), run(payload))
        elif kind == "response_item" and what in ("function_call_output", "custom_tool_call_output"):
            call = calls.setdefault(last, Call())
            call.by_text, call.output = ended(payload.get("output")), printed(payload.get("output"))
        elif kind == "response_item" and what == "tool_search_output":
            calls.setdefault(last, Call()).by_text = "ok"
        elif kind == "event_msg" and what in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end") and last in calls:
            call = calls[last]
            call.event = told_end(payload)
            call.edit = changed(payload.get("changes")) or call.edit
            call.output = call.output or text(payload.get("aggregated_output")) or ""
        elif what == "item_completed" and item.get("type") in ("CommandExecution", "FileChange", "McpToolCall"):
            last = max((key for key in calls if key[0] == item.get("id")), key=lambda key: key[1], default=None)
            state = STATES.get(item.get("status"), "pending")
            call = calls.setdefault(last or (item.get("id"), number), Call(state, None, line(item.get("command"))))
            call.edit = changed(item.get("changes")) or call.edit
            call.output = call.output or text(item.get("aggregated_output")) or ""
    return calls.values()


def printed(output):
    """What a command printed, by the text of its result."""
    words = said(output)
    try:
        inner = json.loads(words)
    except ValueError:
        inner = None
    return text(table(inner).get("output")) or words


STATES = {"completed": "ok", "failed": "error", "incomplete": "error", "declined": "rejected"}


def told_end(payload):
    """How a call ended, by the event at its end."""
    result = payload.get("result")
    if payload.get("type") == "mcp_tool_call_end":
        return "ok" if isinstance(result, dict) and "Ok" in result and table(result["Ok"]).get("is_error") is not True \
            else "error"
    if payload.get("status") == "declined":
        return "rejected"
    failed = payload.get("exit_code") if payload.get("type") == "exec_command_end" else payload.get("success") is False
    return "error" if failed or payload.get("status") == "failed" else "ok"


def ended(output):
    """How a call ended, by the text of its result."""
    words = said(output)
    try:
        inner = json.loads(words)
    except ValueError:
        inner = None
    if isinstance(inner, dict) and isinstance(inner.get("metadata"), dict):
        return "error" if inner["metadata"].get("exit_code") else "ok"
    if REJECTED.search(words):
        return "rejected"
    if ABORTED.match(words):
        return "interrupted"
    code = re.search(r"^(?:Exit code:|Process exited with code) (-?\d+)", words.split("\nOutput:")[0], re.M)
    failed = FAILED.match(words) or isinstance(output, dict) and output.get("success") is False
    return "error" if failed or code and int(code[1]) else "ok"


def documents(root):
    """The items of the newest document of each session of the TypeScript program, by session."""
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "sessions", "rollout-*.json"))):
        with open(path, "rb") as file:
            try:
                document = lines.JSON.decode(file.read().decode("utf-8", "replace"))
            except ValueError:
                continue
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            items = [item for item in document["items"] if isinstance(item, dict)]
            found[table(document.get("session")).get("id")] = [(place, "response_item", item)
                                                               for place, item in enumerate(items)]
    return found


def typed_alone(root, sessions, known):
    """Typed prompts whose session left no rollout."""
    for name in ("history.jsonl", "history.json"):
        path = os.path.join(root, name)
        with open(path, "rb") if os.path.isfile(path) else io.BytesIO() as file:
            content = file.read().decode("utf-8", "replace")
        values = [value for line in (content.split("\n") if name.endswith("l") else [content])
                  for value in lines.objects(line, START)]
        for entry in (one for value in values for one in (value if isinstance(value, list) else [value])):
            words = text(table(entry).get("text")) or text(table(entry).get("command"))
            is_known = entry.get("session_id") in sessions if words and "session_id" in entry else words in known
            if words and not is_known and not words.startswith("/"):
                yield words


# ---------------------------------------------------------------- all together

def entrypoint(meta):
    """What started a thread."""
    return text(meta.get("source")) or text(meta.get("originator"))


def has_messages(part):
    return any(kind in ("response_item", "compacted") or payload.get("type") == "user_message" for _, kind, payload in part)


def total(homes):
    found = sorted((place, -os.path.getsize(path), path) for root in homes for place, path in rollouts(root))
    responses, uncertain = {}, []
    by_thread = {}
    for _, _, path in found:
        rollout = Rollout(path)
        is_better = not path.endswith(".zst") and len(rollout.lines) > len(by_thread.get(rollout.thread, rollout).lines)
        if is_better or rollout.thread not in by_thread:
            by_thread[rollout.thread] = rollout
        for key, certain, model, usage in rollout.responses():
            if certain:
                responses.setdefault(key, (model, usage))
            else:
                uncertain.append((key, model, usage))
    for key, model, usage in uncertain:
        responses.setdefault(key, (model, usage))
    models = collections.defaultdict(collections.Counter)
    for (model, _), usage in responses.values():
        models[model or "null"].update({"responses": 1, **tokens(usage)})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    by_model = {model: {name: models[model][name] for name in order} for model in sorted(models)}
    parts = [(own_part(rollout, by_thread), rollout.is_child) for rollout in by_thread.values()]
    started = [entrypoint(rollout.meta) for rollout, (part, _) in zip(by_thread.values(), parts) if has_messages(part)]
    for root in homes:
        of_root = documents(root)
        parts += [(items, False) for items in of_root.values()]
        by_thread |= of_root
    asked = [(part, prompts(part, is_child)) for part, is_child in parts]
    typed = [words for _, found in asked for _, words in found]
    typed += [words for root in homes for words in typed_alone(root, by_thread, set(typed))]
    calls = [one for part, _ in parts for one in calls_of(part)]
    ends = [endings(part) for part, _ in parts]
    facts = [facts for (_, facts), _ in responses.values()]
    return by_model | rows.counted(["prompt"] * len(typed), [call.status() for call in calls], ["prompt"]) \
        | edits.sums(call.edit for call in calls if call.status() == "ok") \
        | shell.columns(call.shell() for call in calls) \
        | rows.tally("messages.permission_mode", [mode for found in asked for mode in modes(*found)]) \
        | rows.measured("messages.duration_ms", [one for durations, _ in ends for one in durations]) \
        | rows.tally("messages.error_type", [one for _, errors in ends for one in errors]) \
        | rows.tally("sessions.entrypoint", started) \
        | rows.measured("usage.time_to_first_token_ms", [fact.get("first_token") for fact in facts]) \
        | rows.tally("usage.reasoning_effort", [fact.get("effort") for fact in facts]) \
        | rows.measured("usage.context_window", [fact.get("window") for fact in facts]) \
        | rows.tally("usage.plan", [fact.get("plan") for fact in facts]) \
        | rows.measured("usage.limit_short_percent", [fact.get("short") for fact in facts]) \
        | rows.measured("usage.limit_long_percent", [fact.get("long") for fact in facts]) \
        | rows.tally("usage.limit_short_resets_at", [fact.get("short_end") for fact in facts]) \
        | rows.tally("usage.limit_long_resets_at", [fact.get("long_end") for fact in facts]) \
        | rows.measured("usage.limit_long_minutes", [fact.get("minutes") for fact in facts])


def homes(home):
    return [os.path.join(home, ".codex"), *glob.glob(os.path.join(home, ".openclaw/agents/*/agent/codex-home"))]


def show(homes):
    """Prints what is in some homes of Codex. Lines may be nested 100,000 deep."""
    def main():
        json.dump(total(homes), sys.stdout, indent=2)
        print()
    sys.setrecursionlimit(10**6)
    threading.stack_size(1 << 30)
    with concurrent.futures.ThreadPoolExecutor(1) as big_stack:
        big_stack.submit(main).result()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    show(homes(sys.argv[1]))
