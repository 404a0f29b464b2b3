#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that pi recorded below a home folder, once each.

    count_pi.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
Oh My Pi and OpenClaw write the same lines: their scripts use the functions below.
"""
import collections
import datetime
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
ORDER = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens",
         "output_tokens"]
LARGEST = 2**53 - 1


# ---------------------------------------------------------------- lines

def entries(content):
    """The entries in the bytes of a transcript."""
    for line in content.split(b"\n"):
        line = line.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
        for value in lines.objects(line.decode("utf-8", "replace").strip(), START):
            if isinstance(value, dict):
                yield value


# ---------------------------------------------------------------- values

def text(value):
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) and value else None


def number(value):
    """A whole number, also as 12.0 or "12"; anything else is None, less than 0 is 0."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return max(0, int(value)) if abs(value) <= LARGEST else None


def moment(value):
    """Milliseconds since 1970 of an ISO text or a number."""
    if isinstance(value, str):
        try:
            parsed = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
            return round(parsed.replace(tzinfo=parsed.tzinfo or datetime.timezone.utc).timestamp() * 1000)
        except ValueError:
            value = number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return round(value * 1000 if value < 1e11 else value)


def tokens(usage, api, provider):
    """The arithmetic of the format: Google's input without what was cached, one-hour writes within writes."""
    read, write, output = (number(usage.get(key)) or 0 for key in ("cacheRead", "cacheWrite", "output"))
    entered = number(usage.get("input")) or 0
    total = number(usage.get("totalTokens"))
    google = api in ("google-generative-ai", "google-vertex") if api else \
        (provider or "").startswith("google") and provider != "google-gemini-cli"
    if google and read and entered + output == total and entered + output + read + write != total:
        entered = max(0, entered - read)
    has_write = number(usage.get("cacheWrite")) is not None
    hour = number(usage.get("cacheWrite1h")) or 0
    hour = min(hour, write) if has_write else hour
    return {"input_tokens": entered, "cache_read_tokens": read, "cache_write_5m_tokens": write - hour if has_write else 0,
            "cache_write_1h_tokens": hour, "output_tokens": output}


# ---------------------------------------------------------------- model calls

def identity(entry):
    """What is the same wherever the entry was copied to, and nowhere else.

    Entries of version 1 have no id, and are given one when the file is opened by a newer version: the moments of entry
    and message are what stays.
    """
    message = entry.get("message") if isinstance(entry.get("message"), dict) else {}
    at = moment(entry.get("timestamp")) or moment(message.get("timestamp"))
    return entry.get("id"), at, moment(message.get("timestamp")), message.get("role")


def spoken_model(entry, before):
    """The model that speaks behind an entry."""
    message = entry.get("message") if isinstance(entry.get("message"), dict) else {}
    data = entry.get("data") if isinstance(entry.get("data"), dict) else {}
    if entry.get("type") == "model_change":
        return text(entry.get("modelId")) or before
    if entry.get("type") == "custom" and entry.get("customType") == "model-snapshot":
        return text(data.get("modelId")) or before
    if entry.get("type") == "message" and message.get("role") == "assistant" and not is_mirror(message):
        return text(message.get("model")) or before
    return before


def is_mirror(message):
    """OpenClaw's own copy of what it delivered."""
    mirrors = ("delivery-mirror", "gateway-injected")
    return message.get("api") == "openclaw-transcript" or (
        message.get("provider") == "openclaw" and message.get("model") in mirrors)


def calls(entry, billed=lambda message: True, spoken=None, effort=None):
    """The model calls of an entry: (what, model, tokens, columns)."""
    message = entry.get("message")
    kind = entry.get("type")
    if kind == "message" and isinstance(message, dict):
        usage = message.get("usage")
        if not isinstance(usage, dict):
            return
        if message.get("role") == "assistant" and billed(message):
            model = text(message.get("responseModel")) or text(message.get("model")) or spoken
            yield "reply", model, tokens(usage, text(message.get("api")), text(message.get("provider"))), {
                "effort": effort, "first_token": number(message.get("ttft")),
                "requested": text(message.get("model")) if text(message.get("responseModel")) else None}
        elif message.get("role") == "toolResult":
            yield "tool", None, tokens(usage, None, None), {}
    elif kind in ("compaction", "branch_summary", "usage") and isinstance(entry.get("usage"), dict):
        model = text(entry.get("model")) if kind == "usage" else spoken
        yield kind, model, tokens(entry["usage"], None, text(entry.get("provider")) if kind == "usage" else None), {}


# ---------------------------------------------------------------- messages and tool calls

REFUSED = re.compile(r"\b(denied|blocked|rejected|declined|refused|cancelled) by (the )?user|user (denied|rejected|declined)", re.I)
STOPPED = re.compile(r"(Operation|Command|Tool|Tool call|Tool execution) (was )?aborted|Skipped due to queued user message", re.I)


def said(content):
    parts = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def kind(entry):
    message = entry.get("message")
    if entry.get("type") != "message" or not isinstance(message, dict):
        return "other"
    if message.get("role") == "user":  # OpenClaw's program speaks as well
        return "other" if said(message.get("content")).startswith("Read HEARTBEAT.md") else "prompt"
    is_reply = message.get("role") == "assistant" and message.get("stopReason") not in ("error", "aborted")
    return "reply" if is_reply and not is_mirror(message) else "other"


def failed(entry):
    """Why a request failed; None of an entry that is no failure."""
    message = entry.get("message")
    is_failed = entry.get("type") == "message" and isinstance(message, dict) and message.get("role") == "assistant" and \
        message.get("stopReason") == "error" and not is_mirror(message)
    return failures.reason(text(message.get("errorMessage")) or said(message.get("content"))) if is_failed else None


def ended(message):
    """How the call of a result ended."""
    details = message.get("details") if isinstance(message.get("details"), dict) else {}
    words = said(message.get("content"))
    if message.get("isError") is True and len(words) < 300 and REFUSED.search(words):
        return "rejected"
    if message.get("isError") is True and STOPPED.search(words):
        return "interrupted"
    return "error" if message.get("isError") is True or number(details.get("exitCode")) else "ok"


def changed(message, asked):
    """The lines that a call changed which ended well."""
    details = message.get("details") if isinstance(message.get("details"), dict) else {}
    if isinstance(details.get("diff"), str) and details["diff"]:
        return edits.of_diff(details["diff"])
    tool, given = asked
    command = given.get("command") or given.get("cmd") if isinstance(given, dict) else None
    if tool in ("bash", "shell", "exec") and isinstance(command, str):
        return edits.of_command(command)
    return edits.of_arguments(given) if tool in ("edit", "edit_file", "apply_patch", "ast_edit", "notebook") else None


class Calls:
    """Tool calls of all transcripts. A provider's ids are only unique within a reply."""

    def __init__(self, checks=False):
        self.ended, self.asked, self.lines, self.printed, self.codes = {}, {}, {}, {}, {}
        self.checks = checks  # a command that is no error has exit code 0

    def add(self, key, message, opened):
        """Adds the calls of an entry; `opened` has the calls of its transcript by the provider's id."""
        content = message.get("content")
        if message.get("role") == "assistant":
            for place, block in enumerate(content if isinstance(content, list) else ()):
                if isinstance(block, dict) and block.get("type") == "toolCall":
                    call = opened[block.get("id")] = key, place
                    is_stopped = message.get("stopReason") in ("aborted", "error")
                    self.ended.setdefault(call, "interrupted" if is_stopped else "pending")
                    self.asked.setdefault(call, (block.get("name"), block.get("arguments")))
        elif message.get("role") == "toolResult":
            call = opened.get(message.get("toolCallId"), (key, "result"))
            if self.ended.get(call, "pending") == "pending":
                self.ended[call] = ended(message)
                self.printed[call] = said(content)
                details = message.get("details") if isinstance(message.get("details"), dict) else {}
                self.codes[call] = number(details.get("exitCode"))
                if self.ended[call] == "ok":
                    self.lines[call] = changed(message, self.asked.get(call, (message.get("toolName"), None)))
        elif message.get("role") in ("bashExecution", "pythonExecution"):
            stopped = message.get("cancelled") is True
            self.ended[key, "own"] = "interrupted" if stopped else "ok" if number(message.get("exitCode")) == 0 else "error"
            self.asked[key, "own"] = "bash" if message["role"] == "bashExecution" else "python", message
            self.printed[key, "own"] = text(message.get("output")) or ""
            self.codes[key, "own"] = number(message.get("exitCode"))

    def shells(self):
        """Commands with their output, and how they ended."""
        for call, how in self.ended.items():
            tool, given = self.asked.get(call, (None, None))
            if tool in ("bash", "shell", "exec") and isinstance(given, dict):
                is_open = how == "ok" and self.codes.get(call) is None and not (self.checks and tool == "bash")
                yield given.get("command") or given.get("cmd"), self.printed.get(call, ""), how, is_open


def total(transcripts, billed=lambda message: True, checks=False):
    """Sums over transcripts, each a list of entries. A call is counted where it is found first."""
    found, kinds, errors, tools = {}, {}, {}, Calls(checks)
    transcripts = [list(transcript) for transcript in transcripts]
    migrated = set()
    for transcript in transcripts:
        header = next((entry for entry in transcript if entry.get("type") == "session"), {})
        if header.get("provider"):
            migrated.update(identity(entry)[1:] for entry in transcript if entry.get("id"))
    for place, transcript in enumerate(transcripts):
        repeats, spoken, effort, opened = collections.Counter(), None, None, {}
        for line, entry in enumerate(transcript):
            name, at, of_message, role = identity(entry)
            if entry.get("type") in ("session", "thinking_level_change"):
                effort = text(entry.get("thinkingLevel")) or effort
            if entry.get("type") == "session":
                continue
            spoken = spoken_model(entry, spoken)
            if name is None and at is not None:
                if (at, of_message, role) in migrated:
                    continue
                repeats[at, of_message, role] += 1
                key = (None, at, of_message, role, repeats[at, of_message, role])
            elif at is None:
                key = (place, name if name is not None else line)
            else:
                key = (name, at)
            if key not in found:
                found[key] = list(calls(entry, billed, spoken, effort))
                kinds[key] = kind(entry)
                errors[key] = failed(entry)
            if isinstance(entry.get("message"), dict):
                tools.add(key, entry["message"], opened)
    models = collections.defaultdict(collections.Counter)
    facts = []
    for made in found.values():
        for _, model, numbers, told in made:
            if any(numbers.values()):
                models[model or "null"].update({"responses": 1, **numbers})
                facts.append(told)
    by_model = {model: {name: models[model][name] for name in ORDER} for model in sorted(models)}
    return by_model | rows.counted(kinds.values(), tools.ended.values()) | edits.sums(tools.lines.values()) \
        | shell.columns(tools.shells()) \
        | rows.tally("messages.error_type", errors.values()) \
        | rows.tally("usage.reasoning_effort", [told.get("effort") for told in facts]) \
        | rows.tally("usage.requested_model", [told.get("requested") for told in facts]) \
        | rows.measured("usage.time_to_first_token_ms", [told.get("first_token") for told in facts])


def below(sessions):
    """The transcripts below a folder of sessions."""
    for folder, _, names in sorted(os.walk(sessions)):
        if "subagent-artifacts" in folder.split(os.sep) or "artifacts" in folder.split(os.sep):
            continue
        for name in sorted(names):
            if name.endswith(".jsonl"):
                with open(os.path.join(folder, name), "rb") as file:
                    yield entries(file.read())


def show(result):
    json.dump(result, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    show(total(below(os.path.join(sys.argv[1], ".pi", "agent", "sessions")), checks=True))
