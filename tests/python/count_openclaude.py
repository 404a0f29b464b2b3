#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of OpenClaude below a home folder, once each.

    count_openclaude.py HOME

Its lines are Claude Code's: see count_claude_code.py.
"""
import os
import sys

import count_claude_code

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count_claude_code.show(lambda home: count_claude_code.total([os.path.join(home, ".openclaude")]))
