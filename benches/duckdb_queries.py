"""Runs queries over a lake with DuckDB: one JSON line a query on stdin, the seconds it took on stdout."""

import json
import sys
import time

import duckdb

lake = sys.argv[1].replace("'", "''")
session = duckdb.connect()
session.execute("set TimeZone = 'UTC'")
for table in ("sessions", "messages", "tool_calls", "usage"):
    session.execute(
        f"create view {table} as from read_parquet('{lake}/{table}/**/*.parquet', hive_partitioning=true,"
        " hive_types={'machine': varchar, 'agent': varchar, 'month': varchar})"
    )
for line in sys.stdin:
    query = json.loads(line)
    begun = time.perf_counter()
    session.execute(query["sql"], query["parameters"]).to_arrow_table()
    print(time.perf_counter() - begun, flush=True)
