"""Finds the URLs that are the same page spelled differently.

    >>> import undust
    >>> undust.canonical("HTTP://Example.COM:80/a/../b?utm_source=x&id=7")
    'http://example.com/b?id=7'

URLs are ``str`` or ``bytes``; what comes back is of the same type. A ``str`` stands for its UTF-8
bytes; bytes that are none are the surrogates that ``os.fsdecode`` makes of them.

Columns (``*_column``) are what pyarrow makes an array of: an Array or ChunkedArray of pyarrow, a
list, a pandas or polars series. They need pyarrow, and they are some ten times as fast as one URL
after the other. Nulls stay null.
"""

from undust._canonicalizer import Canonicalizer, Comparison, canonical
from undust._learn import join_rules, learn
from undust._lines import Lines
from undust._native import VERSION, UndustError
from undust._pages import FingerprintKey, Pages

__version__ = VERSION

__all__ = [
    "Canonicalizer",
    "Comparison",
    "FingerprintKey",
    "Lines",
    "Pages",
    "UndustError",
    "canonical",
    "join_rules",
    "learn",
]
