"""Which URLs are the first of their page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from undust import _arrow, _native
from undust._canonicalizer import Canonicalizer
from undust._text import threads_of, to_bytes

if TYPE_CHECKING:
    import pyarrow as pa


class FingerprintKey:
    """The secret that fingerprints depend on: those of one key can be compared.

    Whoever knows it can make two URLs that are taken for one page, so keep it from those whose URLs
    you read. Can be pickled, with the secret in it.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._native = _native.FingerprintKey(secret)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.secret,)

    @property
    def secret(self) -> bytes:
        """The 16 bytes that it is made of."""
        return self._native.secret()


class Pages:
    """The pages that were seen so far; takes 24 bytes of memory for each at most.

    >>> pages = Pages()
    >>> [url for url in ["http://a.test/#x", "HTTP://A.test", "http://b.test/"] if pages.add(url)]
    ['http://a.test/#x', 'http://b.test/']
    """

    def __init__(
        self, canonicalizer: Canonicalizer | None = None, key: FingerprintKey | None = None
    ) -> None:
        self._canonicalizer = canonicalizer or Canonicalizer()
        self._key = key or FingerprintKey()
        self._native = _native.Pages(self._canonicalizer._native, self._key._native)

    def __len__(self) -> int:
        return len(self._native)

    def add(self, url: str | bytes) -> bool:
        """Takes in the page of a URL; says whether it is new."""
        return self._native.add(to_bytes(url))

    def add_column(self, column: Any, *, threads: int | None = None) -> pa.ChunkedArray:
        """The same for each row, in order. A null is no page: it gives null."""
        return self._add_column(column, threads)[0]

    def _add_column(
        self, column: Any, threads: int | None
    ) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """The same, with the fingerprints of the rows."""
        pa = _arrow.arrow()
        threads = threads_of(threads)
        arrays, _ = _arrow.stretches(column)
        all_new, all_prints = [], []
        for array in arrays:
            urls = array.drop_null() if array.null_count else array
            ends, values, _ = _arrow.texts(urls)
            bits, prints = map(pa.py_buffer, self._native.add_column(ends, values, threads))
            new = pa.Array.from_buffers(pa.bool_(), len(urls), [None, bits])
            pages = pa.Array.from_buffers(pa.binary(16), len(urls), [None, prints])
            if array.null_count:
                is_there = array.is_valid()
                places = pa.compute.cumulative_sum(is_there.cast(pa.int64()))
                places = pa.compute.if_else(is_there, pa.compute.subtract(places, 1), None)
                new, pages = new.take(places), pages.take(places)
            all_new.append(new)
            all_prints.append(pages)
        return pa.chunked_array(all_new, pa.bool_()), pa.chunked_array(all_prints, pa.binary(16))
