#!/usr/bin/env python3
"""Count the tokens of every request that Kilo Code recorded below a home folder, once each.

    count_kilo_code.py HOME

Its files are Cline's: see count_cline.py. Since 4.119.0, of 2025-11-12, a request's input is the whole prompt.
"""
import sys

import count_cline

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count_cline.show(count_cline.total(sys.argv[1], ("kilocode.kilo-code",), (), 1762905600000))
