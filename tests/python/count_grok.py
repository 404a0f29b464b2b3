#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Grok Build below a home folder, once each.

    count_grok.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import datetime
import glob
import json
import os
import re
import sys

import lines
import rows

START = re.compile(r'\{"(?:timestamp|type|role)"')
COUNTS = ("inputTokens", "outputTokens", "cachedReadTokens", "cacheCreationTokens")


def table(value):
    return value if isinstance(value, dict) else {}


def records_of(path):
    if os.path.isfile(path):
        with open(path, "rb") as file:
            for number, line in enumerate(file.read().split(b"\n")):
                for record in lines.objects(line.decode("utf-8", "replace"), START):
                    if isinstance(record, dict):
                        yield number, record


def count(value):
    return value if isinstance(value, int) and value >= 0 else 0


class Session:
    def __init__(self, folder):
        self.name = os.path.basename(folder)
        try:
            with open(os.path.join(folder, "summary.json")) as file:
                self.summary = json.load(file)
        except ValueError:
            self.summary = {}
        created = self.summary.get("created_at")
        self.created = datetime.datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp() * 1000 if created else 0
        self.turns, self.children, self.messages, self.calls, self.has_log = {}, {}, {}, {}, False
        self.efforts = {}
        for _, record in records_of(os.path.join(folder, "chat_history.jsonl")):
            if record.get("type") == "assistant" and record.get("reasoning_effort"):
                self.efforts[record.get("content")] = record["reasoning_effort"]
        self.read_log(os.path.join(folder, "updates.jsonl"))
        if not self.has_log:
            self.read_history(os.path.join(folder, "chat_history.jsonl"))

    def read_log(self, path):
        said, prompt, text, effort = None, None, "", None
        for number, record in records_of(path):
            self.has_log = True
            params = table(record.get("params"))
            update, meta = table(params.get("update")), table(params.get("_meta"))
            moment = meta.get("agentTimestampMs") or record.get("timestamp", 0) * 1000
            kind, call = update.get("sessionUpdate"), update.get("toolCallId")
            if kind in ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"):
                speaker = ("prompt" if kind.startswith("user") else "reply", meta.get("promptId"))
                if said != speaker:
                    self.messages[meta.get("promptId") or self.name, len(self.messages)] = speaker[0]
                    effort, text = self.efforts.get(text, effort), ""
                effort = None if speaker[0] == "prompt" else effort
                if kind == "agent_message_chunk":
                    text += table(update.get("content")).get("text") or ""
                said, prompt = speaker, meta.get("promptId")
                continue
            said, effort, text = None, self.efforts.get(text, effort), ""
            if kind == "tool_call":
                self.calls.setdefault((prompt, call), "pending")
            elif kind == "tool_call_update" and (prompt, call) in self.calls and update.get("status") in ("completed", "failed"):
                words = json.dumps([update.get("rawOutput"), update.get("content")]).lower()
                refused = "user" in words and re.search("denied|rejected|declined", words)
                self.calls[prompt, call] = "ok" if update["status"] == "completed" else "rejected" if refused else "error"
            elif kind == "turn_completed":
                if update.get("stop_reason") == "cancelled":
                    self.calls = {name: "interrupted" if how == "pending" else how for name, how in self.calls.items()}
                usage = update.get("usage")
                if isinstance(usage, dict) and update.get("prompt_id"):
                    models = usage.get("modelUsage") or {self.summary.get("current_model_id"): usage}
                    numbers = {model: [count(one.get(name)) for name in COUNTS] for model, one in models.items()}
                    self.turns[update["prompt_id"]] = (moment, numbers, effort or self.summary.get("reasoning_effort"))
            elif kind == "subagent_spawned":
                spawned = update.get("parent_prompt_id"), update.get("child_session_id")
                self.children.setdefault(spawned, moment)

    def read_history(self, path):
        pending = []
        for number, record in records_of(path):
            kind = record.get("type") or record.get("role")
            text = json.dumps(record.get("content"))
            if kind == "user":
                typed = record.get("synthetic_reason") in (None, "interjection") and "<user_info>" not in text
                self.messages[self.name, number] = "prompt" if typed else "meta"
            elif kind == "assistant":
                self.messages[self.name, number] = "reply"
            elif kind in ("tool_result", "tool"):
                if (self.name, record.get("tool_call_id")) in self.calls:
                    self.calls[self.name, record["tool_call_id"]] = "ok"
            else:
                continue
            for name in [name for name, how in self.calls.items() if how == "pending" and name in pending]:
                pending.remove(name)
            for call in record.get("tool_calls") or []:
                self.calls[self.name, call.get("id")] = "pending"
            self.last = number
            self.opened = number if record.get("tool_calls") else getattr(self, "opened", -1)
        if getattr(self, "last", 0) > getattr(self, "opened", -1):
            self.calls = {name: "interrupted" if how == "pending" else how for name, how in self.calls.items()}


def total(home):
    folders = sorted(glob.glob(os.path.join(glob.escape(home), ".grok/sessions/*/*/")))
    sessions = [Session(folder.rstrip("/")) for folder in folders if os.path.isfile(os.path.join(folder, "summary.json"))]
    by_name = {session.name: session for session in sessions}
    models, kinds, calls, seen, efforts = collections.defaultdict(collections.Counter), {}, {}, set(), []
    for session in sorted(sessions, key=lambda one: one.created):
        for prompt, (moment, numbers, effort) in session.turns.items():
            if prompt in seen:
                continue
            seen.add(prompt)
            numbers = {model: list(counts) for model, counts in numbers.items()}
            for (_, child), began in [one for one in session.children.items() if one[0][0] == prompt and one[0][1] in by_name]:
                for ended, of_child, _ in by_name[child].turns.values():
                    for model, counts in of_child.items() if began <= ended <= moment else ():
                        if model in numbers:
                            numbers[model] = [max(0, a - b) for a, b in zip(numbers[model], counts)]
            for model, (given, output, read, write) in numbers.items():
                if given or output or read or write:
                    efforts.append(effort)
                    models[model or "null"].update({
                        "responses": 1, "input_tokens": max(0, given - read - write), "cache_read_tokens": read,
                        "cache_write_5m_tokens": write, "output_tokens": output})
        for name, kind in session.messages.items():
            kinds.setdefault(name, kind)
        for name, how in session.calls.items():
            calls.setdefault(name, how)
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)} \
        | rows.counted(kinds.values(), calls.values()) | rows.tally("usage.reasoning_effort", efforts)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
