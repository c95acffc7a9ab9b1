"""Text and bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from undust import _native

Text = TypeVar("Text", str, bytes)


def to_bytes(url: str | bytes) -> bytes:
    """The bytes of a URL."""
    if isinstance(url, str):
        return url.encode("utf-8", "surrogateescape")
    if isinstance(url, bytes):
        return url
    raise TypeError(f"a URL: expected str or bytes, found {type(url).__name__}")


def like(url: Text, made: bytes) -> Text:
    """What was made of ``url``, in its type."""
    return made.decode("utf-8", "surrogateescape") if isinstance(url, str) else made


def read_text(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Name and text of a settings or rule file, packed or not.

    Raises:
        UndustError: if it cannot be read, or is not UTF-8, with its name.
    """
    with open(path, "rb"):  # What is not there, or not for us, is an exception of its own.
        return os.fspath(path), _native.read_text(path)


def read_texts(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> list[tuple[str, str]]:
    """The same of one file or several."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [read_text(path) for path in paths]


def threads_of(threads: int | None) -> int:
    """How many threads: as many as there are processors for us, if nobody says."""
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if threads < 1:
        raise ValueError(f"threads: expected 1 or more, found {threads}")
    return threads
