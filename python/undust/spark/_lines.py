"""Lists, logs and indexes as tables, with the place of each line in the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from undust import Lines

#: The column with the place of a line: by it the lines of all files are in order, the files by
#: their names.
PLACE = "place"

# First lines, to recognize the format by.
_SAMPLE_LINES = 1000


def read_lines(
    session: SparkSession,
    paths: str | Sequence[str],
    *,
    lines: Lines | None = None,
    fields: Sequence[str] = (),
    base_url: str | None = None,
    rejects: bool = False,
) -> DataFrame:
    """The records of lists, logs and indexes: ``place``, ``url``, and ``fields``.

    Files that Hadoop can read: plain, ``.gz``, ``.bz2``, ``.zst``, … by their names. A file that is
    not compressed is read by several tasks.

    Args:
        lines: how the lines hold URLs; by default what the first lines of the input show.
        fields: see ``undust.Lines.read_column``; ``spelling`` is what ``undust dedup`` prints.
        base_url: the host of paths that have none in their line, if ``lines`` is not given.
        rejects: keeps the lines without a URL, with the reason in a column ``reject``.
    """
    text, files = _text(session, paths)
    how = lines or lines_of(text, base_url)
    names = ["url", *(["reject"] if rejects else []), *fields]
    place_bits = 63 - max(1, len(files)).bit_length()

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Block, and how many rows of it there were.
        here, rows = (0, 0), 0
        for batch in batches:
            values, *block = batch.columns
            file, start = (numbers.to_numpy() for numbers in block)
            changes = np.flatnonzero((file[1:] != file[:-1]) | (start[1:] != start[:-1])) + 1
            places = np.empty(len(values), np.int64)
            for at, end in zip([0, *changes], [*changes, len(values)] if len(values) else []):
                if here != (file[at], start[at]):
                    here, rows = (file[at], start[at]), 0
                # Twice the start of the block: its last lines may begin where the next one does.
                first = (files[file[at]] << place_bits) + 2 * int(start[at]) + rows
                places[at:end] = np.arange(first, first + end - at)
                rows += int(end - at)
            table = how.read_column(values, fields, threads=1)
            columns = [table.column(name).combine_chunks() for name in names]
            made = pa.RecordBatch.from_arrays([pa.array(places), *columns], names=[PLACE, *names])
            yield made if rejects else made.filter(columns[0].is_valid())

    schema = StructType([StructField(PLACE, LongType(), False)])
    for name in names:
        schema = schema.add(StructField(name, StringType()))
    return text.mapInArrow(of_partition, schema)


def lines_of(text: DataFrame, base_url: str | None = None) -> Lines:
    """How the lines of ``text`` hold URLs, as its first ones show."""
    rows = text.select("value").limit(_SAMPLE_LINES).collect()
    sample = "\n".join(row["value"] for row in rows)
    return Lines(sample=sample.encode("utf-8", "surrogatepass"), base_url=base_url)


def _text(session: SparkSession, paths: str | Sequence[str]) -> tuple[DataFrame, dict[int, int]]:
    """The lines of some files, each with a hash of its file's name and where its block starts, and
    the numbers of the files, by the order of their names."""
    wanted = [paths] if isinstance(paths, str) else list(paths)
    # A carriage return ends no line, as for undust.
    read = session.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(wanted)
    text = read.select(
        "value", F.xxhash64(F.input_file_name()), F.expr("input_file_block_start()")
    )
    names = session.createDataFrame([(name,) for name in read.inputFiles()], "name string")
    hashes = [row[0] for row in names.orderBy("name").select(F.xxhash64("name")).collect()]
    files = {hash: number for number, hash in enumerate(hashes)}
    if len(files) < len(hashes):
        raise ValueError("the names of two files have one hash; read them in two jobs")
    return text, files
