#!/usr/bin/env python3
"""Count the requests and turns that Kiro CLI noted below a home folder, once each, and the tokens of those that have any.

    count_kiro_cli.py HOME

An independent judge of llrem's `usage` table: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}}; a missing model is called "null".
The first engine's conversations are Amazon Q's: see count_amazon_q.py.
"""
import glob
import json
import os
import sys

import count_amazon_q
from count_amazon_q import count, mapping, text


def read(path):
    """The object in a file; nothing where there is none."""
    try:
        with open(path, "rb") as file:
            return mapping(json.loads(file.read()))
    except (OSError, ValueError):
        return {}


def lines(path):
    """The objects of a file's lines; torn ones are skipped."""
    with open(path, "rb") as file:
        for number, line in enumerate(file.read().split(b"\n"), 1):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield number, value


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
                if messages or turn.get("end_timestamp") or any(used.values()):
                    yield messages[0] if messages else (session, place), text(turn.get("model")) or model or "null", used


def third_engine(sessions):
    """The turns that lines sum up: credits only, no tokens."""
    for folder in sorted(glob.glob(os.path.join(glob.escape(sessions), "*", "sess_*"))):
        described = read(os.path.join(folder, "session.json"))
        main = os.path.join(folder, "messages.jsonl")
        if not os.path.isfile(main):
            continue
        for path in [main] + sorted(glob.glob(os.path.join(glob.escape(folder), "sub-executions", "*.jsonl"))):
            for number, line in lines(path):
                payload = mapping(line.get("payload"))
                if payload.get("type") == "usage_summary":
                    own = text(payload.get("turnId")) or text(line.get("id")) or number
                    yield (path, own), text(described.get("modelId")) or "null", {}


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
    count_amazon_q.show(calls(sys.argv[1]))
