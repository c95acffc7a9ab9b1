"""undust on Apache Spark: the same native core in every executor, the same canonical forms.

    from undust import Canonicalizer, spark as us

    pages = Canonicalizer("aggressive", rules="rules.toml")
    df = df.withColumn("page", us.canonical("url", pages))       # a column
    first = us.dedup(df, "url", pages, count="lines")            # one row for each page
    lines = us.read_lines(session, ["s3a://logs/2026/"])         # logs, indexes, lists
    firsts = us.dedup_lines(session, ["s3a://logs/2026/"])       # the first line of each page
    rules = us.learn(crawl.select("url", "digest"))              # the text of a rule file

As a job: ``undust-spark --help``, or ``spark-submit`` with the path that ``undust-spark --path``
prints. Every executor needs the package ``undust[spark]``.
"""

from undust.spark._columns import canonical, fingerprint, host, site, surt, urlkey
from undust.spark._dedup import dedup, dedup_lines, summary
from undust.spark._learn import FIELDS, learn, learn_lines
from undust.spark._lines import PLACE, read_lines

__all__ = [
    "FIELDS",
    "PLACE",
    "canonical",
    "dedup",
    "dedup_lines",
    "fingerprint",
    "host",
    "learn",
    "learn_lines",
    "read_lines",
    "site",
    "summary",
    "surt",
    "urlkey",
]
