"""Counts the rows of a table's files, as DuckDB and pandas read them."""

import sys

import duckdb
import pandas

table = sys.argv[1]
rows = duckdb.sql(f"select count(*) from '{table}/**/*.parquet'").fetchall()[0][0]
print(rows, len(pandas.read_parquet(table)))
