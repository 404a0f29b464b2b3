#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Claude Cowork below a home folder, once each.

    count_claude_cowork.py HOME

Its transcripts are Claude Code's: see count_claude_code.py. A session without a transcript has the totals of its audit log.
"""
import collections
import glob
import json
import os
import sys

import count_claude_code

COUNTS = {"inputTokens": "input_tokens", "cacheReadInputTokens": "cache_read_tokens",
          "cacheCreationInputTokens": "cache_write_5m_tokens", "outputTokens": "output_tokens"}


def sessions(home):
    data = os.path.join(glob.escape(home), ".config/Claude/local-agent-mode-sessions")
    return sorted(glob.glob(os.path.join(data, "*/*/local_*/")) + glob.glob(os.path.join(data, "*/*/agent/local_*/")))


def audited(path):
    """Totals by model: the last of each process, which ends where a count falls."""
    totals, last = collections.defaultdict(collections.Counter), {}

    def end():
        for model, counts in last.items():
            totals[model].update(counts)

    for record in count_claude_code.records_of(path) if os.path.isfile(path) else ():
        models = record.get("modelUsage") if record.get("type") == "result" else None
        if not isinstance(models, dict) or not models:
            continue
        if any(not isinstance(counts.get(key), int) for counts in models.values() for key in ("inputTokens", "outputTokens")):
            continue
        if any(counts.get(key, 0) > models.get(model, {}).get(key, 0) for model, counts in last.items() for key in COUNTS):
            end()
        last = models
    end()
    return totals


def total(home):
    roots = [os.path.join(session, ".claude") for session in sessions(home)]
    count = count_claude_code.total(roots)
    for session in sessions(home):
        if glob.glob(os.path.join(glob.escape(session), ".claude/projects/*/*.jsonl")):
            continue
        for model, counts in audited(os.path.join(session, "audit.jsonl")).items():
            row = count.setdefault(model, {})
            row["responses"] = row.get("responses", 0) + 1
            for key, name in COUNTS.items():
                row[name] = row.get(name, 0) + counts[key]
            row.setdefault("cache_write_1h_tokens", 0)
    return count


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count_claude_code.show(total)
