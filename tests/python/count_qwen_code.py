#!/usr/bin/env python3
"""Count the tokens of every Qwen Code response below a home folder, once each.

    count_qwen_code.py HOME

An independent judge of llrem's `usage` table: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}}; a missing model is called "null".
"""
import collections
import glob
import json
import re
import math
import os
import sys

import lines

LARGEST = 2**53 - 1  # Qwen Code is JavaScript: no whole number beyond this is exact
START = re.compile(r'\{"uuid"')  # how a record begins
PLACES = ("chats/*.jsonl", "chats/archive/*.jsonl", "subagents/*/agent-*.jsonl")


def count(value):
    """A whole number up to LARGEST, also as 12.0 or "12", never below 0; anything else is 0."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0
    return max(0, int(value)) if abs(value) <= LARGEST else 0


def billed(usage):
    """Cached tokens are inside the prompt; thoughts are inside the candidates, unless the total adds them."""
    prompt = count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount"))
    output = count(usage.get("candidatesTokenCount"))
    thoughts = count(usage.get("thoughtsTokenCount"))
    if thoughts and count(usage.get("totalTokenCount")) == prompt + output + thoughts:
        output += thoughts
    cached = min(prompt, count(usage.get("cachedContentTokenCount")))
    return {"input_tokens": prompt - cached, "cache_read_tokens": cached, "cache_write_5m_tokens": 0,
            "cache_write_1h_tokens": 0, "output_tokens": output}


def responses(path):
    """(identity, model, numbers) of the model's lines of one file."""
    with open(path, "rb") as file:
        content = file.read().replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(content.split(b"\n"), 1):
        for record in lines.objects(line.decode("utf-8", "replace"), START):
            if not isinstance(record, dict) or record.get("type") != "assistant":
                continue
            usage = record.get("usageMetadata")
            numbers = billed(usage) if isinstance(usage, dict) else {}
            if any(numbers.values()):
                yield record.get("uuid") or (path, number), record.get("model") or "null", numbers


def total(home):
    fullest = {}  # several lines with one uuid are one response
    for place in PLACES:
        for path in sorted(glob.glob(os.path.join(glob.escape(home), ".qwen/projects/*", place))):
            if os.path.basename(path).count(".") > 1:
                continue  # kept beside a session, as <session>.ledger.jsonl
            for identity, model, numbers in responses(path):
                known = fullest.get(identity)
                if known is None or numbers["output_tokens"] >= known[1]["output_tokens"]:
                    fullest[identity] = (model, numbers)
    models = collections.defaultdict(collections.Counter)
    for model, numbers in fullest.values():
        models[model].update({"responses": 1, **numbers})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
