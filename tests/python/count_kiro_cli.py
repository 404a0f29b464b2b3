#!/usr/bin/env python3
"""Count the requests and turns that Kiro CLI noted below a home folder, once each, with their tokens; and messages and
tool calls.

    count_kiro_cli.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
The first engine's conversations are Amazon Q's: see count_amazon_q.py.
"""
import glob
import json
import os
import re
import sys

import count_amazon_q
import failures
import lines
from count_amazon_q import count, mapping, text

START = re.compile(r'\{"(?:version|kind|id|timestamp)"')  # how a record begins


def read(path):
    """The object in a file; nothing where there is none."""
    try:
        with open(path, "rb") as file:
            return mapping(json.loads(file.read()))
    except (OSError, ValueError):
        return {}


def records(path):
    """(line, record) of each record of a file."""
    with open(path, "rb") as file:
        for number, line in enumerate(file.read().split(b"\n"), 1):
            for value in lines.objects(line.decode("utf-8", "replace"), START):
                if isinstance(value, dict):
                    yield number, value


def credits(charged, name):
    """The sum of what was charged in credits."""
    told = [one.get(name) for one in charged if str(mapping(one).get("unit")).startswith("credit")] \
        if isinstance(charged, list) else []
    return sum(told) if told else None


def second_engine(sessions):
    """The turns that states note. 0 tokens are none told."""
    for folder in (sessions, os.path.join(sessions, "cli")):
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.json"))):
            state = read(path)
            inner = mapping(state.get("session_state"))
            model = text(mapping(mapping(inner.get("rts_model_state")).get("model_info")).get("model_id"))
            turns = mapping(inner.get("conversation_metadata")).get("user_turn_metadatas")
            session = text(state.get("session_id")) or os.path.basename(path)[:-5]
            for place, turn in enumerate(turns if isinstance(turns, list) else []):
                turn = mapping(turn)
                messages = [one for one in turn.get("message_ids") or [] if text(one)]
                used = {"input_tokens": count(turn.get("input_token_count")) or 0,
                        "output_tokens": count(turn.get("output_token_count")) or 0}
                used["credits"] = credits(turn.get("metering_usage"), "value")
                if messages or turn.get("end_timestamp") or used["input_tokens"] or used["output_tokens"]:
                    yield messages[0] if messages else (session, place), text(turn.get("model")) or model or "null", used


def third_engine(sessions):
    """The turns that lines sum up: credits only, no tokens."""
    for folder in sorted(glob.glob(os.path.join(glob.escape(sessions), "*", "sess_*"))):
        described = read(os.path.join(folder, "session.json"))
        main = os.path.join(folder, "messages.jsonl")
        if not os.path.isfile(main):
            continue
        for path in [main] + sorted(glob.glob(os.path.join(glob.escape(folder), "sub-executions", "*.jsonl"))):
            for number, line in records(path):
                payload = mapping(line.get("payload"))
                if payload.get("type") == "usage_summary":
                    own = text(payload.get("turnId")) or text(line.get("id")) or number
                    yield (path, own), text(described.get("modelId")) or "null", {
                        "credits": credits(payload.get("promptTurnSummaries"), "usage"),
                        "effort": text(described.get("effortLevel"))}


def second_spoken(sessions, spoken):
    """Messages and calls in the lines of the second engine."""
    for path in sorted(glob.glob(os.path.join(glob.escape(sessions), "*.jsonl")) +
                       glob.glob(os.path.join(glob.escape(sessions), "cli", "*.jsonl"))):
        for number, line in records(path):
            data = mapping(line.get("data"))
            if not data:
                continue
            name = text(data.get("message_id")) or (path, number)
            spoken.kinds.setdefault(name, {"Prompt": "prompt", "AssistantMessage": "reply"}.get(line.get("kind"), "other"))
            content = data.get("content")
            for part in content if isinstance(content, list) else ():
                inner = mapping(mapping(part).get("data"))
                call = path, text(inner.get("toolUseId")) or number
                if mapping(part).get("kind") == "toolUse":
                    spoken.calls.setdefault(call, "pending")
                    spoken.made.setdefault(call, (inner.get("name"), inner.get("input")))
                elif mapping(part).get("kind") == "toolResult" and spoken.calls.get(call) == "pending":
                    cancelled = any("Tool use was cancelled by the user" in str(one) for one in inner.get("content") or ())
                    failed = str(inner.get("status")).lower() == "error"
                    codes = [mapping(mapping(one).get("data")).get("exit_status", "0") for one in inner.get("content") or ()]
                    spoken.printed[call] = [mapping(one).get("data") for one in inner.get("content") or ()]
                    spoken.calls[call] = "rejected" if cancelled else "error" if failed or any(not str(code).endswith("0") for code in codes) else "ok"


def third_spoken(sessions, spoken):
    """Messages and calls in the lines of the third engine."""
    for folder in sorted(glob.glob(os.path.join(glob.escape(sessions), "*", "sess_*"))):
        main = os.path.join(folder, "messages.jsonl")
        paths = [main] + sorted(glob.glob(os.path.join(glob.escape(folder), "sub-executions", "*.jsonl")))
        for path in paths if os.path.isfile(main) else ():
            asked, refused = None, set()
            for number, line in records(path):
                payload = mapping(line.get("payload"))
                kind, call = payload.get("type"), (path, text(payload.get("toolCallId")) or number)
                name = text(line.get("id")) or number
                if kind == "user":
                    spoken.kinds[path, name] = "prompt"
                elif kind == "assistant":
                    is_left_out = payload.get("operationType") == "Reasoning" and payload.get("content") == "..."
                    is_reply = payload.get("operationType") != "Summary" and not is_left_out
                    spoken.kinds[path, name] = "reply" if is_reply else "other"
                elif kind == "tool_call":
                    spoken.calls.setdefault(call, "rejected" if call in refused else "pending")
                    spoken.made.setdefault(call, (payload.get("toolName"), payload.get("args")))
                elif kind == "turn_end" and re.search("error|fail", str(payload.get("reason")), re.I):
                    spoken.errors[path, name] = failures.reason(payload["reason"])
                elif kind == "pending_interaction":
                    asked = call
                elif kind == "interaction_resolved" and "reject" in str(payload.get("selectedOption")).lower():
                    refused.add(asked)
                    spoken.calls[asked] = "rejected"
                elif kind == "tool_result" and call not in refused and call in spoken.calls:
                    made_up = str(line.get("id")).endswith("-result-synthetic")
                    failed = payload.get("success") is False
                    spoken.printed[call] = [payload.get("content")]
                    spoken.calls[call] = "interrupted" if made_up and failed else "error" if failed else "ok"


def calls(home):
    for conversation in count_amazon_q.conversations(home, "kiro-cli", ("kiro",)):
        if text(conversation.get("conversation_id")):
            yield from count_amazon_q.requests(conversation)
    sessions = os.path.join(home, ".kiro", "sessions")
    yield from second_engine(sessions)
    yield from third_engine(sessions)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    spoken = count_amazon_q.Spoken()
    for conversation in count_amazon_q.conversations(sys.argv[1], "kiro-cli", ("kiro",)):
        spoken.add(conversation)
    second_spoken(os.path.join(sys.argv[1], ".kiro", "sessions"), spoken)
    third_spoken(os.path.join(sys.argv[1], ".kiro", "sessions"), spoken)
    count_amazon_q.show(calls(sys.argv[1]), spoken)
