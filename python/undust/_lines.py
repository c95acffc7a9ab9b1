"""Lines of lists, logs and indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from undust import _arrow, _native
from undust._text import threads_of

if TYPE_CHECKING:
    import pyarrow as pa


class Lines:
    """How the lines of some files hold URLs. Can be pickled.

    Args:
        format: the name of a format (``undust formats`` lists them); if it is not given, the one
            that the sample is of.
        sample: the first lines of a file. A format whose columns are told by the file, such as
            ``cdx``, needs it.
        base_url: the host of paths that have none in their line. Without it they are rejected
            (``no-host``).
        verbatim: takes every byte of a line of a list as part of its URL, as the profile ``lines``
            does: no carriage return, no empty line is told apart.

    Raises:
        UndustError: if nobody can say what the sample is, or its records are no lines (CSV, W3C,
            web archives, sitemaps, Parquet, and what is packed or not UTF-8).
    """

    def __init__(
        self,
        format: str | None = None,
        *,
        sample: bytes = b"",
        base_url: str | None = None,
        verbatim: bool = False,
    ) -> None:
        self._made_of = (format, sample, base_url, verbatim)
        self._native = _native.Lines(*self._made_of)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self._made_of)

    @property
    def format(self) -> str:
        """The name of the format."""
        return self._native.format

    @property
    def base_url(self) -> str | None:
        """The host of paths that have none in their line."""
        return self._made_of[2]

    def refuses(self, sample: bytes) -> str | None:
        """Why a file that begins with ``sample`` is not to be read so; ``None`` if it may be."""
        return self._native.refuses(sample)

    def read_column(
        self, column: Any, fields: Sequence[str] = (), *, threads: int | None = None
    ) -> pa.Table:
        """What each line says.

        Returns:
            As many rows: ``url``, which is null where there is none; ``reject``, why there is none
            (``empty`` and ``comment`` are not wrong), or null; and the ``fields`` that were asked
            for: method, status, size, digest, mime, time, redirect, canonical_link, referrer,
            agent, and ``spelling``, which is what ``undust`` prints; null where the line does not
            say.

        Raises:
            UndustError: if a line tells other columns than the sample, as a second header does.
        """
        pa = _arrow.arrow()
        threads = threads_of(threads)
        arrays, kind = _arrow.stretches(column)
        names = ["url", "reject", *fields]
        types = [pa.string() if name == "reject" else kind for name in names]
        made: list[list[Any]] = [[] for _ in names]
        for array in arrays:
            ends, values, nulls = _arrow.texts(array)
            columns = self._native.read(ends, values, list(fields), threads)
            for name, type, into, texts in zip(names, types, made, columns):
                text = _arrow.array_of(type, len(array), texts, None)
                empty = pa.compute.equal(pa.compute.binary_length(text), 0)
                if name == "url":
                    # An empty URL is one, unless there is a reason why it is none.
                    reasons = _arrow.array_of(pa.string(), len(array), columns[1], None)
                    empty = pa.compute.greater(pa.compute.binary_length(reasons), 0)
                if nulls is not None:
                    empty = pa.compute.or_(empty, nulls)
                into.append(pa.compute.if_else(empty, pa.scalar(None, text.type), text))
        columns = [pa.chunked_array(chunks, type) for chunks, type in zip(made, types)]
        return pa.table(columns, names=names)


def _made_again(kind: type[Lines], made_of: tuple[str | None, bytes, str | None, bool]) -> Lines:
    format, sample, base_url, verbatim = made_of
    return kind(format, sample=sample, base_url=base_url, verbatim=verbatim)
