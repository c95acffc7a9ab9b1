"""Functions of columns, for ``withColumn`` and ``select``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType

from undust import Canonicalizer, FingerprintKey


def canonical(url: Column | str, canonicalizer: Canonicalizer | None = None) -> Column:
    """The canonical form of a column of URLs."""
    pages = canonicalizer or Canonicalizer()
    made = _column(url, lambda urls: pages.canonical_column(urls, threads=1), StringType())
    return made.alias("canonical")


def surt(url: Column | str, canonicalizer: Canonicalizer | None = None) -> Column:
    """The canonical form as a key for sorting: ``com,example)/path``."""
    pages = canonicalizer or Canonicalizer()
    made = _column(url, lambda urls: pages.surt_column(urls, threads=1), StringType())
    return made.alias("surt")


def urlkey(url: Column | str) -> Column:
    """The key that CDX files of web archives have for it."""
    pages = Canonicalizer()
    made = _column(url, lambda urls: pages.urlkey_column(urls, threads=1), StringType())
    return made.alias("urlkey")


def host(url: Column | str, canonicalizer: Canonicalizer | None = None) -> Column:
    """The host of the canonical form; empty if it has none."""
    pages = canonicalizer or Canonicalizer()
    made = _column(url, lambda urls: pages.host_column(urls, threads=1), StringType())
    return made.alias("host")


def site(url: Column | str, canonicalizer: Canonicalizer | None = None) -> Column:
    """The domain of that host that somebody has registered, or the host itself."""
    pages = canonicalizer or Canonicalizer()
    made = _column(url, lambda urls: pages.site_column(urls, threads=1), StringType())
    return made.alias("site")


def fingerprint(
    url: Column | str, key: FingerprintKey, canonicalizer: Canonicalizer | None = None
) -> Column:
    """128 bits for the page, under a secret key: short, and equal for equal pages alone."""
    pages = canonicalizer or Canonicalizer()

    def of(urls: Any) -> pa.ChunkedArray:
        return pages.fingerprint_column(urls, key, threads=1).cast(pa.binary())

    return _column(url, of, BinaryType()).alias("fingerprint")


def _column(
    url: Column | str, made_of: Callable[[Any], pa.ChunkedArray], returns: DataType
) -> Column:
    """What ``made_of`` makes of each batch of a column."""
    column = F.col(url) if isinstance(url, str) else url
    try:
        from pyspark.sql.functions import arrow_udf
    except ImportError:  # Before Spark 4.1.
        return _pandas_column(column, made_of, returns)

    def of_batch(urls: pa.Array) -> pa.Array:
        return made_of(urls).combine_chunks()

    # Annotations as text would be looked up by name where they cannot be seen.
    of_batch.__annotations__ = {"urls": pa.Array, "return": pa.Array}
    return arrow_udf(of_batch, returns)(column)


def _pandas_column(
    column: Column, made_of: Callable[[Any], pa.ChunkedArray], returns: DataType
) -> Column:
    import pandas as pd

    kind = pa.binary() if isinstance(returns, BinaryType) else pa.string()

    def of_batch(urls: pd.Series) -> pd.Series:
        return made_of(pa.array(urls, pa.string(), from_pandas=True)).cast(kind).to_pandas()

    of_batch.__annotations__ = {"urls": pd.Series, "return": pd.Series}
    return F.pandas_udf(of_batch, returns)(column)
