#!/usr/bin/env python3
"""Times undust on Spark against what Spark has for the same, by turns, and checks the answers.

    python3 benches/spark.py --undust PATH [--lines 3000000] [--runs 5] [--cores 2]

Run by a Python with undust[spark] and w3lib. `--undust` is the program, which makes the list and says how many pages it
has. Prints medians of seconds, and of their ratios to `distinct` of the same round, with the range.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from undust import Canonicalizer
from undust import spark as us

BASE = "distinct lines"


def jobs(session, path):
    """Each job as a table of one row for each page."""

    def lines():
        return session.read.text(path)

    @F.pandas_udf("string")
    def w3lib_form(urls: pd.Series) -> pd.Series:
        from w3lib.url import canonicalize_url

        return urls.map(canonicalize_url)

    return {
        BASE: lambda: lines().distinct(),
        "undust, lines": lambda: us.dedup(lines(), "value", Canonicalizer("lines")),
        "undust, crawl": lambda: us.dedup(lines(), "value"),
        "undust, crawl, first in input order": lambda: us.dedup_lines(session, path),
        "undust, crawl, the same in two steps": lambda: us.dedup(us.read_lines(session, path), order_by=us.PLACE),
        "undust, crawl, with counts": lambda: us.dedup(lines(), "value", count="lines"),
        "undust, aggressive": lambda: us.dedup(lines(), "value", Canonicalizer("aggressive")),
        "w3lib in a pandas_udf, dropDuplicates": lambda: lines().withColumn("page", w3lib_form("value"))
        .dropDuplicates(["page"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--undust", required=True, type=Path)
    parser.add_argument("--lines", type=int, default=3_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/list.txt"
        make = [args.undust, "generate", "list", "--lines", str(args.lines), "--seed", "1", "-o", path]
        subprocess.run(make, check=True)
        expected = {}
        for profile in ["lines", "crawl", "aggressive"]:
            told = subprocess.run([args.undust, "-q", "-p", profile, path], check=True, capture_output=True).stdout
            expected[profile] = told.count(b"\n")
        session = (
            SparkSession.builder.master(f"local[{args.cores}]").config("spark.ui.enabled", False)
            .config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", 4 * args.cores).getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        todo = jobs(session, path)
        for name, made in todo.items():  # Warms up, and checks.
            rows = made().count()
            wanted = expected[next((profile for profile in ["lines", "aggressive"] if profile in name), "crawl")]
            if not name.startswith("w3lib") and rows != wanted:
                sys.exit(f"{name}: expected {wanted} rows, found {rows}")
            print(f"{name}: {rows} rows", file=sys.stderr)
        seconds = {name: [] for name in todo}
        for _ in range(args.runs):
            for name in sorted(todo, key=lambda _: random.random()):
                started = time.perf_counter()
                todo[name]().write.format("noop").mode("overwrite").save()
                seconds[name].append(time.perf_counter() - started)
        for name, taken in seconds.items():
            ratios = [one / base for one, base in zip(taken, seconds[BASE])]
            print(f"{name:<40} {statistics.median(taken):6.1f} s  {statistics.median(ratios):5.2f} "
                  f"({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
