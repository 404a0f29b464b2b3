#!/usr/bin/env python3
"""Count the tokens of every Codex response below a home folder, once each.

    count_codex.py HOME

An independent judge of llrem's `usage` table: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}}; a missing model is called "null".
"""
import collections
import glob
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import threading

import lines

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

    def read(self):
        owner = "own" if not self.is_child else "copied" if self.own_from is not None else "unclear"
        is_child, began, origin = self.is_child, born(self.thread), None
        is_fork = text(self.meta.get("forked_from_id")) is not None
        version = [int(part) if part.isdigit() else 0 for part in (text(self.meta.get("cli_version")) or "").split(".")]
        times_turns = version[:2] >= [0, 100]  # before, own turns do not tell their time
        held = None  # the last response that a total told
        model, total, last, seen_turn, recorded, seen = None, None, None, False, False, collections.Counter()
        for number, record in self.lines:
            kind, payload = record.get("type"), record.get("payload")
            if not isinstance(payload, dict):
                if kind == "metadata":
                    model = text(record.get("model")) or model
                if kind == "agent_response":
                    model = text(record.get("model")) or model
                    usage = numbers(record.get("usage") or record.get("token_usage"))
                    if usage and (usage[0] or usage[3]):
                        yield (self.thread, "line", number), True, model, usage
                continue
            if self.own_from is not None and "ordinal" in record and count(record["ordinal"]) >= count(self.own_from):
                owner = "own"
            event = payload.get("type") if kind == "event_msg" else None
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
                if event:
                    recorded = False
                elif owner != "copied":
                    model = text(payload.get("model")) or model
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
                        held = None  # or the total of the same response stood before its record
                        yield (self.thread, "response", name), True, model, usage
            elif event == "token_count" and isinstance(payload.get("info"), dict):
                now = numbers(payload["info"].get("total_token_usage"))
                step = numbers(payload["info"].get("last_token_usage"))
                before, before_step = total, last
                total, last = now or total, step or last
                if owner == "copied" or (owner != "own" and is_fork and not seen_turn and began is not None):
                    continue
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
                held = (thread, name, seen[name]), owner == "own", model, step
        if held:
            yield held


# ---------------------------------------------------------------- all together

def total(home):
    homes = [os.path.join(home, ".codex"), *glob.glob(os.path.join(home, ".openclaw/agents/*/agent/codex-home"))]
    found = sorted((place, -os.path.getsize(path), path) for root in homes for place, path in rollouts(root))
    responses, uncertain = {}, []
    for _, _, path in found:
        for key, certain, model, usage in Rollout(path).responses():
            if certain:
                responses.setdefault(key, (model, usage))
            else:
                uncertain.append((key, model, usage))
    for key, model, usage in uncertain:
        responses.setdefault(key, (model, usage))
    models = collections.defaultdict(collections.Counter)
    for model, usage in responses.values():
        models[model or "null"].update({"responses": 1, **tokens(usage)})
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens",
             "cache_write_1h_tokens", "output_tokens"]
    return {model: {name: models[model][name] for name in order} for model in sorted(models)}


def main():
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.setrecursionlimit(10**6)  # lines may be nested 100,000 deep
    threading.stack_size(1 << 30)
    with concurrent.futures.ThreadPoolExecutor(1) as big_stack:
        big_stack.submit(main).result()
