#!/usr/bin/env python3
"""Count the tokens that Kiro IDE records below a home folder: none, anywhere.

    count_kiro_ide.py HOME

An independent judge of llrem's `usage` table, which must be empty. Prints JSON {}.
"""
import sys

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("{}")
