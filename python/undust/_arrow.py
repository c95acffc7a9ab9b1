"""Columns of Arrow, to and from the ends and bytes that the native module takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are worked on at once, so that no copy of a long column is made.
_ROWS_MAX = 1 << 20


def arrow() -> Any:
    """pyarrow, which only columns need."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("columns need pyarrow: pip install 'undust[arrow]'") from error
    return pyarrow


class Texts(NamedTuple):
    """A stretch of a column: where its first row starts in ``bytes``, and where each ends."""

    ends: memoryview
    bytes: memoryview
    nulls: pa.Array | None


def is_text(kind: pa.DataType) -> bool:
    """Has a column of this type texts or bytes?"""
    types = arrow().types
    return any(
        check(kind)
        for check in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
            types.is_string_view,
            types.is_binary_view,
        )
    )


def stretches(column: Any) -> tuple[list[pa.Array], pa.DataType]:
    """A column as arrays of large binaries, of a bounded length, and the type that it had."""
    pa = arrow()
    if isinstance(column, (str, bytes)):
        raise TypeError(f"a column of URLs: expected several, found one {type(column).__name__}")
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        has_arrow = hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__")
        column = pa.chunked_array(column) if has_arrow else pa.array(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = _without_dictionary(column)
    if pa.types.is_floating(kind) and pa.compute.all(column.is_null(nan_is_null=True)).as_py():
        # A column of pandas that has nothing: the type of that is a number's.
        column = pa.nulls(len(column))
        kind = column.type
    if pa.types.is_null(kind):
        kind = pa.string()
    if not is_text(kind):
        raise TypeError(f"a column of URLs: expected text or bytes, found {kind}")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [
        _large(chunk.slice(start, _ROWS_MAX))
        for chunk in chunks
        for start in range(0, len(chunk), _ROWS_MAX)
    ]
    return arrays, kind


def _without_dictionary(column: Any) -> tuple[pa.ChunkedArray, pa.DataType]:
    """The values of a column that has each of them once, and their type."""
    pa = arrow()
    kind = column.type.value_type
    if not is_text(kind):
        raise TypeError(f"a column of URLs: expected text or bytes, found {column.type}")
    is_string = "string" in str(kind)
    large = pa.large_string() if is_string else pa.large_binary()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    # Arrow takes no values of views (polars) through a dictionary.
    made = [chunk.dictionary.cast(large).take(chunk.indices) for chunk in chunks]
    return pa.chunked_array(made, large), pa.string() if is_string else kind


def _large(array: pa.Array) -> pa.Array:
    """The array with ends of 64 bits."""
    pa = arrow()
    return array.cast(pa.large_string() if pa.types.is_null(array.type) else pa.large_binary())


def texts(array: pa.Array) -> Texts:
    """The texts of an array of `stretches`; a null is an empty one."""
    nulls = array.is_null() if array.null_count else None
    _, ends, values = array.buffers()
    ends = memoryview(ends or bytes(8)).cast("B").cast("q")
    ends = ends[array.offset : array.offset + len(array) + 1]
    # The array may be a small part of its buffers.
    return Texts(ends, memoryview(values or b"").cast("B")[ends[0] : ends[-1]], nulls)


def array_of(
    kind: pa.DataType, rows: int, made: tuple[bytes, bytes], nulls: pa.Array | None
) -> pa.Array:
    """An array of ``kind``, of ends and bytes; null where ``nulls`` is true."""
    pa = arrow()
    ends, values = made
    validity = None
    if nulls is not None:
        validity = pa.compute.invert(nulls).buffers()[1]
    is_bytes = "binary" in str(kind)
    large = pa.large_binary() if is_bytes else pa.large_string()
    buffers = [validity, pa.py_buffer(ends), pa.py_buffer(values)]
    array = pa.Array.from_buffers(large, rows, buffers)
    return array if kind == large else array.cast(kind)
