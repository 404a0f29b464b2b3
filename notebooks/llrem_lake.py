"""Helpers of the notebooks: the lake's path, a DuckDB session over it, and the canned queries with their defaults."""

import os
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import duckdb

SQL = Path(__file__).resolve().parent.parent / "sql"

def lake():
    """Return the lake's folder: LLREM_LAKE, or else the default of llrem."""
    if named := os.environ.get("LLREM_LAKE"):
        return Path(named).expanduser().resolve()
    data = os.environ.get("APPDATA" if os.name == "nt" else "XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local/share") / "llrem" / "lake"


def llrem(*arguments):
    """Return the output of llrem. The program is LLREM, or else the one on the path, or else the one built here."""
    built = SQL.parent / "target" / "release" / "llrem"
    program = os.environ.get("LLREM") or shutil.which("llrem") or built
    command = [str(program), "--lake", str(lake()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def connect(timezone=None):
    """Return a DuckDB session with the tables, columns, types and time zone of llrem."""
    zone = ["--timezone", timezone] if timezone else []
    connection = duckdb.connect()
    connection.execute(llrem(*zone, "schema", "-f", "duckdb"))
    return connection


@dataclass
class Query:
    """A canned query: the header of its file, and its text."""

    name: str
    title: str
    about: str
    note: str
    sql: str
    defaults: dict = field(default_factory=dict)
    columns: dict = field(default_factory=dict)

    @classmethod
    def read(cls, path):
        sql = path.read_text(encoding="utf-8")
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
    """Parse `NAME TYPE = DEFAULT -- MEANING`. Return the name, and the default as a value."""
    declared, _, default = declaration.split(" -- ")[0].partition("=")
    name, kind = declared.split()
    default = default.strip()
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


def queries(folder):
    """Return the canned queries of a folder of `sql/`, by name."""
    files = sorted((SQL / folder).glob("*.sql"))
    return {query.name: query for query in map(Query.read, files)}


def report(connection, name, **given):
    """Return the rows of a report, such as `cost_by_day`."""
    return queries("reports")[name].run(connection, **given)


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
