#!/usr/bin/env python3
"""Tokens by model of all Aider runs below a home, written from the description of the format and from nothing else.

usage: count_aider.py HOME

A chat history is cut at its headers; every report of tokens counts once, whatever folder repeats its run. A log of analytics beside
a history gives exact numbers; of logs, only what is older than every history counts by itself.
Prints {"model": {"responses": n, "input_tokens": n, ...}}.
"""

import collections
import datetime
import json
import os
import re
import sys

import edits

CHAT = ".aider.chat.history.md"
LOGS = [".aider.analytics.jsonl", "aider.analytics.jsonl", "aider-analytics.jsonl", "analytics.jsonl"]
SKIPPED = {"node_modules", ".git", "target", ".cache", "Caches", ".cargo", ".rustup", ".npm", ".gradle", ".m2"}
HEADER = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
N = r"(\d[\d,]*(?:\.\d+)?[kM]?)"
REPORT = re.compile(rf"> Tokens: {N} sent(?:, {N} cache write)?(?:, {N} cache hit)?, {N} received")
OLD_REPORT = re.compile(rf"> {N} prompt tokens, {N} completion tokens")
BANNER = re.compile(r"> (?:Main model|Models?): (\S+) with ")
VERSION = re.compile(r"> Aider v(\d+)\.(\d+)(?:\.(\d+))?")


def number(text):
    """The count, and how far off it may be."""
    unit = {"k": 1000, "M": 1000000}.get(text[-1], 1)
    digits = text.rstrip("kM").replace(",", "")
    fraction = len(digits.partition(".")[2])
    off = 0 if unit == 1 else unit // 10 ** fraction // 2
    return round(float(digits) * unit), off


def walk(folder, depth=0):
    """Every folder that may be a project's."""
    yield folder
    if depth == 6:
        return
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED:
            yield from walk(entry.path, depth + 1)


def input_tokens(sent, write, read, model, version):
    if write is None and read is None:
        return sent
    write, read = write or 0, read or 0
    if "claude" not in (model or ""):
        result = sent - read
    elif version is None:
        result = sent - write if sent < read + write else sent - read - write
    elif version < (0, 62, 0):
        result = sent - write
    elif version < (0, 68, 0):
        result = sent - write if sent < read + write else sent - read - 2 * write
    elif version < (0, 83, 0) or version >= (0, 86, 2):
        result = sent - read - 2 * write
    else:
        result = sent - read - write
    return max(0, result)


class Run:
    def __init__(self, began, until):
        self.began, self.until = began, until
        self.model = self.version = None
        self.reports = []
        self.opening = []
        self.lines = []
        self.said = False


def seconds(text):
    return datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=datetime.timezone.utc).timestamp()


def runs(lines):
    """The runs of a history, with their reports."""
    starts = [seconds(m[1]) for m in map(HEADER.match, lines) if m]
    headings = [bool(re.match(r"#### \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?\s*$", line)) for line in lines]
    run = Run(None, starts[0] if starts else None)
    result = [run]
    seen = 0
    for place, line in enumerate(lines):
        header = HEADER.match(line)
        if header:
            began = seconds(header[1])
            seen += 1
            if run.began is not None and began + 3600 < run.began and run.said:
                continue  # a quotation
            later = [start for start in starts[seen:] if start >= began]
            run = Run(began, later[0] if later else None)
            result.append(run)
            continue
        run.lines.append(line)
        if not run.said:
            run.opening.append(line.rstrip())
        run.said = run.said or (line.startswith("####") and not headings[place])
        version, banner = VERSION.match(line), BANNER.match(line)
        if version:
            run.version = tuple(int(part or 0) for part in version.groups())
        if banner:
            run.model = banner[1]
        report, old = REPORT.match(line), OLD_REPORT.match(line)
        if report:
            sent, write, read, received = [number(group) if group else None for group in report.groups()]
            run.reports.append((run.model, run.version, sent, write, read, received))
        elif old:
            run.reports.append((run.model, run.version, number(old[1]), None, None, number(old[2])))
    return result


def changed(run):
    """The lines of each applied edit: those of the blocks for its file in the reply before."""
    pending, file, block = [], None, None
    for place, line in enumerate(run.lines):
        if line.startswith("#### "):
            pending, file, block = [], None, None
        elif re.match(r"<{5,} SEARCH\s*$", line):
            above = [words.strip(" #*`:") for words in run.lines[max(0, place - 3):place] if not words.strip().startswith("```")]
            named = [words for words in above if re.fullmatch(r"\S*[./]\S*", words)]
            file, block = (named[-1] if named else file), [place, None]
        elif block and block[1] is None and re.match(r"={5,}\s*$", line):
            block[1] = place
        elif block and block[1] and re.match(r">{5,} REPLACE\s*$", line):
            old, new = ("".join(one + "\n" for one in part) for part in
                        (run.lines[block[0] + 1:block[1]], run.lines[block[1] + 1:place]))
            pending.append((file, edits.between(old, new)))
            block = None
        elif line.startswith("> Applied edit to "):
            path = line[len("> Applied edit to "):].strip()
            yield edits.total(lines for name, lines in pending if name in (path, path.split("/")[-1]))
            pending = [one for one in pending if one[0] not in (path, path.split("/")[-1])]


def sends(path):
    """The sends of a log."""
    result = []
    for line in open(path, encoding="utf-8", errors="replace"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        properties = event.get("properties") or {}
        if event.get("event") == "message_send":
            result.append((event["time"], properties["prompt_tokens"], properties["completion_tokens"],
                           properties.get("main_model")))
    return result


def total(home):
    models = collections.defaultdict(collections.Counter)

    def add(model, given, read, write, output):
        models[model or "null"].update({
            "responses": 1, "input_tokens": given, "cache_read_tokens": read, "cache_write_5m_tokens": write,
            "cache_write_1h_tokens": 0, "output_tokens": output})

    known, first, edits_of = set(), None, {}
    logs = []
    for folder in walk(home):
        here = [os.path.join(folder, name) for name in LOGS if os.path.isfile(os.path.join(folder, name))]
        logs += [log for log in here if "aider" in os.path.basename(log)]
        path = os.path.join(folder, CHAT)
        if not os.path.isfile(path):
            continue
        text = open(path, "rb").read().decode("utf-8", "replace").lstrip("\ufeff")
        lines = [line.rstrip("\r") for line in text.split("\n")]
        logged = sorted(send for log in here for send in sends(log))
        for run in runs(lines):
            if run.said and run.began is not None:
                first = run.began if first is None else min(first, run.began)
            identity = (run.began, "\n".join(run.opening))
            if run.said and identity not in edits_of:
                edits_of[identity] = list(changed(run))
            if not run.reports or identity in known:
                continue
            known.add(identity)
            left = [send for send in logged
                    if run.began is not None and run.began <= send[0] and (run.until is None or send[0] < run.until)]
            for model, version, sent, write, read, received in run.reports:
                for place, send in enumerate(left):
                    if abs(send[1] - sent[0]) <= sent[1] and abs(send[2] - received[0]) <= received[1]:
                        sent, received = (send[1], 0), (send[2], 0)
                        left = left[place + 1:]
                        break
                write, read = write and write[0], read and read[0]
                add(model, input_tokens(sent[0], write, read, model, version), read or 0, write or 0, received[0])
    for log in logs:
        for time, sent, received, model in sends(log):
            if first is None or time < first - 1:
                add(model, sent, 0, 0, received)
    order = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens",
             "output_tokens"]
    by_model = {model: {name: models[model][name] for name in order} for model in sorted(models)}
    return by_model | edits.sums(edit for found in edits_of.values() for edit in found)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
