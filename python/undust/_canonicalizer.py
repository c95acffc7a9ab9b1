"""Canonical forms."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from undust import _arrow, _native
from undust._text import Text, like, read_text, read_texts, threads_of, to_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from undust._pages import FingerprintKey

    Path = str | os.PathLike[str]


class Comparison(NamedTuple):
    """Whether two URLs are one page."""

    equal: bool
    #: The names of the rules that make them equal, with commas between them, and ``dust:3`` for the
    #: third rule of the rule files; ``identical`` for the
    #: same bytes, ``None`` for different pages.
    reason: str | None


class Canonicalizer:
    """Gives URLs their canonical form under one profile.

    Can be pickled, and used by several threads at once.

    Args:
        profile: ``lines``, ``whatwg``, ``rfc3986``, ``crawl`` (the default) or ``aggressive``,
            with or without a version: ``crawl@1``.
        config: a TOML file of settings; what is given here as well goes on top of it.
        rules: rule files, of ``undust learn`` or written by hand.
        settings: every key of the settings file, with ``_`` for ``-``: ``enable=["www"]``,
            ``strip_params=["ref"]``, ``slash="remove"``, ``hosts={"192.0.2.7": "a.example"}``.

    Raises:
        UndustError: for settings and rules that do not exist, or do not fit together.
    """

    def __init__(
        self,
        profile: str | None = None,
        *,
        config: Path | None = None,
        rules: Path | Iterable[Path] = (),
        **settings: str | bool | Sequence[Any] | Mapping[str, str],
    ) -> None:
        if profile is not None:
            settings["profile"] = profile
        given = {key.replace("_", "-"): _plain(value) for key, value in settings.items()}
        self._made_of = (
            json.dumps(given),
            None if config is None else read_text(config),
            read_texts(rules),
        )
        self._native = _native_of(json.dumps(self._made_of))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self._made_of)

    def __repr__(self) -> str:
        return f"<undust.Canonicalizer {self.profile} {self.digest}>"

    @property
    def profile(self) -> str:
        """Name and version of the profile; ``+`` stands for settings that were changed."""
        return self._native.profile

    @property
    def digest(self) -> str:
        """A digest of all that the profile does: equal ones give equal forms."""
        return self._native.digest

    def canonical(self, url: Text) -> Text:
        """The canonical form. A URL that does not parse is its own."""
        return like(url, self._native.form(to_bytes(url), "url")[0])

    def surt(self, url: Text) -> Text:
        """The canonical form as a key for sorting: ``com,example)/path``."""
        return like(url, self._native.form(to_bytes(url), "surt")[0])

    def urlkey(self, url: Text) -> Text:
        """The key that CDX files of web archives have for it, whatever the profile."""
        return like(url, self._native.form(to_bytes(url), "urlkey")[0])

    def host(self, url: Text) -> Text:
        """The host of the canonical form; empty if it has none."""
        return like(url, self._native.form(to_bytes(url), "host")[0])

    def site(self, url: Text) -> Text:
        """The domain of that host that somebody has registered, or the host itself.

        >>> Canonicalizer().site("http://news.example.co.uk:8080/")
        'example.co.uk'
        """
        return like(url, self._native.form(to_bytes(url), "site")[0])

    def reject(self, url: str | bytes) -> str | None:
        """Why the URL does not parse, in one word; ``None`` if it does."""
        return self._native.form(to_bytes(url), "url")[1]

    def explain(self, url: Text) -> list[tuple[str, Text]]:
        """How it gets its canonical form: each rule that changes it, and the URL after that.

        Raises:
            UndustError: if the URL does not parse.
        """
        return [(what, like(url, after)) for what, after in self._native.explain(to_bytes(url))]

    def compare(self, a: str | bytes, b: str | bytes) -> Comparison:
        """Whether two URLs are one page, and by which rules."""
        return Comparison(*self._native.compare(to_bytes(a), to_bytes(b)))

    def canonical_column(self, column: Any, *, threads: int | None = None) -> pa.ChunkedArray:
        """The canonical form of each row of a column of URLs."""
        return self._forms(column, "url", threads)

    def surt_column(self, column: Any, *, threads: int | None = None) -> pa.ChunkedArray:
        """The keys for sorting of each row."""
        return self._forms(column, "surt", threads)

    def urlkey_column(self, column: Any, *, threads: int | None = None) -> pa.ChunkedArray:
        """The CDX keys of each row."""
        return self._forms(column, "urlkey", threads)

    def host_column(self, column: Any, *, threads: int | None = None) -> pa.ChunkedArray:
        """The hosts of each row; empty where there is none."""
        return self._forms(column, "host", threads)

    def site_column(self, column: Any, *, threads: int | None = None) -> pa.ChunkedArray:
        """The sites of each row; empty where there is none."""
        return self._forms(column, "site", threads)

    def fingerprint_column(
        self, column: Any, key: FingerprintKey, *, threads: int | None = None
    ) -> pa.ChunkedArray:
        """128 bits for the page of each row, under a secret ``undust.FingerprintKey``."""
        pa = _arrow.arrow()
        threads = threads_of(threads)
        arrays, _ = _arrow.stretches(column)
        made = []
        for array in arrays:
            ends, values, nulls = _arrow.texts(array)
            prints = self._native.fingerprints(ends, values, key._native, threads)
            validity = None if nulls is None else pa.compute.invert(nulls).buffers()[1]
            buffers = [validity, pa.py_buffer(prints)]
            made.append(pa.Array.from_buffers(pa.binary(16), len(array), buffers))
        return pa.chunked_array(made, pa.binary(16))

    def _forms(self, column: Any, wanted: str, threads: int | None) -> pa.ChunkedArray:
        threads = threads_of(threads)
        arrays, kind = _arrow.stretches(column)
        made = []
        for array in arrays:
            ends, values, nulls = _arrow.texts(array)
            forms = self._native.forms(ends, values, wanted, threads)
            made.append(_arrow.array_of(kind, len(array), forms, nulls))
        return _arrow.arrow().chunked_array(made, kind)


def _made_again(kind: type[Canonicalizer], made_of: tuple[Any, ...]) -> Canonicalizer:
    again = kind.__new__(kind)
    again._made_of = made_of
    again._native = _native_of(json.dumps(made_of))
    return again


@lru_cache(maxsize=4)
def _native_of(made_of: str) -> _native.Canonicalizer:
    """Large rule files take seconds to compile, and Spark unpickles for every task."""
    settings, config, rules = json.loads(made_of)
    return _native.Canonicalizer(
        settings,
        None if config is None else tuple(config),
        [(name, text) for name, text in rules],
    )


def _plain(value: Any) -> Any:
    """A setting as JSON has it: any other sequence as a list."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_plain(inner) for inner in value]
    return value


_default: Canonicalizer | None = None


def canonical(url: Text) -> Text:
    """The canonical form of a URL under the default profile, ``crawl``."""
    global _default
    if _default is None:
        _default = Canonicalizer()
    return _default.canonical(url)
