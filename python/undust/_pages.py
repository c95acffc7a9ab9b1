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
        pa = _arrow.arrow()
        threads = threads_of(threads)
        arrays, _ = _arrow.stretches(column)
        made = []
        for array in arrays:
            is_null = array.is_null() if array.null_count else None
            urls = array if is_null is None else array.drop_null()
            ends, values, _ = _arrow.texts(urls)
            bits = self._native.add_column(ends, values, threads)
            new = pa.Array.from_buffers(pa.bool_(), len(urls), [None, pa.py_buffer(bits)])
            if is_null is not None:
                places = pa.compute.cumulative_sum(pa.compute.invert(is_null).cast(pa.int64()))
                places = pa.compute.subtract(places, 1)
                new = new.take(pa.compute.if_else(is_null, None, places))
            made.append(new)
        return pa.chunked_array(made, pa.bool_())
