"""Lists, logs and indexes as tables, with the place of each line in the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from undust import Lines, UndustError

#: The column with the place of a line: by it the lines of all files are in order, the files by the
#: bytes of their names.
PLACE = "place"

# First lines, to recognize the format by.
SAMPLE_LINES = 1000


def read_lines(
    session: SparkSession,
    paths: str | Sequence[str],
    *,
    lines: Lines | None = None,
    format: str | None = None,
    base_url: str | None = None,
    verbatim: bool = False,
    fields: Sequence[str] = (),
    rejects: bool = False,
) -> DataFrame:
    """The records of lists, logs and indexes: ``place``, ``url``, and ``fields``.

    All files are of one format. Files may be plain, ``.gz``, ``.zst`` and whatever else Hadoop can
    read, by their names, but ``.bz2``: of these Spark reads pieces, whose lines have no order. A
    plain file is read by several tasks.

    Args:
        lines: how the lines hold URLs. If it is not given, the first lines of the input show it, of
            a file of a ``format`` or one that is to be recognized, with ``base_url`` and
            ``verbatim`` as for ``undust.Lines``.
        fields: see ``undust.Lines.read_column``; ``spelling`` is what ``undust dedup`` prints.
        rejects: keeps the lines without a URL, with the reason in a column ``reject``.

    Raises:
        UndustError: at once if the first lines are of no format, or none has a host; in a task if a
            file begins otherwise than they do.
    """
    text, read, schema = reader(
        session,
        paths,
        lines=lines,
        format=format,
        base_url=base_url,
        verbatim=verbatim,
        fields=fields,
        rejects=rejects,
    )
    return text.mapInArrow(read, schema)


#: What a partition of one table becomes in another.
Partition = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def reader(
    session: SparkSession,
    paths: str | Sequence[str],
    *,
    lines: Lines | None,
    format: str | None,
    base_url: str | None,
    verbatim: bool,
    fields: Sequence[str],
    rejects: bool,
) -> tuple[DataFrame, Partition, StructType]:
    """The lines of files, and what makes records of them, with their columns; as ``read_lines``."""
    text, files = text_of(session, paths)
    how = lines or lines_of(text, format, base_url, verbatim)
    # Who names a format has looked.
    checks = lines is None and format is None
    names = ["url", *(["reject"] if rejects else []), *fields]
    place_bits = 63 - max(1, len(files)).bit_length()

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Block, and how many rows of it there were.
        here, rows = (0, -1), 0
        for batch in batches:
            values, *block = batch.columns
            file, start = (numbers.to_numpy() for numbers in block)
            changes = np.flatnonzero((file[1:] != file[:-1]) | (start[1:] != start[:-1])) + 1
            places = np.empty(len(values), np.int64)
            for at, end in zip([0, *changes], [*changes, len(values)] if len(values) else []):
                number, name = files[file[at]]
                if here != (file[at], start[at]):
                    here, rows = (file[at], start[at]), 0
                    if checks and start[at] == 0:
                        _check(how, name, values.slice(at, min(end - at, SAMPLE_LINES)))
                # Twice the start of the block: its last lines may begin where the next one does.
                first = (number << place_bits) + 2 * int(start[at]) + rows
                places[at:end] = np.arange(first, first + end - at)
                rows += int(end - at)
            table = how.read_column(values, fields, threads=1)
            columns = [table.column(name).combine_chunks() for name in names]
            made = pa.RecordBatch.from_arrays([pa.array(places), *columns], names=[PLACE, *names])
            yield made if rejects else made.filter(columns[0].is_valid())

    schema = StructType([StructField(PLACE, LongType(), False)])
    for name in names:
        schema = schema.add(StructField(name, StringType()))
    return text, of_partition, schema


def lines_of(
    text: DataFrame, format: str | None, base_url: str | None, verbatim: bool = False
) -> Lines:
    """How the lines of ``text`` hold URLs, as its first ones show."""
    values = first_lines(text)
    how = Lines(format, sample=b"\n".join(values), base_url=base_url, verbatim=verbatim)
    said = how.read_column(pa.array(values, pa.binary()), threads=1)
    reasons = said["reject"].to_pylist()
    if "no-host" in reasons and said["url"].null_count == len(values):
        raise UndustError(
            f"the first lines ({how.format}) have paths without a host; say which by base_url"
        )
    return how


def first_lines(text: DataFrame) -> list[bytes]:
    """The first lines that are not blank."""
    value = F.col("value")
    rows = text.where(F.trim(value) != "").select(value.cast("binary")).limit(SAMPLE_LINES)
    return [bytes(row[0]) for row in rows.collect()]


def text_of(
    session: SparkSession, paths: str | Sequence[str]
) -> tuple[DataFrame, dict[int, tuple[int, str]]]:
    """The lines of some files, each with a hash of its file's name and where its block starts; and
    the number and name of each file by that hash, in the order of the names."""
    wanted = [paths] if isinstance(paths, str) else list(paths)
    if len(set(wanted)) < len(wanted):
        raise ValueError("a path is named twice, and Spark would read it once; name it once")
    # A carriage return ends no line, as for undust.
    read = session.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(wanted)
    text = read.select(
        "value", F.xxhash64(F.input_file_name()), F.expr("input_file_block_start()")
    )
    names = read.inputFiles()
    for name in names:
        if name.endswith(".bz2"):
            raise ValueError(
                f"{name}: Spark reads pieces of a .bz2 file, whose lines have no order; unpack it, "
                "or pack it as .gz or .zst"
            )
    table = session.createDataFrame([(name,) for name in names], "name string")
    rows: list[Any] = table.select("name", F.xxhash64("name")).collect()
    rows.sort(key=lambda row: unquote_to_bytes(row[0]))
    files = {hash: (number, name) for number, (name, hash) in enumerate(rows)}
    if len(files) < len(rows):
        raise ValueError("the names of two files have one hash; read them in two jobs")
    return text, files


def _check(how: Lines, name: str, values: pa.Array) -> None:
    """Refuses a file that begins otherwise than the input."""
    start = b"\n".join(value or b"" for value in values.cast(pa.large_binary()).to_pylist())
    why = how.refuses(start)
    if why is not None:
        raise UndustError(
            f"{name}: {why}; read it in a job of its own, or say the format of all files"
        )
