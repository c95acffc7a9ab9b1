"""Jobs for Apache Spark: ``undust-spark``, or ``spark-submit`` with this file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from undust import Canonicalizer, Lines, UndustError, __version__
from undust import spark as us


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a job; returns its exit status: 0 done, 2 not done."""
    args = _parser().parse_args(arguments)
    try:
        pages = _canonicalizer(args)
        session = SparkSession.builder.appName(f"undust {args.job}").getOrCreate()
        {"dedup": _dedup, "canon": _canon, "report": _report, "learn": _learn}[args.job](
            session, args, pages
        )
    except (UndustError, OSError, ValueError, PySparkException) as error:
        # Spark tells its plan behind the first line.
        print(f"undust-spark: {str(error).strip().splitlines()[0]}", file=sys.stderr)
        return 2
    return 0


def _dedup(session: SparkSession, args: argparse.Namespace, pages: Canonicalizer) -> None:
    count = "count" if args.count else None
    if args.column:
        first = us.dedup(_table(session, args), args.column, pages, count=count)
        _write_table(first, args)
        return
    lines = _lines(session, args, ["spelling"])
    order = None if args.any_order else us.PLACE
    first = us.dedup(lines, "url", pages, order_by=order, count=count)
    if not args.any_order:
        first = first.orderBy(us.PLACE)
    text = F.col("spelling")
    if args.count:
        text = F.concat(F.lpad(F.col("count"), 7, " "), F.lit(" "), text)
    _write_text(first.select(text), args)


def _canon(session: SparkSession, args: argparse.Namespace, pages: Canonicalizer) -> None:
    if args.column:
        table = _table(session, args)
        _write_table(table.withColumn("canonical", us.canonical(args.column, pages)), args)
        return
    forms = _lines(session, args).select(us.PLACE, us.canonical("url", pages).alias("url"))
    _write_text((forms if args.any_order else forms.orderBy(us.PLACE)).select("url"), args)


def _report(session: SparkSession, args: argparse.Namespace, pages: Canonicalizer) -> None:
    table = _table(session, args) if args.column else _lines(session, args)
    hosts = us.summary(table, args.column or "url", pages)
    _write_table(hosts, args)


def _learn(session: SparkSession, args: argparse.Namespace, _: Canonicalizer) -> None:
    if args.column:
        fields = dict(field.partition("=")[::2] for field in args.field)
        for name in set(fields) - set(us.FIELDS):
            raise ValueError(f"--field {name}: expected one of {', '.join(us.FIELDS)}")
        text = us.learn(_table(session, args), args.column, **fields)
    else:
        text = us.learn_lines(session, args.inputs, lines=_how(args))
    # On the driver; complete or not at all.
    part = f"{args.output}.part"
    Path(part).write_text(text, encoding="utf-8")
    os.replace(part, args.output)


def _canonicalizer(args: argparse.Namespace) -> Canonicalizer:
    return Canonicalizer(
        args.profile, config=args.config, rules=args.rules, **json.loads(args.settings)
    )


def _how(args: argparse.Namespace) -> Lines | None:
    """How lines hold URLs, if that is told."""
    return Lines(args.format, base_url=args.base_url) if args.format else None


def _lines(
    session: SparkSession, args: argparse.Namespace, fields: Sequence[str] = ()
) -> DataFrame:
    return us.read_lines(
        session, args.inputs, lines=_how(args), fields=fields, base_url=args.base_url
    )


def _table(session: SparkSession, args: argparse.Namespace) -> DataFrame:
    return session.read.format(args.table).option("header", "true").load(args.inputs)


def _write_text(text: DataFrame, args: argparse.Namespace) -> None:
    options = {"lineSep": "\n"} | ({"compression": args.compression} if args.compression else {})
    text.write.options(**options).mode(_mode(args)).text(args.output)


def _write_table(table: DataFrame, args: argparse.Namespace) -> None:
    options = {"compression": args.compression} if args.compression else {}
    table.write.format(args.to).options(**options).mode(_mode(args)).save(args.output)


def _mode(args: argparse.Namespace) -> str:
    return "overwrite" if args.overwrite else "error"


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    add = common.add_argument
    add("inputs", nargs="+", metavar="PATH", help="files or folders that Spark can read")
    add("-o", "--output", required=True, metavar="PATH",
        help="folder for the result, which must not be there; for rules a file on the driver")
    add("--overwrite", action="store_true", help="replaces the folder")
    add("--compression", help="of the result: gzip, zstd, ...; as its format has it")
    add("--column", help="the inputs are tables, with the URLs in this column")
    add("--table", default="parquet", metavar="FORMAT",
        help="format of these tables: parquet (default), orc, csv, json, ...")
    add("--to", default="parquet", metavar="FORMAT",
        help="format of tables that are written (parquet)")
    add("--format", help="format of lines; by default what the first ones show")
    add("--base-url", metavar="URL", help="host of paths that have none in their line")
    add("-p", "--profile", help="lines, whatwg, rfc3986, crawl (default) or aggressive")
    add("--config", metavar="FILE", help="settings, on the driver")
    add("--settings", default="{}", metavar="JSON", help='more settings: {"enable": ["www"]}')
    add("--rules", action="append", default=[], metavar="FILE",
        help="rules of sites, on the driver; may be repeated")
    add("--any-order", action="store_true", help="does not sort the result into input order")

    parser = argparse.ArgumentParser(
        prog="undust-spark",
        description="Finds URLs that are the same page spelled differently, on Apache Spark.",
    )
    parser.add_argument("--version", action="version", version=f"undust {__version__}")
    parser.add_argument("--path", action="version", version=__file__,
                        help="prints the name of the file for spark-submit")
    jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    dedup = jobs.add_parser("dedup", parents=[common], help="the first spelling of every page")
    dedup.add_argument("-c", "--count", action="store_true",
                       help="with the number of lines of each page")
    jobs.add_parser("canon", parents=[common],
                    help="the canonical form of every line, or a column `canonical`")
    jobs.add_parser("report", parents=[common],
                    help="lines, spellings and pages of each host, as a table")
    learn = jobs.add_parser("learn", parents=[common],
                            help="the rules of sites, as a file for --rules")
    learn.add_argument("--field", action="append", default=[], metavar="NAME=COLUMN",
                       help=f"columns of tables: {', '.join(us.FIELDS)}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
