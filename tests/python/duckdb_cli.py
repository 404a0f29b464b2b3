"""Runs `duckdb -init FILE -c SQL` with DuckDB's library, for machines without its command."""

import pathlib
import sys

import duckdb

arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
connection = duckdb.connect()
connection.execute(pathlib.Path(arguments["-init"]).read_text(encoding="utf-8"))
print(connection.sql(arguments["-c"]))
