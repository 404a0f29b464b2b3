"""Reads a lake as its users do: with DuckDB, and with pandas on pyarrow.

    interop.py facts ENGINE LAKE     what each table holds, as JSON
    interop.py watch LAKE STOP       the distinct totals that DuckDB sees until the file STOP is there, as JSON
"""

import json
import sys
import time
from pathlib import Path

TABLES = ["sessions", "messages", "tool_calls", "usage"]
PARTITIONS = {"machine", "agent", "month"}


def facts(count, columns):
    """Rows, sums of integers, first and last moments (microseconds), types, values of partitions."""
    sums = {name: column["sum"] for name, column in columns.items() if "sum" in column}
    moments = {name: column["span"] for name, column in columns.items() if "span" in column}
    return {"count": count, "sums": sums, "moments": moments}


def duckdb_facts(lake, table):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'")
    pattern = f"{lake}/{table}/**/*.parquet"
    read = f"read_parquet('{pattern}', hive_partitioning = true, hive_types_autocast = false)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()
    columns = {}
    for name, kind, *_ in described:
        if kind == "BIGINT":
            total = connection.execute(f'SELECT coalesce(sum("{name}"), 0) FROM {read}').fetchone()[0]
            columns[name] = {"sum": int(total)}
        elif kind.startswith("TIMESTAMP"):
            span = connection.execute(f'SELECT epoch_us(min("{name}")), epoch_us(max("{name}")) FROM {read}')
            columns[name] = {"span": list(span.fetchone())}
    count = connection.execute(f"SELECT count(*) FROM {read}").fetchone()[0]
    types = f"SELECT count(DISTINCT kinds) FROM (SELECT file_name, string_agg(name || ' ' || coalesce(type, '') || ' ' || coalesce(logical_type::VARCHAR, ''), ',') AS kinds FROM parquet_schema('{pattern}') GROUP BY file_name)"
    schemas = connection.execute(types).fetchone()[0]
    missing = PARTITIONS - {name for name, *_ in described}
    assert schemas <= 1, f"{table}: {schemas} schemas"
    assert not missing, f"{table}: no partition column {missing}"
    return facts(count, columns)


def pandas_facts(lake, table):
    import pandas
    import pyarrow
    import pyarrow.dataset
    import pyarrow.parquet

    folder = Path(lake) / table
    schemas = {str(pyarrow.parquet.read_schema(path).remove_metadata()) for path in folder.rglob("*.parquet")}
    assert len(schemas) == 1, f"{table}: {len(schemas)} schemas"
    schema = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive").schema
    missing = PARTITIONS - set(schema.names)
    assert not missing, f"{table}: no partition column {missing}"
    frame = pandas.read_parquet(folder, dtype_backend="pyarrow")
    columns = {}
    for field in schema:
        if field.name in PARTITIONS:
            continue
        column = frame[field.name]
        if pyarrow.types.is_integer(field.type):
            columns[field.name] = {"sum": int(column.sum())}
        elif pyarrow.types.is_timestamp(field.type):
            assert str(field.type) == "timestamp[us, tz=UTC]", field
            moments = column.dropna()
            span = [None, None] if moments.empty else [moments.min().value // 1000, moments.max().value // 1000]
            columns[field.name] = {"span": span}
    return facts(len(frame), columns)


def watch(lake, stop):
    import duckdb

    totals, errors, reads = [], 0, 0
    query = f"SELECT count(*) FROM read_parquet('{lake}/messages/**/*.parquet', hive_partitioning = true)"
    while not Path(stop).exists():
        try:
            total = duckdb.connect().execute(query).fetchone()[0]
        except duckdb.Error:
            errors += 1
            time.sleep(0.001)
            continue
        reads += 1
        if not totals or totals[-1] != total:
            totals.append(total)
    return {"totals": totals, "errors": errors, "reads": reads}


def main():
    task, *rest = sys.argv[1:]
    if task == "watch":
        result = watch(*rest)
    else:
        engine, lake = rest
        read = {"duckdb": duckdb_facts, "pandas": pandas_facts}[engine]
        result = {table: read(lake, table) for table in TABLES}
    json.dump(result, sys.stdout)


main()
