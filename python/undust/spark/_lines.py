"""Lists, logs and indexes as tables, with the place of each line in the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_to_bytes

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from undust import Lines, UndustError

#: The column with the place of a line: by it the lines of all files are in order, the files by the
#: bytes of their names.
PLACE = "place"

# How files of the tool lz4 begin. Hadoop takes that for a length, and runs out of memory.
_LZ4_FRAME = b"\x04\x22\x4d\x18"

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

    All files are of one format. Files may be plain, or packed as ``.gz``, ``.zst``, ``.deflate``,
    ``.snappy`` or ``.lz4`` (of Hadoop) by their names, but not ``.bz2``: of these Spark reads
    pieces, whose lines have no order. A plain file is read by several tasks.

    Args:
        lines: how the lines hold URLs. If it is not given, the first lines of the input show it, of
            a file of a ``format`` or one that is to be recognized, with ``base_url`` and
            ``verbatim`` as for ``undust.Lines``.
        fields: see ``undust.Lines.read_column``; ``spelling`` is what ``undust dedup`` prints.
        rejects: keeps the lines without a URL, with the reason in a column ``reject``.

    Raises:
        UndustError: at once if the first lines are of no format, or none has a host; in a task if a
            file begins otherwise than they do, or is not of the ``format``, or goes on with other
            columns.
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


#: The number and name of each file, by the hash of its name.
Files = dict[int, tuple[int, str]]

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
    how = lines or lines_of(first_lines(text, files), format, base_url, verbatim)
    names = ["url", *(["reject"] if rejects else []), *fields]
    place_bits = 63 - max(1, len(files)).bit_length()

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for values, stretches in checked(batches, files, how):
            places = np.empty(len(values), np.int64)
            for stretch in stretches:
                # Twice the start of the block: its last lines may begin where the next one does.
                first = (stretch.file << place_bits) + 2 * stretch.block + stretch.row
                rows = stretch.end - stretch.at
                places[stretch.at : stretch.end] = np.arange(first, first + rows)
            table = records_of(how, values, stretches, fields)
            columns = [table.column(name).combine_chunks() for name in names]
            made = pa.RecordBatch.from_arrays([pa.array(places), *columns], names=[PLACE, *names])
            yield made if rejects else made.filter(columns[0].is_valid())

    schema = StructType([StructField(PLACE, LongType(), False)])
    for name in names:
        schema = schema.add(StructField(name, StringType()))
    return text, of_partition, schema


class Stretch(NamedTuple):
    """Rows of a batch that are lines of one block of a file."""

    at: int
    end: int
    #: The file's number and name, and where the block starts in it.
    file: int
    name: str
    block: int
    #: How many lines of the block came before.
    row: int


def checked(
    batches: Iterable[pa.RecordBatch], files: Files, how: Lines
) -> Iterator[tuple[pa.Array, list[Stretch]]]:
    """The lines of batches as ``text_of`` has them, and what they are of.

    Raises:
        UndustError: at the start of a file that is not to be read as ``how`` says, with its name.
    """
    # Block, and how many rows of it there were.
    here, rows = (0, -1), 0
    for batch in batches:
        values, *block = batch.columns
        file, start = (numbers.to_numpy() for numbers in block)
        changes = np.flatnonzero((file[1:] != file[:-1]) | (start[1:] != start[:-1])) + 1
        stretches = []
        for at, end in zip([0, *changes], [*changes, len(values)] if len(values) else []):
            number, name = files[file[at]]
            if here != (file[at], start[at]):
                here, rows = (file[at], start[at]), 0
                if start[at] == 0:
                    lines = values.slice(at, min(end - at, SAMPLE_LINES))
                    _check(how, name, lines.cast(pa.large_binary()).to_pylist())
            stretches.append(Stretch(int(at), int(end), number, name, int(start[at]), rows))
            rows += int(end - at)
        yield values, stretches


def records_of(
    how: Lines, values: pa.Array, stretches: Sequence[Stretch], fields: Sequence[str] = ()
) -> pa.Table:
    """What lines say; an error names the file that it is in."""
    try:
        return how.read_column(values, fields, threads=1)
    except UndustError:
        for stretch in stretches:
            with _named(stretch.name):
                lines = values.slice(stretch.at, stretch.end - stretch.at)
                how.read_column(lines, fields, threads=1)
        raise


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Puts the name of a file in front of what is wrong with it."""
    try:
        yield
    except UndustError as error:
        raise UndustError(f"{name}: {error}") from error


def lines_of(
    first: Sequence[tuple[str, list[bytes]]],
    format: str | None,
    base_url: str | None,
    verbatim: bool = False,
) -> Lines:
    """How lines hold URLs, as the ``first_lines`` show."""
    sample = b"\n".join(line for _, lines in first for line in lines)
    with _named(first[0][0]) if first else nullcontext():
        how = Lines(format, sample=sample, base_url=base_url, verbatim=verbatim)
    reasons: list[str | None] = []
    for name, lines in first:
        try:
            said = how.read_column(pa.array(lines, pa.binary()), threads=1)
        except UndustError:
            _check(how, name, lines)
            with _named(name):
                raise
        reasons += said["reject"].to_pylist()
    if "no-host" in reasons and None not in reasons:
        raise UndustError(
            f"the first lines ({how.format}) have paths without a host; say which by base_url"
        )
    return how


def first_lines(text: DataFrame, files: Files) -> list[tuple[str, list[bytes]]]:
    """The first lines that are not blank, each file's with its name."""
    rows = (
        text.where(F.trim("value") != "")
        .select(F.col("value").cast("binary"), "file")
        .limit(SAMPLE_LINES)
        .collect()
    )
    first: dict[int, list[bytes]] = {}
    for line, file in rows:
        first.setdefault(file, []).append(bytes(line))
    return [(files[file][1], lines) for file, lines in first.items()]


def text_of(
    session: SparkSession, paths: str | Sequence[str]
) -> tuple[DataFrame, Files]:
    """The lines of some files, each with a hash of its file's name and where its block starts; and
    the number and name of each file by that hash, in the order of the names."""
    wanted = [paths] if isinstance(paths, str) else list(paths)
    if len(set(wanted)) < len(wanted):
        raise ValueError("a path is named twice, and Spark would read it once; name it once")
    # A carriage return ends no line, as for undust.
    read = session.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(wanted)
    text = read.select(
        "value",
        F.xxhash64(F.input_file_name()).alias("file"),
        F.expr("input_file_block_start()").alias("block"),
    )
    names = read.inputFiles()
    for path in wanted:
        last = path.rstrip("/").rpartition("/")[2]
        is_hidden = last.startswith(("_", ".")) and last not in (".", "..")
        is_pattern = any(sign in last for sign in "*?[{")
        is_read = any(last in unquote(name).split("/") for name in names)
        if is_hidden and not is_pattern and not is_read:
            raise ValueError(
                f"{path}: Spark leaves out files whose names begin with _ or .; rename it"
            )
    for name in names:
        if name.endswith(".bz2"):
            raise ValueError(
                f"{name}: Spark reads pieces of a .bz2 file, whose lines have no order; unpack it, "
                "or pack it as .gz or .zst"
            )
        if name.endswith(".lz4") and _head(session, name, 4) == _LZ4_FRAME:
            raise ValueError(
                f"{name}: expected the blocks of Hadoop's .lz4, found a frame of the tool lz4 "
                "(04 22 4d 18); unpack it, or pack it as .gz or .zst"
            )
    table = session.createDataFrame([(name,) for name in names], "name string")
    rows: list[Any] = table.select("name", F.xxhash64("name")).collect()
    rows.sort(key=lambda row: unquote_to_bytes(row[0]))
    files = {hash: (number, name) for number, (name, hash) in enumerate(rows)}
    if len(files) < len(rows):
        raise ValueError("the names of two files have one hash; read them in two jobs")
    return text, files


def _head(session: Any, name: str, length: int) -> bytes:
    """The first bytes of a file, on the driver; none where that cannot see them."""
    jvm = getattr(session, "_jvm", None)
    if jvm is None:  # Spark Connect.
        return b""
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(name))
    file = path.getFileSystem(session._jsc.hadoopConfiguration()).open(path)
    try:
        return bytes(byte for byte in (file.read() for _ in range(length)) if byte >= 0)
    finally:
        file.close()


def _check(how: Lines, name: str, lines: Sequence[bytes | None]) -> None:
    """Refuses a file that begins otherwise than the input."""
    why = how.refuses(b"\n".join(line or b"" for line in lines))
    if why is not None:
        raise UndustError(f"{name}: {why}")
