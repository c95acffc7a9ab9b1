"""Rules of single sites, learned where their records are.

A site's rules do not depend on any other site. So the records are brought together by site, each
task mines the sites of its partition with the native core, and the rule files become one: the same
as ``undust learn`` writes for all records at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

import undust
from undust import Canonicalizer, Lines
from undust.spark._columns import site
from undust.spark._dedup import _quoted
from undust.spark._lines import _text, lines_of

_SITE = "site"
_LINE = "line"

#: What `learn` may know of a record beside its URL.
FIELDS = ("digest", "size", "status", "time", "redirect", "mime")

# The profile below the rules: only what preserves semantics.
_BASE_PROFILE = "rfc3986"

# What parts the columns of a table, and its lines; parsers of URLs drop them.
_PARTS = "[\t\n\r]"

# Memory that a task takes for mining, unless told; beyond it files are used.
_MEMORY = 1 << 30


def learn(
    df: DataFrame,
    url: str = "url",
    *,
    memory: int = _MEMORY,
    **fields: str,
) -> str:
    """The text of a rule file, of a table with what a crawl has seen.

    Args:
        url: the column with the URLs.
        memory: bytes that each task takes for it.
        fields: more columns, by what they say: ``digest="md5"``, and so for all of ``FIELDS``. At
            least one of ``digest``, ``size`` and ``redirect`` has to be there to tell which URLs
            are one page. Times are text, in one of the spellings of logs.
    """
    for name in set(fields) - set(FIELDS):
        raise TypeError(f"learn: expected one of {', '.join(FIELDS)}, found {name}")
    given = {"url": url, **fields}
    if not {"digest", "size", "redirect"} & set(given):
        raise ValueError("learn: expected a column for digest, size or redirect, found none")
    texts = [
        F.regexp_replace(F.coalesce(_quoted(column).cast("string"), F.lit("")), _PARTS, "")
        for column in given.values()
    ]
    rows = df.where(_quoted(url).isNotNull()).select(
        _site_of(_quoted(url)), F.concat_ws("\t", *texts).alias(_LINE)
    )
    fields = ",".join(f"{field}={number}" for number, field in enumerate(given, 1))
    header = "\t".join(given)
    return _learned(rows, [header], "tsv", fields, memory)


def learn_lines(
    session: SparkSession,
    paths: str | Sequence[str],
    *,
    lines: Lines | None = None,
    memory: int = _MEMORY,
) -> str:
    """The same of crawl logs and indexes, in the formats of ``undust formats`` whose records are
    lines. URLs need a host."""
    text, _ = _text(session, paths)
    how = lines or lines_of(text)
    sample = text.select("value").limit(100).collect()
    values = [row["value"] for row in sample]
    said = how.read_column(pa.array(values, pa.string()), threads=1)
    # Lines that tell the columns of what comes behind them.
    header = [
        line for line, reject in zip(values, said["reject"].to_pylist()) if reject == "comment"
    ]

    def urls_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            urls = how.read_column(batch.column(0), threads=1)["url"].combine_chunks()
            made = pa.RecordBatch.from_arrays([urls, batch.column(0)], names=["url", _LINE])
            yield made.filter(urls.is_valid())

    schema = StructType().add("url", StringType()).add(_LINE, StringType())
    rows = text.select("value").mapInArrow(urls_of, schema)
    return _learned(rows.select(_site_of(F.col("url")), _LINE), header, how.format, None, memory)


def _site_of(url: F.Column) -> F.Column:
    return site(url, Canonicalizer(_BASE_PROFILE)).alias(_SITE)


def _learned(
    rows: DataFrame, header: list[str], format: str, fields: str | None, memory: int
) -> str:
    """The rules of lines of a ``format``, each with its site."""

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.NamedTemporaryFile("wb", prefix="undust-", suffix=".lines") as file:
            file.writelines(line.encode("utf-8", "surrogateescape") + b"\n" for line in header)
            count = 0
            for batch in batches:
                count += len(batch)
                lines = batch.column(0).cast(pa.large_binary()).to_pylist()
                file.writelines(line + b"\n" for line in lines)
            if count == 0:
                return
            file.flush()
            text = undust.learn(
                Path(file.name), format=format, fields=fields, memory=memory, threads=1
            )
        yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], names=["rules"])

    # Records without a host are of no site.
    by_site = rows.where(F.col(_SITE) != "").repartition(_SITE).select(_LINE)
    learned = by_site.mapInArrow(of_partition, StructType().add("rules", StringType()))
    return undust.join_rules(row["rules"] for row in learned.collect())
