"""Jobs for Apache Spark: ``undust-spark``, or ``spark-submit`` with this file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from undust import Canonicalizer, UndustError, __version__
from undust import spark as us
from undust.spark._places import refuse_inputs

# Of tables in text: quotes as RFC 4180 has them, and rows that go over several lines.
_CSV = {"header": "true", "multiLine": "true", "quote": '"', "escape": '"'}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a job; returns its exit status: 0 done, 2 not done."""
    args = _parser().parse_args(arguments)
    try:
        _refuse_what_has_no_effect(args)
        args.run(args)
    except (UndustError, OSError, TypeError, ValueError, PySparkException, Py4JError) as error:
        print(f"undust-spark: {_cause(error)}", file=sys.stderr)
        return 2
    return 0


def _cause(error: Exception) -> str:
    """What went wrong, in one line; Spark tells its plan, or where it was, around it."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "Python worker" in lines[0]:
        return lines[-1].strip().removeprefix("undust.UndustError: ")
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes and isinstance(error, Py4JError) else lines[0]).strip()


# Flags that hold for tables alone, and those for lines, by job; `None` stands for all jobs.
_FOR_TABLES = [
    ("--table", None),
    ("--to", "dedup"),
    ("--to", "canon"),
    ("--name", "dedup"),
    ("--name", "canon"),
    ("--field", "learn"),
]
_FOR_LINES = [("--format", None), ("--base-url", None), ("--any-order", None)]


def _refuse_what_has_no_effect(args: argparse.Namespace) -> None:
    flags, why = (
        (_FOR_LINES, "holds for lines, and with --column the inputs are tables")
        if args.column
        else (_FOR_TABLES, "holds for tables, which need --column")
    )
    for flag, job in flags:
        if job in (None, args.job) and getattr(args, flag[2:].replace("-", "_"), None):
            raise ValueError(f"{flag}: {why}; leave it out, or see --help")
    if args.job == "dedup" and args.name and not args.count:
        raise ValueError("--name: names the column of counts; leave it out, or say -c")


def _session(args: argparse.Namespace) -> SparkSession:
    """The session of a job, once it is clear that the job does not replace what it reads."""
    session = SparkSession.builder.appName(f"undust {args.job}").getOrCreate()
    _run_by_this_python(session)
    if args.overwrite:
        refuse_inputs(session, args.inputs, args.output, is_local=args.job == "learn")
    return session


def _run_by_this_python(session: SparkSession) -> None:
    """On this machine, workers are of the Python that runs the job, which has what they need. Spark
    would take the `python3` of the path, which it need not be: `undust-spark` by its full name."""
    context = getattr(session, "_sc", None)
    is_told = os.environ.get("PYSPARK_PYTHON")
    if context is not None and context.master.startswith("local") and not is_told:
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        context.pythonExec = sys.executable


def _dedup(args: argparse.Namespace) -> None:
    pages, session = _canonicalizer(args), _session(args)
    count = "count" if args.count else None
    if args.column:
        table = _table(session, args)
        if args.count:
            count = _new_column(table, args.name or "count")
        first = us.dedup(table, args.column, pages, count=count)
        _write_table(first, args)
        return
    how = {"format": args.format, "base_url": args.base_url}
    first = us.dedup_lines(session, args.inputs, pages, fields=["spelling"], count=count, **how)
    if not args.any_order:
        first = first.orderBy(us.PLACE)
    text = F.coalesce("spelling", F.lit(""))
    if args.count:
        text = _with_count(F.col("count"), text)
    _write_text(first.select(text), args)


def _with_count(count: Column, text: Column) -> Column:
    """A line as `undust -c` prints it."""
    # Joined as bytes: what formats texts decodes them, and lines need not be UTF-8.
    return F.concat(F.format_string("%7d ", count), text)


def _canon(args: argparse.Namespace) -> None:
    pages, session = _canonicalizer(args), _session(args)
    if args.column:
        table = _table(session, args)
        name = _new_column(table, args.name or "canonical")
        _write_table(table.withColumn(name, us.canonical(args.column, pages)), args)
        return
    lines = _lines(session, args, pages)
    forms = lines.select(us.PLACE, us.canonical("url", pages).alias("url"))
    _write_text((forms if args.any_order else forms.orderBy(us.PLACE)).select("url"), args)


def _report(args: argparse.Namespace) -> None:
    pages, session = _canonicalizer(args), _session(args)
    table = _table(session, args) if args.column else _lines(session, args, pages)
    _write_table(us.summary(table, args.column or "url", pages), args)


def _learn(args: argparse.Namespace) -> None:
    output = Path(args.output)
    if output.exists() and not args.overwrite:
        raise ValueError(f"{output}: expected nothing of this name, found a file; --overwrite")
    fields = dict(field.partition("=")[::2] for field in args.field)
    for name in fields:
        if name not in us.FIELDS or not fields[name]:
            raise ValueError(
                f"--field {name}: expected NAME=COLUMN with one of {', '.join(us.FIELDS)}"
            )
    session = _session(args)
    if args.column:
        text = us.learn(_table(session, args), args.column, **fields)
    else:
        text = us.learn_lines(session, args.inputs, format=args.format, base_url=args.base_url)
    # Complete or not at all.
    part = output.with_name(output.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, output)


def _canonicalizer(args: argparse.Namespace) -> Canonicalizer:
    try:
        settings: Any = json.loads(args.settings)
    except ValueError as error:
        raise ValueError(f"--settings: expected JSON, found {args.settings} ({error})") from error
    if not isinstance(settings, dict) or {"config", "rules"} & set(settings):
        raise ValueError('--settings: expected keys of the settings file: {"enable": ["www"]}')
    if args.profile:
        settings["profile"] = args.profile
    return Canonicalizer(config=args.config, rules=args.rules, **settings)


def _lines(session: SparkSession, args: argparse.Namespace, pages: Canonicalizer) -> DataFrame:
    return us.read_lines(
        session,
        args.inputs,
        format=args.format,
        base_url=args.base_url,
        verbatim=pages.profile.startswith("lines@"),
    )


def _table(session: SparkSession, args: argparse.Namespace) -> DataFrame:
    format = args.table or "parquet"
    options = _CSV if format == "csv" else {}
    return session.read.format(format).options(**options).load(args.inputs)


def _new_column(table: DataFrame, name: str) -> str:
    """The name of a column that is added, which the table must not have: to Spark the case of its
    letters makes no other."""
    for column in table.columns:
        if column.casefold() == name.casefold():
            raise ValueError(
                f"--name {name}: the table has a column {column} already; take another name"
            )
    return name


def _write_text(text: DataFrame, args: argparse.Namespace) -> None:
    text.write.options(lineSep="\n", **_compression(args)).mode(_mode(args)).text(args.output)


def _write_table(table: DataFrame, args: argparse.Namespace) -> None:
    format = args.to or "parquet"
    options = {"header": "true", "escape": '"'} if format == "csv" else {}
    options |= _compression(args)
    table.write.format(format).options(**options).mode(_mode(args)).save(args.output)


def _compression(args: argparse.Namespace) -> dict[str, str]:
    return {"compression": args.compression} if args.compression else {}


def _mode(args: argparse.Namespace) -> str:
    return "overwrite" if args.overwrite else "error"


class _ShowPath(argparse.Action):
    """Prints the name of this file as it is."""

    def __call__(self, *_: Any) -> None:
        print(__file__)
        sys.exit(0)


def _parser() -> argparse.ArgumentParser:
    def group() -> argparse.ArgumentParser:
        return argparse.ArgumentParser(add_help=False)

    read = group()
    add = read.add_argument
    add("inputs", nargs="+", metavar="PATH", help="files or folders that Spark can read")
    add("--format", help="format of lines; by default what the first ones show")
    add("--base-url", metavar="URL", help="host of paths that have none in their line")
    add("--column", help="the inputs are tables, with the URLs in this column")
    add("--table", metavar="FORMAT",
        help="format of these tables: parquet (default), orc, csv, json, ...")
    add("-o", "--output", required=True, metavar="PATH",
        help="folder for the result, which must not be there; of learn a file on the driver")
    add("--overwrite", action="store_true", help="replaces the result of this name")

    rules = group()
    add = rules.add_argument
    add("-p", "--profile", help="lines, whatwg, rfc3986, crawl (default) or aggressive")
    add("--config", metavar="FILE", help="settings, on the driver")
    add("--settings", default="{}", metavar="JSON", help='more settings: {"enable": ["www"]}')
    add("--rules", action="append", default=[], metavar="FILE",
        help="rules of sites, on the driver; may be repeated")
    add("--to", metavar="FORMAT", help="format of tables that are written (parquet)")
    add("--compression", help="of the result: gzip, zstd, ...; as its format has it")

    order = group()
    order.add_argument("--any-order", action="store_true",
                       help="does not sort the lines that are written into input order")

    parser = argparse.ArgumentParser(
        prog="undust-spark",
        description="Finds URLs that are the same page spelled differently, on Apache Spark.",
    )
    parser.add_argument("--version", action="version", version=f"undust {__version__}")
    parser.add_argument("--path", action=_ShowPath, nargs=0,
                        help="prints the name of the file for spark-submit")
    jobs = parser.add_subparsers(required=True, metavar="JOB", dest="job")
    dedup = jobs.add_parser("dedup", parents=[read, rules, order],
                            help="the first spelling of every page")
    dedup.add_argument("-c", "--count", action="store_true",
                       help="with the number of lines of each page")
    dedup.add_argument("--name", metavar="COLUMN",
                       help="what the column of these numbers is called in a table (count)")
    canon = jobs.add_parser("canon", parents=[read, rules, order],
                            help="the canonical form of every line, or a column `canonical`")
    canon.add_argument("--name", metavar="COLUMN",
                       help="what the column of these forms is called in a table (canonical)")
    report = jobs.add_parser("report", parents=[read, rules],
                             help="lines, spellings and pages of each host, as a table")
    learn = jobs.add_parser("learn", parents=[read],
                            help="the rules of sites, as a file for --rules")
    learn.add_argument("--field", action="append", default=[], metavar="NAME=COLUMN",
                       help=f"columns of tables: {', '.join(us.FIELDS)}")
    for job, run in [(dedup, _dedup), (canon, _canon), (report, _report), (learn, _learn)]:
        job.set_defaults(run=run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
