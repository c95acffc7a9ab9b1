"""Rules of single sites, learned where their records are.

A site's rules do not depend on any other site. So the records are brought together by site, each
task mines the sites of its partition with the native core, and the rule files become one: the same
as ``undust learn`` writes for all records at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

import undust
from undust import Canonicalizer, Lines
from undust.spark._columns import site
from undust.spark._dedup import column_of, quoted
from undust.spark._lines import checked, first_lines, lines_of, records_of, text_of

_SITE = "site"
_LINE = "line"

#: What `learn` may know of a record beside its URL.
FIELDS = ("digest", "size", "status", "time", "redirect", "canonical_link", "mime")

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
            least one of ``digest``, ``size``, ``redirect`` and ``canonical_link`` has to be there
            to tell which URLs are one page. Times are text, in one of the spellings of logs.
    """
    for name in set(fields) - set(FIELDS):
        raise TypeError(f"learn: expected one of {', '.join(FIELDS)}, found {name}")
    columns = {"url": url, **fields}
    given = {field: column_of(df, column) for field, column in columns.items()}
    if not {"digest", "size", "redirect", "canonical_link"} & set(given):
        raise ValueError(
            "learn: expected a column for digest, size, redirect or canonical_link, found none"
        )
    texts = [
        F.regexp_replace(F.coalesce(quoted(column).cast("string"), F.lit("")), _PARTS, "")
        for column in given.values()
    ]
    rows = df.where(quoted(given["url"]).isNotNull()).select(
        _site_of(quoted(given["url"])), F.concat_ws("\t", *texts).alias(_LINE)
    )
    places = ",".join(f"{field}={number}" for number, field in enumerate(given, 1))
    options = {"format": "tsv", "fields": places, "memory": memory}
    return _learned(rows, ["\t".join(given).encode()], options)


def learn_lines(
    session: SparkSession,
    paths: str | Sequence[str],
    *,
    lines: Lines | None = None,
    format: str | None = None,
    base_url: str | None = None,
    memory: int = _MEMORY,
) -> str:
    """The same of crawl logs and indexes, in the formats of ``undust formats`` whose records are
    lines; see ``read_lines``. Records without a host are of no site, and are left out."""
    text, files = text_of(session, paths)
    first = first_lines(text, files)
    how = lines or lines_of(first, format, base_url)
    values = [line for _, lines in first for line in lines]
    said = how.read_column(pa.array(values, pa.binary()), threads=1)
    # Lines that tell the columns of what comes behind them.
    header = [
        line for line, reject in zip(values, said["reject"].to_pylist()) if reject == "comment"
    ]

    def urls_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines, stretches in checked(batches, files, how):
            urls = records_of(how, lines, stretches)["url"].combine_chunks()
            made = pa.RecordBatch.from_arrays([urls, lines], names=["url", _LINE])
            yield made.filter(urls.is_valid())

    schema = StructType().add("url", StringType()).add(_LINE, StringType())
    rows = text.mapInArrow(urls_of, schema)
    options = {"format": how.format, "base_url": how.base_url, "memory": memory}
    return _learned(rows.select(_site_of(F.col("url")), _LINE), header, options)


def _site_of(url: Column) -> Column:
    return site(url, Canonicalizer(_BASE_PROFILE)).alias(_SITE)


def _learned(rows: DataFrame, header: list[bytes], options: dict[str, Any]) -> str:
    """The rules of lines, each with its site; ``header`` comes before them in every file."""

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.NamedTemporaryFile("wb", prefix="undust-", suffix=".lines") as file:
            file.writelines(line + b"\n" for line in header)
            count = 0
            for batch in batches:
                count += len(batch)
                lines = batch.column(0).cast(pa.large_binary()).to_pylist()
                file.writelines(line + b"\n" for line in lines)
            if count == 0:
                return
            file.flush()
            text = undust.learn(file.name, threads=1, **options)
        yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], names=["rules"])

    # Records without a host are of no site.
    by_site = rows.where(F.col(_SITE) != "").repartition(_SITE).select(_LINE)
    learned = by_site.mapInArrow(of_partition, StructType().add("rules", StringType()))
    texts = [row["rules"] for row in learned.collect()]
    return undust.join_rules(texts or [undust.learn([])])
