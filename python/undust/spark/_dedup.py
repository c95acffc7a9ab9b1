"""One row for each page.

The rows of a partition go through a set of the native core, which lets through the first of each
page. What is left is brought together by page, sorted into its order, and goes through such a set
once more. So of most duplicates nothing is shuffled, and what is sorted are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, BooleanType, LongType, StructField, StructType

from undust import Canonicalizer, FingerprintKey, Lines, Pages
from undust.spark._columns import fingerprint, host
from undust.spark._lines import PLACE, Partition, reader

# Columns of our own: the row as it was, what its place is in, its page, and whether it is the first
# of that as far as its partition shows.
_ROW = "__undust_row"
_ORDER = "__undust_order"
_PAGE = "__undust_page"
_NEW = "__undust_new"

# Times that the order of a batch goes back at most, for looking who is first to be worth it.
_STRETCHES_MAX = 8


def dedup(
    df: DataFrame,
    url: str = "url",
    canonicalizer: Canonicalizer | None = None,
    *,
    order_by: str | Column | Sequence[str | Column] | None = None,
    count: str | None = None,
) -> DataFrame:
    """One row for each page: the first, in no order.

    Rows without a URL (null) are left out. With a count all columns are nullable. A task takes 24
    bytes of memory for each page of its partition, beside what Spark takes.

    Args:
        url: the column with the URLs.
        order_by: what decides which row is the first: the lowest, null before all others. By
            default the order of the partitions, and of the rows in them, as
            ``monotonically_increasing_id`` has it; with ties any row.
        count: a column for the number of rows of the page.
    """
    pages = canonicalizer or Canonicalizer()
    key = FingerprintKey()
    url = column_of(df, url)
    if count is not None and count.casefold() in (name.casefold() for name in df.columns):
        raise ValueError(f"count: the table has a column {count} already; take another name")
    by = _ordered_by(order_by)
    order = by[0] if len(by) == 1 else F.struct(*by)
    row = F.struct(*map(quoted, df.columns))
    rows = df.where(quoted(url).isNotNull()).select(row.alias(_ROW), order.alias(_ORDER))
    if rows.schema[_ORDER] == StructField(_ORDER, LongType(), False):
        mark = _marker(df.columns.index(url), pages, key, count is not None)
        marked = rows.mapInArrow(mark, _marked_schema(rows.schema))
    else:  # What only Spark compares.
        page = fingerprint(F.col(_ROW)[url], key, pages)
        marked = rows.select(_ROW, _ORDER, page.alias(_PAGE), F.lit(True).alias(_NEW))
    return _one_of_each(marked, count)


def dedup_lines(
    session: SparkSession,
    paths: str | Sequence[str],
    canonicalizer: Canonicalizer | None = None,
    *,
    lines: Lines | None = None,
    format: str | None = None,
    base_url: str | None = None,
    fields: Sequence[str] = (),
    count: str | None = None,
) -> DataFrame:
    """The first record of each page in lists, logs and indexes: what ``dedup`` gives of
    ``read_lines`` by its ``PLACE``, in one step, so that most duplicates never leave where they are
    read. For the other arguments see there."""
    pages = canonicalizer or Canonicalizer()
    text, read, schema = reader(
        session,
        paths,
        lines=lines,
        format=format,
        base_url=base_url,
        verbatim=pages.profile.startswith("lines@"),
        fields=fields,
        rejects=False,
    )
    names = schema.names
    if count is not None and count.casefold() in map(str.casefold, names):
        raise ValueError(f"count: the table has a column {count} already; take another name")
    mark = _marker(names.index("url"), pages, FingerprintKey(), count is not None)

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return mark(_as_rows(batch) for batch in read(batches))

    rows = StructType([StructField(_ROW, schema), StructField(_ORDER, LongType(), False)])
    return _one_of_each(text.mapInArrow(of_partition, _marked_schema(rows)), count)


def _as_rows(records: pa.RecordBatch) -> pa.RecordBatch:
    """Records as rows, each in its place."""
    rows = pa.StructArray.from_arrays(records.columns, names=records.schema.names)
    return pa.RecordBatch.from_arrays([rows, records.column(PLACE)], names=[_ROW, _ORDER])


def _ordered_by(order_by: str | Column | Sequence[str | Column] | None) -> list[Column]:
    """What the order is made of."""
    if order_by is None:
        return [F.monotonically_increasing_id()]
    given = [order_by] if isinstance(order_by, (str, Column)) else list(order_by)
    by = [quoted(one) if isinstance(one, str) else one for one in given]
    if any(re.search(r" (ASC|DESC) NULLS (FIRST|LAST)'?>$", str(one)) for one in by):
        raise ValueError(
            "order_by: the lowest is the first; for the highest say -col(...) of a number, such as "
            "-unix_timestamp(...)"
        )
    return by


def summary(
    df: DataFrame, url: str = "url", canonicalizer: Canonicalizer | None = None
) -> DataFrame:
    """How much of each host is duplicate: ``host``, ``lines``, ``urls`` (different spellings),
    ``pages`` and ``duplicates`` (lines but one for each page), most duplicates first."""
    pages = canonicalizer or Canonicalizer()
    key = FingerprintKey()
    column = quoted(column_of(df, url))
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


def _marked_schema(rows: StructType) -> StructType:
    """The columns of rows, their order, their page, and whether they are the first of it."""
    return StructType([*rows.fields]).add(_PAGE, BinaryType()).add(_NEW, BooleanType())


def _marker(
    url_at: int, pages: Canonicalizer, key: FingerprintKey, all_rows: bool
) -> Partition:
    """What gives rows and their order the fingerprint of their page, and whether they are the first
    of it as far as their partition shows; those alone, unless ``all_rows`` are asked for."""

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Pages(pages, key)
        last = None
        for batch in batches:
            stretches = _in_order(batch)
            if len(stretches) > _STRETCHES_MAX:
                # In no order: whoever is first is found out later.
                prints = pages.fingerprint_column(batch.column(0).field(url_at), key, threads=1)
                yield _with(batch, prints, pa.repeat(True, len(batch)))
                continue
            for stretch in stretches:
                order = stretch.column(1)
                if last is not None and order[0].as_py() < last:
                    # Goes back: what was seen before is not first any more.
                    seen = Pages(pages, key)
                last = order[-1].as_py()
                urls = stretch.column(0).field(url_at)
                new, prints = seen._add_column(urls, threads=1)
                marked = _with(stretch, prints, new.combine_chunks())
                yield marked if all_rows else marked.filter(marked.column(3))

    return of_partition


def _with(rows: pa.RecordBatch, prints: pa.ChunkedArray, new: pa.Array) -> pa.RecordBatch:
    """The rows with the fingerprints of their pages, and whether they are new."""
    columns = [*rows.columns, prints.cast(pa.binary()).combine_chunks(), new]
    return pa.RecordBatch.from_arrays(columns, names=[_ROW, _ORDER, _PAGE, _NEW])


def _in_order(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The stretches of a batch whose order ascends."""
    order = batch.column(1)
    if len(order) == 0:
        return []
    back = pc.less(order.slice(1), order.slice(0, len(order) - 1))
    starts = [0, *(at + 1 for at in pc.indices_nonzero(back).to_pylist())]
    ends = [*starts[1:], len(order)]
    return [batch.slice(start, end - start) for start, end in zip(starts, ends)]


def _one_of_each(marked: DataFrame, count: str | None) -> DataFrame:
    """One row for each page, with their number if that is asked for."""
    if count is None:
        return _first(marked).select(f"{_ROW}.*")
    return _counted(marked, count).select(f"{_ROW}.*", quoted(count))


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


def quoted(name: str) -> Column:
    """A column by its name, whatever is in that."""
    return F.col("`" + name.replace("`", "``") + "`")


def column_of(df: DataFrame, name: str) -> str:
    """The column that Spark means by ``name``, as the table spells it."""
    if name in df.columns:
        return name
    same = [column for column in df.columns if column.casefold() == name.casefold()]
    if len(same) != 1:
        raise ValueError(f"expected one of the columns {', '.join(df.columns)}, found {name}")
    return same[0]
