#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that QClaw recorded below a home folder, once each.

    count_qclaw.py HOME

Its files are OpenClaw's: see count_openclaw.py.
"""
import re
import sys

import count_openclaw
import count_pi

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = count_openclaw.transcripts(sys.argv[1], re.compile(r"\.qclaw"))
    count_pi.show(count_pi.total(found, count_openclaw.billed))
