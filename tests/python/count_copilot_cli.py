#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of GitHub Copilot CLI below a home folder, once each.

    count_copilot_cli.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null". A total counts as one response.
"""
import collections
import datetime
import glob
import json
import math
import os
import re
import sqlite3
import sys
import urllib.parse

import edits
import failures
import lines
import rows
import shell

LARGEST = 2**53 - 1
FIELDS = ["input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]


# ---------------------------------------------------------------- values

def text(value):
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return re.sub("[\ud800-\udfff]", "\ufffd", str(value)) or None


def count(value):
    """A whole number; below 0 is 0; anything else is None."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return max(0, int(value)) if abs(value) <= LARGEST else None


def number(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number and value >= 0 else None


UNITS_SINCE = datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc).timestamp()  # before, requests were charged


def units(usage, at):
    """What a call at that time was charged; nothing is no charge."""
    nano = number(table(usage).get("totalNanoAiu"))
    return nano / 1e9 if nano and (at is None or at >= UNITS_SINCE) else None


def moment(value):
    """Seconds since 1970."""
    if isinstance(value, str):
        try:
            when = datetime.datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            return None
        return (when if when.tzinfo else when.replace(tzinfo=datetime.timezone.utc)).timestamp()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value / 1000 if value > 1e11 else value
    return None


def table(value):
    return value if isinstance(value, dict) else {}


def split(gross, read, write, output, long_cache=False):
    """The input is without both caches; what is not told at all is 0 in the sums."""
    gross, read, write, output = (number or 0 for number in (gross, read, write, output))
    return {
        "input_tokens": max(0, gross - read - write),
        "cache_read_tokens": read,
        "cache_write_5m_tokens": 0 if long_cache else write,
        "cache_write_1h_tokens": write if long_cache else 0,
        "output_tokens": output,
    }


def version(value):
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", value or "")
    return tuple(int(part) for part in found.groups()) if found else None


# ---------------------------------------------------------------- files

START = re.compile(r'\{"(?:type|id)":')


def is_json(line):
    try:
        lines.JSON.decode(line.decode("utf-8", "replace"))
        return True
    except ValueError:
        return False


def joined(rows, first):
    """The record that begins on a line and goes on on the next ones, as a line end in a text was not escaped; else None."""
    for last in range(first, min(first + 16, len(rows))):
        if is_json(rows[last]):
            return None
        whole = b"\\n".join(rows[first:last + 1])
        if is_json(whole):
            return whole
    return None


def events(path):
    with open(path, "rb") as file:
        content = file.read()
    parts = content.split(b"\n")
    for number, line in enumerate(parts, 1):
        line = joined(parts, number - 1) or line
        line = line.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
        for value in lines.objects(line.decode("utf-8", "replace").strip(), START):
            if isinstance(value, dict):
                yield number, value


def transcripts(root):
    """(session, path), those of folders and single files."""
    for folder in ("session-state", "sessions"):
        for path in sorted(glob.glob(os.path.join(glob.escape(root), folder, "*", "events.jsonl"))):
            yield os.path.basename(os.path.dirname(path)), path
        for path in sorted(glob.glob(os.path.join(glob.escape(root), folder, "*.jsonl"))):
            yield os.path.basename(path)[: -len(".jsonl")], path
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "jb", "*", "partition-*.jsonl"))):
        yield os.path.basename(os.path.dirname(path)), path


def store_rows(path, name="assistant_usage_events"):
    uri = "file:" + urllib.parse.quote(os.path.abspath(path)) + "?mode=ro&immutable=1"
    database = sqlite3.connect(uri, uri=True)
    database.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in database.execute("SELECT * FROM %s ORDER BY session_id" % name)]
    except sqlite3.OperationalError:
        return []
    finally:
        database.close()


# ---------------------------------------------------------------- one events file

class Process:
    def __init__(self, begun):
        self.begun = begun
        self.paid = 0  # the units that the session had cost before
        self.after_records = False
        self.last = begun
        self.records = {}
        self.replies = {}  # response -> [model, most output, whether it has the call's own id]
        self.compactions = []
        self.records_compactions = False

    def charges(self):
        """The units of calls that are told one by one."""
        return sum(row.units or 0 for row in self.records.values()) + sum(one[4] or 0 for one in self.compactions)

    def settles(self, response):
        """Whether a record is, or may be, that of a reply: one of a call with an id has that id, any other may be of any."""
        of_any = any(record.startswith("usage:") for record in self.records)
        return bool(self.records) and (of_any or not self.replies[response][2] or response in self.records)


class Row:
    """One candidate for the count."""

    def __init__(self, identity, model, tokens, ended, chosen=(None, None), units=None, first_token=None):
        self.identity, self.model, self.tokens, self.ended = identity, model, tokens, ended
        self.chosen, self.units, self.first_token = chosen, units, first_token


def metrics_of(data):
    own = table(data.get("modelMetrics"))
    from_snapshot = not any(isinstance(table(metric).get("usage"), dict) for metric in own.values())
    metrics = table(table(data.get("accountingSnapshot")).get("modelMetrics")) if from_snapshot else own
    found = {}
    for model, metric in metrics.items():
        usage = table(metric).get("usage")
        if isinstance(usage, dict):
            found[model] = tuple(count(usage.get(name)) or 0 for name in
                                 ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"))
    return found, from_snapshot


class Session:
    def __init__(self):
        self.rows = []
        self.recorded_since = None
        self.processes = []
        self.process = None
        self.last = None
        self.version = None
        self.checkpoint = False
        self.previous = {}
        self.summed = collections.defaultdict(collections.Counter)  # what rows tell of each model
        self.untold = []
        self.told = set()  # replies and compactions that shutdowns or records tell of
        self.models = {}
        self.chosen = {}  # (model, effort) that the person chose for a thread
        self.paid, self.paid_by = 0, {}  # the units at the last checkpoint or shutdown: of all models, and of each
        self.unpaid = []  # replies since then
        self.spoken = set()  # models that a reply named

    def begin(self, at):
        self.process = Process(at)
        self.process.after_records = self.recorded_since is not None
        self.process.paid = self.paid
        self.processes.append(self.process)
        self.untold.append(self.process)

    def running(self):
        if self.process is None:
            self.begin(self.last)
        return self.process

    def read(self, path):
        seen = set()
        for line, event in events(path):
            when = moment(event.get("timestamp"))
            if when is not None:
                self.last = when if self.last is None else max(self.last, when)
                if self.process is not None:
                    self.process.last = max(self.process.last or when, when)
            identity = text(event.get("id")) or f"line-{line}"
            if identity in seen:
                continue
            seen.add(identity)
            data = table(event.get("data"))
            take = getattr(self, "take_" + str(event.get("type")).replace(".", "_"), None)
            if take:
                take(identity, event, data, when)
        self.end()
        return self

    def end(self):
        """A process is over: its rows, but for what a shutdown will tell."""
        self.process = None

    def take_session_start(self, identity, event, data, when):
        self.begin(when)
        self.version = version(text(data.get("copilotVersion"))) or self.version
        if text(data.get("selectedModel")):
            self.models[None] = text(data.get("selectedModel"))
            self.choose(None, self.models[None], data)

    take_session_resume = take_session_start

    def choose(self, thread, model, data):
        self.chosen[thread] = model, text(data.get("reasoningEffort"))

    def take_session_model_change(self, identity, event, data, when):
        model = text(data.get("newModel")) or text(data.get("chosenModel"))
        if model:
            self.models[text(event.get("agentId"))] = model
        if text(data.get("newModel")):
            self.choose(text(event.get("agentId")), model, data)

    take_session_auto_mode_resolved = take_session_model_change

    def chosen_by(self, event, data):
        thread = text(event.get("agentId")) or text(data.get("parentToolCallId"))
        return self.chosen.get(thread, (None, None))

    def model_of(self, event, data, own):
        thread = text(event.get("agentId")) or text(data.get("parentToolCallId"))
        model = text(own) or self.models.get(thread)
        return None if model == "auto" and not text(own) else model

    def take_session_usage_checkpoint(self, identity, event, data, when):
        self.checkpoint = True
        process, total = self.running(), units(data, self.last)
        if total is None:
            return
        rest = total - max(self.paid, process.paid + process.charges())
        open_replies = [reply for response, reply in self.unpaid if not process.settles(response)]
        output = sum(reply[1] for reply in open_replies)
        for reply in open_replies:
            reply[4] = rest * reply[1] / output if output and rest > 0 else None
        self.paid, self.unpaid = total, []

    def take_assistant_message(self, identity, event, data, when):
        process = self.running()
        response = (text(data.get("apiCallId")) or text(data.get("requestId")) or text(data.get("messageId"))
                    or identity)
        reply = process.replies.setdefault(
            response, [self.model_of(event, data, data.get("model")), 0, bool(text(data.get("apiCallId"))),
                       self.chosen_by(event, data), None])
        self.unpaid += [(response, reply)] if not reply[1] else []
        reply[1] = max(reply[1], count(data.get("outputTokens")) or 0)

    def take_session_usage_record(self, identity, event, data, when):
        usage = data.get("usage")
        if not isinstance(usage, dict):
            return
        process = self.running()
        accounting = table(usage.get("accounting"))
        response = text(usage.get("apiCallId")) or "usage:" + (text(accounting.get("usageId")) or identity)
        if any(response in other.records for other in self.processes):
            return
        tokens = split(count(usage.get("inputTokens")), count(usage.get("cacheReadTokens")),
                       count(usage.get("cacheWriteTokens")), count(usage.get("outputTokens")),
                       (count(usage.get("cacheTtlSeconds")) or 0) > 300)
        process.records[response] = Row(response, self.model_of(event, usage, usage.get("model")), tokens, None,
                                        self.chosen_by(event, data), units(usage.get("copilotUsage"), self.last))
        self.summed[process.records[response].model].update(tokens)
        said = (text(usage.get("initiator")) or "") + " " + (text(usage.get("interactionType")) or "")
        process.records_compactions |= "compaction" in said
        if self.recorded_since is None:
            self.recorded_since = (process.begun,)
        process.after_records = True

    def take_session_compaction_complete(self, identity, event, data, when):
        used = data.get("compactionTokensUsed")
        if not isinstance(used, dict):
            return
        tokens = split(*(count(used.get(new, used.get(old))) for new, old in (
            ("inputTokens", "input"), ("cacheReadTokens", "cachedInput"), ("cacheWriteTokens", None),
            ("outputTokens", "output"))))
        model = self.model_of(event, data, used.get("model"))
        process = self.running()
        process.compactions.append((f"compaction:{identity}", model, tokens, None, units(used.get("copilotUsage"), self.last)))

    def beyond_records(self, process, metrics):
        """What a shutdown tells of each model beyond what rows tell: calls of which the record is missing."""
        if not process.records_compactions:
            for _, model, tokens, *_ in process.compactions:
                self.summed[model].update(tokens)
        if sum(now[0] + now[1] for now in metrics.values()) <= sum(sum(sums.values()) for sums in self.summed.values()):
            return {}
        rest = {}
        for model, (gross, output, read, write) in metrics.items():
            sums = self.summed[model]
            written = sums["cache_write_5m_tokens"] + sums["cache_write_1h_tokens"]
            known = sums["input_tokens"] + sums["cache_read_tokens"] + written
            tokens = split(max(0, gross - known), max(0, read - sums["cache_read_tokens"]), max(0, write - written),
                           max(0, output - sums["output_tokens"]))
            if any(tokens.values()):
                rest[model] = tokens
        return rest

    def take_session_shutdown(self, identity, event, data, when):
        process = self.running()
        since = collections.Counter()
        for other in self.untold:
            for model, output, *_ in other.replies.values():
                since[model] += output
        self.spoken |= {model for model, output in since.items() if output}
        metrics, from_snapshot = metrics_of(data)
        totals = {}
        for model, now in metrics.items():
            before = self.previous.get(model)
            self.previous[model] = now
            if before and all(a >= b for a, b in zip(now, before)):
                alone, together = abs(now[1] - since[model]), abs(now[1] - before[1] - since[model])
                if model in self.spoken and alone != together:
                    goes_on = alone > together
                elif self.version is None or self.version >= (1, 0, 80):
                    goes_on = True
                elif self.version <= (1, 0, 67):
                    goes_on = False
                else:
                    goes_on = self.checkpoint
                if goes_on or from_snapshot:
                    now = tuple(a - b for a, b in zip(now, before))
            gross, output, read, write = now
            tokens = split(gross, read, write, output)
            if any(tokens.values()):
                totals[model] = tokens
        if process.records:
            totals = self.beyond_records(process, metrics)
        self.tell(process, totals)
        ended = when if when is not None else self.last
        charged = self.charged(data, totals, process)
        chosen = {reply[3] for reply in process.replies.values()} if len(totals) == 1 else ()
        chosen = chosen.pop() if len(chosen) == 1 else (None, None)
        for model, tokens in totals.items():
            self.rows.append(Row(f"shutdown:{identity}:{model}", model, tokens, None if process.after_records else (ended,),
                                 chosen, charged.get(model)))
            self.summed[model].update(tokens)
        self.untold = []
        self.process = None

    def charged(self, data, totals, process):
        """The units of each model that a shutdown tells: what all have cost where there is one, else its own. They go on over
        processes since there are checkpoints."""
        goes_on = self.checkpoint or self.version is not None and self.version >= (1, 0, 80)
        own = {model: units(table(data.get("modelMetrics")).get(model), self.last) for model in totals}
        together = units(data, self.last)
        found = {model: one - (self.paid_by.get(model, 0) if goes_on else 0) for model, one in own.items() if one is not None}
        if len(totals) == 1 and (together or found):
            model = next(iter(totals))
            together = together or own[model]
            found = {model: together - (process.paid if goes_on else 0) - process.charges()}
        self.paid = together if together is not None else self.paid
        self.paid_by |= {model: one for model, one in own.items() if one is not None}
        return {model: one for model, one in found.items() if one > 0}

    def tell(self, process, totals):
        """The replies and compactions that a shutdown's totals count are told."""
        left = {model: tokens["output_tokens"] for model, tokens in totals.items()}
        replies = [(response, *reply[:2]) for other in self.untold for response, reply in other.replies.items()
                   if reply[1] and not other.settles(response)]
        begins_anew = process.compactions and self.version and self.version >= (1, 0, 78)
        own = process.replies if totals and not begins_anew and not process.records else {}
        for response, model, output in reversed(replies):
            model = model if model in left else next(iter(left)) if len(left) == 1 else None
            enough = model is not None and 2 * left[model] >= output  # else from before a crash or a compaction
            if model is not None:
                left[model] = max(0, left[model] - output)
            if enough or response in own:
                self.told.add(response)
        if totals and not process.records and self.version and self.version >= (1, 0, 73):
            self.told.update(identity for identity, *_ in process.compactions)

    def settle(self):
        for process in self.processes:
            if process.records:
                self.told.update(response for response in process.replies if process.settles(response))
            if process.records_compactions:
                self.told.update(identity for identity, *_ in process.compactions)

    def finish(self, told):
        """`told`: the replies and compactions that any file has a shutdown or records of."""
        for process in self.processes:
            self.rows.extend(process.records.values())
            ended = None if process.after_records else (process.last,)
            for response, (model, output, _, chosen, charged) in process.replies.items():
                if output and response not in told:
                    self.rows.append(Row(response, model, split(None, None, None, output), ended, chosen, charged))
            for identity, model, tokens, _, charged in process.compactions:
                if identity not in told:
                    self.rows.append(Row(identity, model, tokens, ended, units=charged))


# ---------------------------------------------------------------- messages and tool calls

SHELLS = ("bash", "powershell", "shell")
HIDDEN = ("skill-", "system", "agent-")
INJECTED = ("<skill-context", "<reminder>", "<system_notification>")
REJECTED = ("The user rejected this tool call", "Permission denied by user", "Denied by user via preToolUse hook prompt:")
STOPPED = ("The execution of this tool, or a previous tool was interrupted.", "The pending permission request was cancelled")
DECISIONS = {"denied-interactively-by-user": "rejected", "cancelled": "interrupted"}
EXIT = re.compile(r"(?:exited|completed) with exit code (-?\d+)>")


def exit_code(data):
    """The exit code of a call that was carried out, as a field, else in a block or the text."""
    result = table(data.get("result"))
    codes = [table(data.get("shellExecution")).get("exitCode")]
    codes += [table(part).get("exitCode") for part in result.get("contents") or ()]
    codes += EXIT.findall(text(result.get("content")) or "")[-1:]
    return next((int(code) for code in codes if code is not None), None)


def ended(data, decision):
    """How a call ended; a decision that is recorded counts before the text."""
    result, error = table(data.get("result")), table(data.get("error"))
    words = text(error.get("message")) or text(result.get("content")) or ""
    if data.get("success") is False or error:
        if decision and not decision.startswith("approved"):
            return DECISIONS.get(decision, "error")
        return "rejected" if words.startswith(REJECTED) else "interrupted" if words.startswith(STOPPED) else "error"
    return "error" if exit_code(data) else "ok"


def arguments(given):
    """Arguments, which may be text."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


def edited(data, asked):
    """The lines that a call changed: as measured, else by its arguments."""
    metrics = table(table(data.get("toolTelemetry")).get("metrics"))
    if "linesAdded" in metrics and "linesRemoved" in metrics:
        return metrics["linesAdded"], metrics["linesRemoved"]
    tool, given = asked[0], arguments(asked[1])
    command = table(given).get("command")
    if tool in SHELLS:
        return edits.of_command(command) if isinstance(command, str) else None
    is_edit = tool in ("edit", "apply_patch", "str_replace", "insert") or \
        tool == "str_replace_editor" and command not in ("view", "create")
    return edits.of_arguments(given) if is_edit else None


class Spoken:
    """Kinds of messages and statuses of calls, by the event that first tells of them."""

    def __init__(self):
        self.kinds, self.calls, self.edits = {}, {}, {}
        self.asked, self.outputs, self.codes, self.errors, self.times = {}, {}, {}, {}, {}

    def read(self, path):
        opened, decisions, asked, decided, wanted = {}, {}, {}, set(), {}
        for line, event in events(path):
            kind, data = event.get("type"), table(event.get("data"))
            identity = text(event.get("id")) or (path, line)
            name = text(data.get("toolCallId"))
            if kind == "user.message" and isinstance(event.get("data"), dict):
                said, source = text(data.get("content")) or "", text(data.get("source")) or ""
                is_task = source.startswith("agent-") and text(event.get("agentId"))
                hidden = source.startswith(HIDDEN) and not is_task or data.get("isAutopilotContinuation") is True
                self.kinds.setdefault(identity, "other" if hidden or said.startswith(INJECTED) else "prompt")
            elif kind == "assistant.message":
                response = text(data.get("apiCallId")) or text(data.get("messageId")) or identity
                self.kinds.setdefault(("reply", response), "reply")
                requests = data.get("toolRequests")
                for place, request in enumerate(requests if isinstance(requests, list) else ()):
                    call = text(table(request).get("toolCallId"))
                    is_begun = isinstance(opened.get(call), str) and self.calls.get(opened[call]) == "pending"
                    if call and not is_begun:  # else its start came before the request for it
                        wanted[call] = request.get("name"), request.get("arguments")
                        opened[call] = identity, place
                        self.calls.setdefault(opened[call], "pending")
                        self.asked.setdefault(opened[call], wanted[call])
            elif kind in ("tool.execution_start", "tool.user_requested", "subagent.started") and name not in opened:
                opened[name] = identity
                wanted[name] = data.get("toolName"), data.get("arguments")
                self.calls.setdefault(identity, "pending")
                self.asked.setdefault(identity, wanted[name])
            elif kind == "session.error":
                self.errors[identity] = failures.reason(text(data.get("message")), text(data.get("errorType")), data.get("statusCode"))
            elif kind == "session.compaction_complete":
                self.times[identity] = number(table(data.get("compactionTokensUsed")).get("duration"))
            elif kind == "permission.requested":
                asked[data.get("requestId")] = text(table(data.get("permissionRequest")).get("toolCallId"))
            elif kind == "permission.completed":
                call = name or asked.get(data.get("requestId"))
                decisions[call] = decision = text(table(data.get("result")).get("kind")) or ""
                if not decision.startswith("approved") and self.calls.get(opened.get(call)) == "pending":
                    self.calls[opened[call]] = DECISIONS.get(decision, "error")
                    decided.add(opened[call])
            elif kind == "tool.execution_complete":
                key = opened.get(name, identity)
                if self.calls.get(key, "pending") == "pending" or key in decided:
                    self.calls[key] = ended(data, decisions.get(name))
                    self.codes[key] = exit_code(data)
                    self.outputs[key] = text(table(data.get("error")).get("message")) or text(table(data.get("result")).get("content"))
                    if self.calls[key] == "ok":
                        self.edits[key] = edited(data, wanted.get(name, (None, None)))
                    decided.discard(key)

    def shells(self):
        """Commands with their output, how they ended, and whether their exit code is not known."""
        for key, how in self.calls.items():
            tool, given = self.asked.get(key, (None, None))
            if tool in SHELLS:
                yield table(arguments(given)).get("command"), self.outputs.get(key) or "", how, self.codes.get(key) is None

    def read_chat(self, path, known):
        """One document of the oldest versions; not if the session has events."""
        with open(path, "rb") as file:
            try:
                chat = table(lines.JSON.decode(file.read().decode("utf-8", "replace")))
            except ValueError:
                return
        session = text(chat.get("sessionId"))
        for place, message in enumerate(chat.get("chatMessages") or () if session and session not in known else ()):
            role, name = message.get("role"), (session, message.get("tool_call_id"))
            self.kinds[session, place] = {"user": "prompt", "assistant": "reply"}.get(role, "other")
            for call in message.get("tool_calls") or ():
                self.calls[session, call.get("id")] = "pending"
                made = table(call.get("function"))
                self.asked[session, call.get("id")] = made.get("name"), made.get("arguments")
            if role == "tool":
                words = text(message.get("content")) or ""
                code = EXIT.findall(words)[-1:]
                self.codes[name] = int(code[0]) if code else None
                self.outputs[name] = words
                self.calls[name] = "rejected" if words.startswith(REJECTED) else "error" if self.codes[name] else "ok"
                if self.calls[name] == "ok":
                    self.edits[name] = edited({}, self.asked.get(name, (None, None)))

    def read_turns(self, path, known):
        """What the database has of sessions without events."""
        for row in store_rows(path, "turns"):
            if row["session_id"] not in known:
                for kind, column in (("prompt", "user_message"), ("reply", "assistant_response")):
                    self.kinds[row["session_id"], row["turn_index"], kind] = kind if row[column] else "other"


# ---------------------------------------------------------------- all together

def spoken(home):
    found, known = Spoken(), set()
    roots = (os.path.join(home, ".copilot"), os.path.join(home, ".copilot-cli"))
    for root in roots:
        for session, path in transcripts(root):
            found.read(path)
            known.add(session)
    for root in roots:
        for path in sorted(glob.glob(os.path.join(glob.escape(root), "history-session-state", "session_*.json"))):
            found.read_chat(path, known)
        if os.path.isfile(os.path.join(root, "session-store.db")):
            found.read_turns(os.path.join(root, "session-store.db"), known)
    return rows.counted(found.kinds.values(), found.calls.values()) | edits.sums(found.edits.values()) \
        | shell.columns(found.shells()) | rows.measured("tool_calls.exit_code", found.codes.values()) \
        | rows.tally("messages.error_type", found.errors.values()) | rows.measured("messages.duration_ms", found.times.values())


def total(home):
    roots = [os.path.join(home, ".copilot"), os.path.join(home, ".copilot-cli")]
    sessions = collections.defaultdict(list)
    for root in roots:
        for session, path in transcripts(root):
            sessions[session].append(Session().read(path))
    stored = collections.defaultdict(dict)
    for root in roots:
        path = os.path.join(root, "session-store.db")
        if os.path.isfile(path):
            for row in store_rows(path):
                tokens = split(*(count(row.get(name)) for name in (
                    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")))
                if row.get("session_id") and any(tokens.values()):
                    identity = (row.get("session_id"), row.get("id"), row.get("created_at"))
                    stored[row["session_id"]][identity] = (row, tokens)

    told = set()
    for file in (file for files in sessions.values() for file in files):
        file.settle()
        told |= file.told
    for file in (file for files in sessions.values() for file in files):
        file.finish(told)

    counted = {}
    for session, files in sessions.items():
        first = min((moment(row["created_at"]) or 0 for row, _ in stored[session].values()), default=None)
        for file in files:
            for row in file.rows:
                if first is not None and row.ended is not None:
                    if row.ended[0] is None or first <= math.floor(row.ended[0]) + 1:
                        continue
                counted.setdefault(row.identity, row)
    for session, of_session in stored.items():
        recorded = [file.recorded_since[0] or 0 for file in sessions.get(session, []) if file.recorded_since]
        for identity, (row, tokens) in of_session.items():
            created = moment(row["created_at"])
            if recorded and (created is None or min(recorded) <= math.floor(created) + 1):
                continue
            counted[identity] = Row(identity, text(row.get("model")), tokens, None, (None, text(row.get("reasoning_effort"))),
                                    units({"totalNanoAiu": row.get("total_nano_aiu")}, moment(row.get("created_at"))), number(row.get("time_to_first_token_ms")))

    models = collections.defaultdict(collections.Counter)
    for row in counted.values():
        if any(row.tokens.values()):
            models[row.model or "null"].update({"responses": 1, **row.tokens})
    billed = [row for row in counted.values() if any(row.tokens.values())]
    return {model: {name: models[model][name] for name in ["responses", *FIELDS]} for model in sorted(models)} \
        | rows.tally("usage.requested_model", [row.chosen[0] for row in billed]) \
        | rows.tally("usage.reasoning_effort", [row.chosen[1] for row in billed]) \
        | rows.measured("usage.credits", [row.units for row in billed], 1000) \
        | rows.measured("usage.time_to_first_token_ms", [row.first_token and round(row.first_token) for row in billed])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]) | spoken(sys.argv[1]), sys.stdout, indent=2)
    print()
