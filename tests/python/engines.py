"""Runs queries on another engine and compares their rows with those that llrem gave.

    engines.py JOB     a file of JSON: {"engine", "setup": SQL, "cases": [{"name", "sql", "parameters", "expected": ARROW
                       FILE}], "zone"}

Engines are duckdb, duckdb-s3 (with its extension httpfs, for a lake in a bucket) and sail (Spark's protocol). Endpoint and
credentials of a bucket come from the usual variables. Prints what differs, and fails when anything does. Values are
compared exactly, fractions too: the canned queries sum whole numbers only (nano-dollars, milliseconds), which come to the
same in any order, and both engines do the rest in IEEE doubles.
"""

import datetime
import faulthandler
import json
import math
import os
import sys
from pathlib import Path
from urllib.parse import urlparse

import pyarrow
import pyarrow.ipc
import pyarrow.types as kinds

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
SHOWN = 5
# An engine that does not answer ends the test, and says where it stood. Seconds.
PATIENCE = 900


def duckdb_engine(job):
    import duckdb

    connection = duckdb.connect()
    if job["engine"] == "duckdb-s3":
        import duckdb_extension_httpfs

        # The extension is signed by DuckDB, whoever has packaged it, and DuckDB loads no other.
        folder = Path(duckdb_extension_httpfs.__file__).parent / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"load '{folder / 'httpfs.duckdb_extension'}'")
        endpoint = urlparse(os.environ["AWS_ENDPOINT_URL"])
        connection.execute(
            "create secret (type s3, provider config, url_style 'path', use_ssl false, "
            f"key_id '{os.environ['AWS_ACCESS_KEY_ID']}', secret '{os.environ['AWS_SECRET_ACCESS_KEY']}', "
            f"region '{os.environ['AWS_REGION']}', endpoint '{endpoint.netloc}')"
        )
    connection.execute(job["setup"])
    return lambda sql, parameters: connection.sql(sql, params=parameters).to_arrow_table()


def sail_engine(job):
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
    session.conf.set("spark.sql.session.timeZone", job["zone"])
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    for statement in job["setup"].split(";\n"):
        if statement.strip():
            session.sql(statement)

    def ask(sql, parameters):
        return session.sql(sql, args=parameters).toArrow()

    def close():
        # In this order: a client whose server has gone waits minutes for it.
        session.stop()
        server.stop()

    ask.close = close
    return ask


ENGINES = {"duckdb": duckdb_engine, "duckdb-s3": duckdb_engine, "sail": sail_engine}


def parameter(value):
    if isinstance(value, dict):
        if "micros" in value:
            return EPOCH + datetime.timedelta(microseconds=value["micros"])
        return EPOCH.date() + datetime.timedelta(days=value["days"])
    return value


def kind(field):
    """What a column holds, however wide: DuckDB sums whole numbers in 128 bits, and fractions may be decimal."""
    held = field.type
    if kinds.is_integer(held) or (kinds.is_decimal(held) and held.scale == 0):
        return "whole number"
    if kinds.is_floating(held) or kinds.is_decimal(held):
        return "fraction"
    if kinds.is_string(held) or kinds.is_large_string(held) or kinds.is_string_view(held):
        return "text"
    if kinds.is_timestamp(held):
        return "moment" if held.tz else "time without a zone"
    if kinds.is_list(held):
        return f"list of {kind(held.value_field)}"
    return str(held)


def values(column, kind):
    if kind == "moment":
        return column.cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.int64()).to_pylist()
    if kind == "whole number":
        return [None if value is None else int(value) for value in column.to_pylist()]
    if kind == "fraction":
        return [None if value is None else float(value) for value in column.to_pylist()]
    return column.to_pylist()


def same(left, right):
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return left == right


def differences(expected, found, engine):
    columns = [[(field.name, kind(field)) for field in table.schema] for table in (expected, found)]
    if columns[0] != columns[1]:
        wrong = [pair for pair in zip(*columns) if pair[0] != pair[1]] or columns
        return [f"columns: llrem and {engine} have {wrong}"]
    if expected.num_rows != found.num_rows:
        return [f"rows: llrem has {expected.num_rows}, {engine} {found.num_rows}"]
    pairs = zip(columns[0], expected.columns, found.columns)
    cells = [(name, values(left, held), values(right, held)) for (name, held), left, right in pairs]
    return [
        f"row {row}, {name}: llrem has {left[row]!r}, {engine} {right[row]!r}"
        for row in range(expected.num_rows)
        for name, left, right in cells
        if not same(left[row], right[row])
    ]


def main():
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    ask = ENGINES[job["engine"]](job)
    failed = 0
    for case in job["cases"]:
        with pyarrow.ipc.open_file(case["expected"]) as file:
            expected = file.read_all()
        parameters = {name: parameter(value) for name, value in case["parameters"].items()}
        try:
            wrong = differences(expected, ask(case["sql"], parameters), job["engine"])
        except Exception as error:  # Each engine has its own.
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            failed += 1
            print(case["name"], *wrong[:SHOWN], sep="\n  ")
            if len(wrong) > SHOWN:
                print(f"  and {len(wrong) - SHOWN} more")
    if hasattr(ask, "close"):
        ask.close()
    sys.exit(1 if failed else 0)


main()
