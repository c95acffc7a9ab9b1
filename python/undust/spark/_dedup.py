"""One row for each page.

The rows of a partition go through a set of the native core, which lets through the first of each
page. What is left is brought together by page, sorted into its order, and goes through such a set
once more. So of most duplicates nothing is shuffled, and what is sorted are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, BooleanType, LongType, StructField, StructType

from undust import Canonicalizer, FingerprintKey, Pages
from undust.spark._columns import fingerprint, host

# Columns of our own: the row as it was, what its place is in, its page, and whether it is the first
# of that as far as its partition shows.
_ROW = "row"
_ORDER = "order"
_PAGE = "page"
_NEW = "new"


def dedup(
    df: DataFrame,
    url: str = "url",
    canonicalizer: Canonicalizer | None = None,
    *,
    order_by: str | Column | Sequence[str | Column] | None = None,
    count: str | None = None,
) -> DataFrame:
    """One row for each page: the first, in no order.

    Rows without a URL (null) are left out. A task takes 24 bytes of memory for each page of its
    partition, beside what Spark takes.

    Args:
        url: the column with the URLs.
        order_by: what decides which row is the first: the lowest, null before all others. By
            default the order of the partitions, and of the rows in them, as
            ``monotonically_increasing_id`` has it; with ties any row.
        count: a column for the number of rows of the page.
    """
    pages = canonicalizer or Canonicalizer()
    key = FingerprintKey()
    if count in df.columns:
        raise ValueError(f"count: the table has a column {count} already; take another name")
    if order_by is None:
        by = [F.monotonically_increasing_id()]
    elif isinstance(order_by, (str, Column)):
        by = [order_by]
    else:
        by = list(order_by)
    order = by[0] if len(by) == 1 else F.struct(*by)
    order = F.col(order) if isinstance(order, str) else order
    row = F.struct(*map(_quoted, df.columns))
    rows = df.where(_quoted(url).isNotNull()).select(row.alias(_ROW), order.alias(_ORDER))
    if rows.schema[_ORDER] == StructField(_ORDER, LongType(), False):
        marked = _marked(rows, df.columns.index(url), pages, key, bool(count))
    else:  # What only Spark compares.
        page = fingerprint(F.col(_ROW)[url], key, pages)
        marked = rows.select(_ROW, _ORDER, page.alias(_PAGE), F.lit(True).alias(_NEW))
    first = _counted(marked, count) if count else _first(marked)
    return first.select(f"{_ROW}.*", *([_quoted(count)] if count else []))


def summary(
    df: DataFrame, url: str = "url", canonicalizer: Canonicalizer | None = None
) -> DataFrame:
    """How much of each host is duplicate: ``host``, ``lines``, ``urls`` (different spellings),
    ``pages`` and ``duplicates`` (lines but one for each page), most duplicates first."""
    pages = canonicalizer or Canonicalizer()
    key = FingerprintKey()
    column = _quoted(url)
    spellings = (
        df.where(column.isNotNull())
        .select(
            host(column, pages).alias("host"),
            fingerprint(column, key, pages).alias(_PAGE),
            fingerprint(column, key, Canonicalizer("lines")).alias("url"),
        )
        .groupBy("host", _PAGE, "url")
        .agg(F.count(F.lit(1)).alias("lines"))
    )
    of_pages = spellings.groupBy("host", _PAGE).agg(
        F.sum("lines").alias("lines"), F.count(F.lit(1)).alias("urls")
    )
    hosts = of_pages.groupBy("host").agg(
        F.sum("lines").alias("lines"),
        F.sum("urls").alias("urls"),
        F.count(F.lit(1)).alias("pages"),
    )
    duplicates = (F.col("lines") - F.col("pages")).alias("duplicates")
    return hosts.select("*", duplicates).orderBy(F.desc("duplicates"), "host")


def _marked(
    rows: DataFrame, url_at: int, pages: Canonicalizer, key: FingerprintKey, all_rows: bool
) -> DataFrame:
    """The rows with the fingerprint of their page, and whether they are the first of it as far as
    their partition shows; those alone, unless ``all_rows`` are asked for."""

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Pages(pages, key)
        last = None
        for batch in batches:
            for stretch in _in_order(batch):
                order = stretch.column(1)
                if last is not None and order[0].as_py() < last:
                    # Goes back: what was seen before is not first any more.
                    seen = Pages(pages, key)
                last = order[-1].as_py()
                new = seen.add_column(stretch.column(0).field(url_at), threads=1).combine_chunks()
                if not all_rows:
                    stretch = stretch.filter(new)
                    new = pa.repeat(True, len(stretch))
                urls = stretch.column(0).field(url_at)
                prints = pages.fingerprint_column(urls, key, threads=1).cast(pa.binary())
                columns = [*stretch.columns, prints.combine_chunks(), new]
                yield pa.RecordBatch.from_arrays(columns, names=[_ROW, _ORDER, _PAGE, _NEW])

    schema = StructType([*rows.schema.fields]).add(_PAGE, BinaryType()).add(_NEW, BooleanType())
    return rows.mapInArrow(of_partition, schema)


def _in_order(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The stretches of a batch whose order ascends."""
    order = batch.column(1)
    start = 0
    if len(order) > 1:
        back = pc.less(order.slice(1), order.slice(0, len(order) - 1))
        for at in pc.indices_nonzero(back).to_pylist():
            yield batch.slice(start, at + 1 - start)
            start = at + 1
    if len(order) > start:
        yield batch.slice(start)


def _first(marked: DataFrame) -> DataFrame:
    """The row of each page with the lowest order."""
    key = FingerprintKey()

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Pages(Canonicalizer("lines"), key)
        for batch in batches:
            new = seen.add_column(batch.column(1), threads=1).combine_chunks()
            yield batch.select([0]).filter(new)

    by_page = marked.repartition(_PAGE).sortWithinPartitions(_ORDER).select(_ROW, _PAGE)
    return by_page.mapInArrow(of_partition, StructType([marked.schema[_ROW]]))


def _counted(marked: DataFrame, count: str) -> DataFrame:
    """The same, with the number of rows of each page."""
    # A row that is not new is there to be counted alone; a null by itself would be no order.
    order = F.when(F.col(_NEW), F.struct(_ORDER))
    return marked.groupBy(_PAGE).agg(
        F.min_by(_ROW, order).alias(_ROW), F.count(F.lit(1)).alias(count)
    )


def _quoted(name: str) -> Column:
    """A column by its name, whatever is in that."""
    return F.col("`" + name.replace("`", "``") + "`")
