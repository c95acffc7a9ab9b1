"""Dedups a list by the key that a Python library makes of a URL: keyed.py [--keys] LIBRARY LIST > OUT.

The first line of every key is written, in input order; with --keys, the key of every line. A line that the
library refuses is its own key. This is the loop that everybody writes: a set, and one thread.
"""

import sys


def w3lib():
    from w3lib.url import canonicalize_url

    return canonicalize_url


def courlan():
    from courlan import clean_url

    return clean_url


def urlcanon_semantic():
    import urlcanon

    return lambda line: str(urlcanon.semantic(line))


def urlcanon_aggressive():
    import urlcanon

    return lambda line: str(urlcanon.aggressive(line))


def url_normalize():
    from url_normalize import url_normalize

    return url_normalize


LIBRARIES = {f.__name__: f for f in (w3lib, courlan, urlcanon_semantic, urlcanon_aggressive, url_normalize)}


def key_of(canonicalize, line):
    try:
        return canonicalize(line) or line
    except Exception:  # each library has errors of its own
        return line


def main(arguments):
    only_keys = arguments[0] == "--keys"
    library, path = arguments[only_keys:]
    canonicalize = LIBRARIES[library]()
    seen = set()
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            line = line.rstrip("\n")
            key = key_of(canonicalize, line)
            if only_keys:
                print(key.replace("\n", " "))
            elif key not in seen:
                seen.add(key)
                print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
