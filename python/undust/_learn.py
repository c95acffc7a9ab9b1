"""Rules of single sites."""

from __future__ import annotations

import os
from collections.abc import Iterable

from undust import _native
from undust._text import threads_of


def learn(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    fields: str | None = None,
    base_url: str | None = None,
    memory: int = 1 << 30,
    temp_dir: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> str:
    """The rules of the sites in crawl logs, indexes or tables, as the text of a rule file.

    Args:
        paths: the files; plain or compressed.
        format: their format, if it is not to be recognized by their contents.
        fields: columns of tables, as in ``url=address,digest=md5``.
        base_url: the host of paths that have none in their line.
        memory: bytes that it may take; beyond that it goes on in files.
        temp_dir: where these are, without names; the system's folder unless told.
        threads: workers; as many as there are processors unless told.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    threads = threads_of(threads)
    return _native.learn(list(paths), format, fields, memory, temp_dir, threads, base_url)


def join_rules(texts: Iterable[str]) -> str:
    """The text of one rule file with what several say, which were learned of different sites."""
    return _native.join_rules(list(texts))
