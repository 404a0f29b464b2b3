#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that Kilo Code recorded below a home folder, once each.

    count_kilo_code.py HOME

Its files are Cline's until 5: see count_cline.py. Since 4.119.0, of 2025-11-12, a request's input is the whole prompt. From 7 on
its stores are OpenCode's: see count_opencode.py. What was moved there has no tokens.
"""
import glob
import json
import os
import sys

import count_cline
import count_opencode


EXTENSION = ("kilocode.kilo-code",)


def total(home):
    result = count_cline.by_model(count_cline.total(home, EXTENSION, (), 1762905600000))
    roots = count_cline.roots_of(home, EXTENSION, ())
    result |= count_cline.spoken(roots, 1762905600000)
    tasks = {os.path.basename(path) for root in roots for path in glob.glob(os.path.join(glob.escape(root), "tasks", "*"))}
    data = count_opencode.read_data(home, "kilo")
    for name, counted in (count_opencode.total(data) | count_opencode.spoken(data, tasks)).items():
        row = result.setdefault(name, dict.fromkeys(counted, 0))
        for kind, number in counted.items():
            row[kind] = row.get(kind, 0) + number
    return result


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2, sort_keys=True)
    print()
