#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that Roo Code recorded below a home folder, once each.

    count_roo_code.py HOME

Its files are Cline's: see count_cline.py. Since 3.29.5, of 2025-11-01, a request's input is the whole prompt.
"""
import sys

import count_cline

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    extensions = ("rooveterinaryinc.roo-cline", "rooveterinaryinc.roo-code-nightly")
    count_cline.show(sys.argv[1], extensions, (".vscode-mock/global-storage",), 1761955200000)
