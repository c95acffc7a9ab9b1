"""Runs one statement in ClickHouse, inside this process: chdb_sql.py THREADS SQL."""

import sys

import chdb

threads, sql = sys.argv[1:]
chdb.query(f"{sql} SETTINGS max_threads = {int(threads)}")
