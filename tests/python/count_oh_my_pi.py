#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that Oh My Pi recorded below a home folder, once each.

    count_oh_my_pi.py HOME

Its lines are pi's: see count_pi.py.
"""
import os
import sys

import count_pi

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count_pi.show(count_pi.total(count_pi.below(os.path.join(sys.argv[1], ".omp", "agent", "sessions"))))
