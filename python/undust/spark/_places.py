"""Whether a result would replace what it is made of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

#: A path as its file system has it: which one that is, and the names from the root on.
Place = tuple[str, tuple[str, ...]]


def refuse_inputs(
    session: SparkSession, inputs: Sequence[str], output: str, *, is_local: bool
) -> None:
    """Refuses an output that is an input, has one in it, or lies within one: Spark removes what is
    to be replaced before it reads.

    Args:
        output: a path of Hadoop, or of this machine if ``is_local``.

    Raises:
        ValueError: with the names of both.
    """
    jvm = getattr(session, "_jvm", None)
    if is_local:
        to = ("file", _names(os.path.realpath(output)))
    else:
        to = next(_places(jvm, session, output, is_pattern=False))
    for given in inputs:
        for place in _places(jvm, session, given, is_pattern=True):
            if place == to:
                what = "is an input as well"
            elif _is_within(place, to):
                what = f"has an input in it, {given}"
            elif _is_within(to, place):
                what = f"lies within an input, {given}"
            else:
                continue
            kind = "file" if is_local else "folder"
            raise ValueError(f"{output}: {what}; write to another {kind} and rename it")


def _is_within(inner: Place, outer: Place) -> bool:
    return inner[0] == outer[0] and inner[1][: len(outer[1])] == outer[1]


def _places(jvm: Any, session: Any, given: str, *, is_pattern: bool) -> Iterator[Place]:
    """Where a path of Hadoop leads to, or each one that a pattern stands for."""
    if jvm is None:
        # Spark Connect: its server's file systems cannot be asked, so names have to do.
        parts = urlsplit(given)
        yield f"{parts.scheme}://{parts.netloc}", _names(os.path.normpath(parts.path))
        return
    path = jvm.org.apache.hadoop.fs.Path(given)
    system = path.getFileSystem(session._jsc.hadoopConfiguration())
    found = system.globStatus(path) if is_pattern else None
    # Spark takes what is there by its name first, whatever signs that has.
    for one in [path, *(status.getPath() for status in found or [])]:
        yield _place(system, one)


def _place(system: Any, path: Any) -> Place:
    # With scheme, host and working folder; Hadoop has taken out `..` by then.
    uri = system.makeQualified(path).toUri()
    if uri.getScheme() == "file":
        return "file", _names(os.path.realpath(uri.getPath()))
    # The host with its port, where the file system has such a name for itself.
    host = system.getCanonicalServiceName() or f"{uri.getScheme()}://{uri.getAuthority()}".lower()
    return host, _names(uri.getPath())


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)
