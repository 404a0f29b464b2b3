"""Helpers of the notebooks, which need nothing but this file beside them.

The lake is the folder that LLREM_LAKE names, or else the default one of llrem. The program is the one that LLREM names, or else
`llrem` on the path, or else the one that `cargo build --release` made in the repository.
"""

import io
import os
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import duckdb

BUILT = Path(__file__).resolve().parent.parent / "target" / "release" / "llrem"


def lake():
    """Return the lake's folder."""
    data = os.environ.get("APPDATA" if os.name == "nt" else "XDG_DATA_HOME")
    default = (Path(data) if data else Path.home() / ".local/share") / "llrem" / "lake"
    folder = Path(os.environ.get("LLREM_LAKE") or default).expanduser().resolve()
    if not folder.is_dir():
        raise SystemExit(f"There is no lake in {folder}. Run `llrem etl`, or name another folder with LLREM_LAKE.")
    return folder


def llrem(*arguments):
    """Return the output of llrem."""
    program = os.environ.get("LLREM") or shutil.which("llrem") or (str(BUILT) if BUILT.exists() else None)
    if program is None:
        raise SystemExit("llrem is not on the path. Install it, or name the program with LLREM.")
    command = [program, "--lake", str(lake()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def is_notebook():
    """Tell whether Jupyter or IPython runs the code, and shows the last value of each cell by itself."""
    try:
        get_ipython()
    except NameError:
        return False
    return True


def show(value):
    """Return a value as the last one of a cell. A script prints it."""
    if not is_notebook():
        print(value, end="\n\n")
    return value


def save_plots(name):
    """Save every open figure as `NAME-1.png` and so on in the current folder, and return the files. A notebook shows them instead."""
    import matplotlib.pyplot as plt

    if is_notebook():
        return "in the cells above"
    files = [(number, Path(f"{name}-{number}.png").resolve()) for number in plt.get_fignums()]
    for number, file in files:
        plt.figure(number).savefig(file, dpi=150)
    return [str(file) for _, file in files]


def connect(timezone=None):
    """Return a DuckDB session with the tables, columns, types and time zone of llrem."""
    zone = ["--timezone", timezone] if timezone else []
    connection = duckdb.connect()
    connection.execute(llrem(*zone, "schema", "-f", "duckdb"))
    return connection


@dataclass
class Query:
    """A canned query: its header and its text."""

    name: str
    title: str
    about: str
    note: str
    sql: str
    defaults: dict = field(default_factory=dict)
    columns: dict = field(default_factory=dict)

    @classmethod
    def read(cls, sql):
        said = defaultdict(list)
        for line in sql.splitlines():
            if not line.startswith("--"):
                break
            key, _, value = line.lstrip("- ").partition(":")
            said[key.strip()].append(value.strip())
        return cls(
            name=said["name"][0],
            title=said["title"][0],
            about=" ".join(said["about"]),
            note=" ".join(said["note"]),
            sql=sql,
            defaults=dict(map(_parameter, said["param"])),
            columns=dict(column.split(" -- ", 1) for column in said["column"]),
        )

    def run(self, connection, **given):
        """Run the query. Other parameters have their defaults; None means no limit."""
        if unknown := given.keys() - self.defaults.keys():
            raise TypeError(f"{self.name} takes no {', '.join(sorted(unknown))}")
        return connection.sql(self.sql, params=self.defaults | given)


def _parameter(declaration):
    """Parse `NAME TYPE = DEFAULT -- MEANING`. Return the name, and the default as a value.

    The default may have a lower bound, `5 from 1`, or other values, `'model' | 'agent'`.
    """
    declared, _, default = declaration.split(" -- ")[0].partition("=")
    name, kind = declared.split()
    default = default.strip().split(" from ")[0] if kind == "int" else default.strip().split(" | ")[0]
    if default in ("", "null"):
        return name, None
    read = {
        "int": int,
        "float": float,
        "bool": lambda text: text == "true",
        "date": date.fromisoformat,
        "timestamp": lambda text: datetime.fromisoformat(text).astimezone(),
    }
    return name, read.get(kind, _unquoted)(default)


def _unquoted(text):
    return text[1:-1].replace("''", "'") if len(text) > 1 and text[0] == text[-1] == "'" else text


def queries():
    """Return a frame with the canned queries: name, title, kind and parameters."""
    import pandas as pd

    return pd.read_csv(io.StringIO(llrem("query", "-f", "csv")))


def report(connection, name, **given):
    """Return the rows of a canned query, such as `cost_by_day`."""
    return Query.read(llrem("query", name, "--show")).run(connection, **given)


def findings(connection, since=None, until=None, project=None, agent=None):
    """Return the findings of all detectors, most wasted cost first, as `llrem detect` does. Each dollar of a session counts once.

    The detectors run with their defaults, each time the relation is evaluated. Times are those of a session's start.
    """
    return connection.sql(
        """
        from findings
        where ($since is null or started_at >= $since)
          and ($until is null or started_at < $until)
          and ($project is null or project = $project)
          and ($agent is null or agent = $agent)
        order by wasted_cost_usd desc nulls last, alone_cost_usd desc nulls last, detector, agent, session_id, first_seq
        """,
        params={"since": since, "until": until, "project": project, "agent": agent},
    )
