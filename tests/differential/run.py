#!/usr/bin/env python3
"""Compares the URLs that undust finds, and the rows that it writes, with what readers by other hands see.

    make differential
    python3 tests/differential/run.py --undust PATH                   a built undust, with the feature parquet
    python3 tests/differential/run.py --undust PATH --file cdx FILE   one more file, by one of the readers

Needs Python 3.11 with venv, and a network for the first run: the readers of `requirements.txt` go into a venv below the
target folder of cargo. Exit status: 0 all equal, 1 not, 2 could not be run.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAMPLES = ROOT / "data/samples"
REQUIREMENTS = HERE / "requirements.txt"
# In a command: the file of rows, where that is not the output.
ROWS = "{rows}"


def stop(message):
    print(f"differential: {message}", file=sys.stderr)
    sys.exit(2)


# -- The readers


def into_venv():
    """Goes on in a venv with the readers; makes it if it is not there, or not of these versions."""
    if sys.version_info < (3, 11):
        stop(f"expected Python 3.11 or later, found {sys.version.split()[0]}")
    try:
        told = subprocess.run(["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"],
                              cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        stop(f"cargo does not tell its target folder: {error}")
    folder = Path(json.loads(told)["target_directory"]) / "differential"
    python, stamp = folder / "bin/python", folder / "requirements.txt"
    if Path(sys.prefix) == folder:
        return
    wanted = REQUIREMENTS.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"differential: putting the readers into {folder}", file=sys.stderr)
        make = [sys.executable, "-m", "venv", "--clear", folder]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
        for command, hint in [(make, "python3 -m venv has to work (Debian: apt-get install python3-venv)"),
                              (install, "pip needs a network for the first run")]:
            if subprocess.run(command, check=False).returncode != 0:
                stop(f"cannot install the readers: {hint}")
        stamp.write_text(wanted)
    os.execv(python, [python, *sys.argv])


# -- What undust says


class Undust:
    def __init__(self, binary):
        self.binary = binary

    def run(self, *arguments):
        """Standard output of a run, which has to go well."""
        command = [self.binary, *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name != "UNDUST_CONFIG"}
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
        if done.returncode != 0:
            stop(f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def urls(self, path, *flags):
        """The URL of each line or record; an empty text where there is none."""
        lines = self.run("canon", "-q", "-p", "lines", *flags, path).removesuffix(b"\n").split(b"\n")
        return [line.decode(errors="surrogateescape") for line in lines]


def first_difference(found, expected):
    """Nothing if both are equal; otherwise where they differ, in words."""
    for number, (one, other) in enumerate(zip(found, expected), 1):
        if one != other:
            return f"line {number}: undust {one!r}, reader {other!r}"
    if len(found) != len(expected):
        return f"undust {len(found)} lines, reader {len(expected)}"
    return None


def formats(readers):
    """What is compared: a sample, the reader of it, and flags of undust."""
    return [
        ("combined.log", readers.combined, []),
        ("clf.log", readers.common, []),
        ("vhost.log", readers.vhost, []),
        ("access.log", readers.access, []),
        ("squid.log", readers.squid, []),
        ("haproxy.log", readers.haproxy, []),
        ("logfmt.log", readers.logfmt, []),
        ("alb.log", readers.alb, []),
        ("elb.log", readers.alb, []),
        ("w3c.log", readers.w3c, []),
        ("cloudfront.tsv", readers.cloudfront, []),
        ("crawl.log", readers.crawllog, []),
        ("caddy.jsonl", readers.caddy, []),
        ("nginx.jsonl", readers.nginx_json, []),
        ("pages.jsonl", readers.jsonl, []),
        ("pages.jsonl", readers.jsonl_by_duckdb, []),
        ("pages.csv", lambda path: readers.table(path, "Address", ","), []),
        ("pages.csv", lambda path: readers.table_by_duckdb(path, "Address", ",", '"'), []),
        ("redirects.tsv", lambda path: readers.table(path, "old_url", "\t", csv.QUOTE_NONE), []),
        ("redirects.tsv", lambda path: readers.table(path, "new_url", "\t", csv.QUOTE_NONE), ["--field", "new_url"]),
        ("redirects.tsv", lambda path: readers.table_by_duckdb(path, "new_url", "\t", ""), ["--field", "new_url"]),
        ("captures.cdx", readers.cdx, []),
        ("captures.cdx", readers.cdx_by_duckdb, []),
        ("captures.cdxj", readers.cdxj, []),
        ("captures.cdx.json", readers.cdx_json, []),
        ("captures.cdx.json", readers.cdx_json_by_duckdb, []),
        ("archive.warc.gz", readers.warc, []),
        ("archive.arc", readers.arc, []),
        ("sitemap.xml", readers.sitemap, []),
        ("index.parquet", lambda path: readers.parquet(path, "url"), []),
        ("index.parquet", lambda path: readers.parquet_by_duckdb(path, "url"), []),
        ("index.parquet", lambda path: readers.parquet(path, "url_host_name"), ["--field", "url_host_name"]),
        ("reddit.txt", readers.lines, []),
        ("tweetfeed.txt.gz", readers.lines, []),
        ("kasztp.txt.zst", readers.lines, []),
    ]


# -- What undust writes


def tables_of(undust, readers, arguments, folder):
    """The same table in every form: for each, how it was read and its rows as lists of bytes, numbers or nothing."""
    files = {to: folder / f"rows.{to}" for to in ("tsv", "csv", "jsonl", "parquet")}
    for to, path in files.items():
        words = [path if word == ROWS else word for word in arguments]
        undust.run(*words, "-q", "--to", to, "-o", "/dev/null" if ROWS in arguments else path)
    yield "tsv", readers.written_tsv(files["tsv"])
    yield "csv by csv", readers.written_csv(files["csv"])
    yield "jsonl by json", readers.written_jsonl(files["jsonl"])
    yield "parquet by Arrow", readers.written_parquet(files["parquet"])
    yield "parquet by DuckDB", readers.written_parquet_by_duckdb(files["parquet"])


def outputs():
    messy, nasty = SAMPLES / "messy.txt", ROOT / "data/hostile/nasty.bin.zst"
    return [
        ["dedup", messy],
        ["dedup", nasty],
        ["dedup", "--clusters", messy],
        ["dedup", "--clusters", nasty],
        ["dedup", "--dropped", ROWS, messy],
        ["dedup", "--dropped", ROWS, SAMPLES / "reddit.txt"],
        ["report", messy],
        ["report", SAMPLES / "combined.log"],
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--undust", required=True, metavar="PATH", help="a built undust, with the feature parquet")
    parser.add_argument("--file", nargs=2, action="append", default=[], metavar=("READER", "FILE"),
                        help="compare this file too, by a reader of readers.py")
    arguments = parser.parse_args()
    if not Path(arguments.undust).is_file():
        stop(f"{arguments.undust}: no such file; make differential builds it")
    into_venv()
    import readers

    undust = Undust(arguments.undust)
    rows = [(SAMPLES / name, reader, flags) for name, reader, flags in formats(readers)]
    rows += [(Path(path), getattr(readers, name), []) for name, path in arguments.file]
    wrong = compared = 0
    for path, reader, flags in rows:
        expected = list(reader(path))
        difference = first_difference(undust.urls(path, *flags), expected)
        compared += len(expected)
        if difference:
            wrong += 1
            print(f"differential: {' '.join([path.name, *flags])}: {difference}", file=sys.stderr)
    written = 0
    for command in outputs():
        with tempfile.TemporaryDirectory() as folder:
            tables = list(tables_of(undust, readers, command, Path(folder)))
        (first_name, first), *others = tables
        written += len(first)
        for name, table in others:
            difference = first_difference(table, first)
            if difference:
                wrong += 1
                words = " ".join(Path(word).name for word in map(str, command))
                print(f"differential: {words}: {name} against {first_name}: {difference}", file=sys.stderr)
    print(f"differential: {len(rows)} readings of {compared} lines, {len(outputs())} tables of {written} rows, "
          f"{wrong} wrong", file=sys.stderr)
    # A comparison of nothing is none.
    sys.exit(0 if wrong == 0 and compared > 10_000 and written > 1_000 else 1)


if __name__ == "__main__":
    main()
