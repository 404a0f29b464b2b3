#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that MiMo Code recorded below a home folder, once each.

    count_mimocode.py HOME

Its databases are OpenCode's: see count_opencode.py. What it copied from other programs is removed before.
"""
import contextlib
import glob
import json
import os
import shutil
import sqlite3
import sys
import tempfile

import count_opencode


def listed(text):
    try:
        found = json.loads(text or "")
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def remove_imports(path):
    """Deletes the messages that were copied into a database."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        seen = set()
        for table in ("external_import", "claude_import"):
            for session, ids in database.execute("SELECT session_id, message_ids FROM %s" % table).fetchall() if table in tables else ():
                if session in seen:
                    continue
                seen.add(session)
                ids = [one for one in listed(ids) if isinstance(one, str)]
                if not ids:
                    ids = [one for (one,) in database.execute("SELECT id FROM message WHERE session_id = ?", (session,))]
                for one in ids:
                    database.execute("DELETE FROM part WHERE message_id = ?", (one,))
                    database.execute("DELETE FROM message WHERE id = ?", (one,))
        database.commit()


def total(home):
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(".local", "share", "mimocode")
        copy = os.path.join(folder, data)
        if os.path.isdir(os.path.join(home, data)):
            shutil.copytree(os.path.join(home, data), copy)
        for path in glob.glob(os.path.join(copy, "mimocode*.db")):
            remove_imports(path)
        found = count_opencode.read_data(folder, "mimocode")
        return count_opencode.total(found) | count_opencode.spoken(found)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(total(sys.argv[1]), sys.stdout, indent=2)
    print()
