"""Runs one statement in DuckDB: duckdb_sql.py THREADS SQL."""

import sys

import duckdb

threads, sql = sys.argv[1:]
# DuckDB promises input order unless told not to; DISTINCT has none to keep, so let it go faster.
config = {"threads": int(threads), "preserve_insertion_order": False}
duckdb.connect(config=config).execute(sql)
