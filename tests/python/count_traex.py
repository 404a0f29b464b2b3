#!/usr/bin/env python3
"""Count the tokens, prompts and tool calls of TraeX below a home folder, once each.

    count_traex.py HOME

Its lines are Codex': see count_codex.py.
"""
import os
import sys

import count_codex

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count_codex.show([os.path.join(sys.argv[1], ".trae", "cli"), os.path.join(sys.argv[1], ".trae")])
