"""On Spark: the same results as the program's on one machine."""

import contextlib
import io
import unittest

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType
from samples import SAMPLES, folder, undust as program

from undust import Canonicalizer, FingerprintKey, Lines, UndustError
from undust import spark as us
from undust.spark.__main__ import main

# So small that a sample is many blocks, which end within lines.
BLOCK_BYTES = 50_000


class WithSession(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = (
            SparkSession.builder.master("local[2]").appName("tests of undust")
            .config("spark.ui.enabled", False)
            .config("spark.sql.shuffle.partitions", 3)
            .config("spark.sql.files.maxPartitionBytes", BLOCK_BYTES)
            .config("spark.sql.files.openCostInBytes", 0)
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", 700)
            .getOrCreate()
        )
        cls.session.sparkContext.setLogLevel("OFF")

    def table(self, rows, schema):
        return self.session.createDataFrame(rows, schema)


class Jobs(WithSession):
    def test_dedup_writes_what_the_program_writes(self):
        inputs = sorted([SAMPLES / "messy.txt", SAMPLES / "reddit.txt", SAMPLES / "tweetfeed.txt.gz"])
        for flags in [[], ["-p", "aggressive"], ["-c"]]:
            found = self.run_job("dedup", *flags, *inputs)
            self.assertEqual(found, program("-q", *flags, *inputs), flags)
        # Hadoop drops the byte order mark of messy.txt, which is a part of the first line here.
        found = self.run_job("dedup", "-p", "lines", *inputs[1:])
        self.assertEqual(found, program("-q", "-p", "lines", *inputs[1:]))

    def test_dedup_reads_logs_and_indexes(self):
        for name, *flags in [("captures.cdxj",), ("captures.cdx",), ("combined.log", "--base-url", "http://a.test"),
                             ("squid.log", "--format", "squid")]:
            found = self.run_job("dedup", *flags, SAMPLES / name)
            self.assertEqual(found, program("-q", *flags, SAMPLES / name), name)

    def test_dedup_in_any_order_writes_the_same_lines(self):
        found = self.run_job("dedup", "--any-order", SAMPLES / "messy.txt")
        expected = program("-q", SAMPLES / "messy.txt")
        self.assertEqual(len(found.split(b"\n")), len(expected.split(b"\n")))

    def test_canon_writes_the_forms_of_all_records(self):
        found = self.run_job("canon", SAMPLES / "reddit.txt")
        self.assertEqual(found, program("canon", "-q", SAMPLES / "reddit.txt"))

    def test_tables_keep_their_columns(self):
        out = folder(self) / "out"
        self.assertEqual(main(["dedup", "--column", "url", "-o", str(out), str(SAMPLES / "index.parquet")]), 0)
        kept = self.session.read.parquet(str(out))
        whole = self.session.read.parquet(str(SAMPLES / "index.parquet"))
        self.assertEqual(kept.schema, whole.schema)
        expected = program("-q", SAMPLES / "index.parquet").decode().splitlines()
        self.assertEqual(sorted(row["url"] for row in kept.collect()), sorted(expected))

    def test_errors_are_one_line(self):
        for arguments, expected in [
            (["dedup", "-p", "crwl", "-o", "x", "y"], 'undust-spark: profile "crwl": no such profile'),
            (["dedup", "-o", "x", "/no/such/file"], "undust-spark: [PATH_NOT_FOUND]"),
            (["learn", "--column", "url", "--field", "sum=x", "-o", "x", str(SAMPLES / "index.parquet")],
             "undust-spark: --field sum: expected one of digest, size"),
        ]:
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                self.assertEqual(main(arguments), 2)
            self.assertTrue(told.getvalue().startswith(expected), told.getvalue())
            self.assertEqual(told.getvalue().count("\n"), 1)

    def run_job(self, *arguments):
        """The lines that a job writes, one part after the other."""
        out = folder(self) / "out"
        self.assertEqual(main([*map(str, arguments), "-o", str(out)]), 0, arguments)
        parts = sorted(out.glob("part-*"))
        self.assertTrue(parts)
        return b"".join(part.read_bytes() for part in parts)


class Tables(WithSession):
    ROWS = [("HTTP://a.test/#x", 3), ("http://a.test", 1), (None, 0), ("http://b.test/?b=1&a=2", 5),
            ("http://b.test/?a=2&b=1", 5), ("http://[/", 7), ("http://[/", 8)]

    def test_columns(self):
        df = self.table(self.ROWS, "url string, n int")
        made, key = Canonicalizer(), FingerprintKey()
        rows = df.select(
            "url", us.canonical("url").alias("canonical"), us.surt("url").alias("surt"),
            us.urlkey("url").alias("urlkey"), us.host(F.col("url")).alias("host"), us.site("url").alias("site"),
            us.fingerprint("url", key).alias("print"),
        ).collect()
        for row in rows:
            if row["url"] is None:
                self.assertEqual(set(row), {None})
                continue
            for what in ["canonical", "surt", "urlkey", "host", "site"]:
                self.assertEqual(row[what], getattr(made, what)(row["url"]))
        prints = [bytes(row["print"]) for row in rows if row["url"]]
        self.assertEqual([prints.index(one) for one in prints], [0, 0, 2, 2, 4, 4])

    def test_dedup_takes_the_first_row_by_what_it_is_told(self):
        made = Canonicalizer()
        df = self.table(self.ROWS, "url string, n int").coalesce(1)
        kept = us.dedup(df, count="lines").orderBy("n").collect()
        self.assertEqual([tuple(row) for row in kept], [
            ("HTTP://a.test/#x", 3, 2), ("http://b.test/?b=1&a=2", 5, 2), ("http://[/", 7, 2)])
        kept = us.dedup(df, order_by="n", count="lines").orderBy("n").collect()
        self.assertEqual([tuple(row)[1:] for row in kept], [(1, 2), (5, 2), (7, 2)])
        for order_by in [-F.col("n"), ["n", "url"], F.lit(None).cast("long"), F.col("n").cast("long")]:
            for count in [None, "lines"]:
                kept = us.dedup(df, order_by=order_by, count=count).collect()
                self.assertEqual(sorted(made.canonical(row["url"]) for row in kept),
                                 ["http://[/", "http://a.test/", "http://b.test/?a=2&b=1"])
        with self.assertRaisesRegex(ValueError, "has a column n already"):
            us.dedup(df, count="n")

    def test_dedup_sees_where_the_order_goes_back(self):
        # In one partition: 5 6 7 | 1 2 | 0.
        rows = [("http://a.test", 5), ("http://b.test", 6), ("http://a.test/#", 7), ("http://b.test/#", 1),
                ("http://a.test/#2", 2), ("http://b.test/#0", 0)]
        df = self.table(rows, self.schema_of("n"))
        for count in [None, "lines"]:
            kept = us.dedup(df.coalesce(1), order_by="n", count=count).orderBy("n").collect()
            self.assertEqual([(row["url"], row["n"]) for row in kept],
                             [("http://b.test/#0", 0), ("http://a.test/#2", 2)])

    @staticmethod
    def schema_of(number):
        """A URL, and a number that is never null."""
        return StructType([StructField("url", StringType()), StructField(number, LongType(), False)])

    def test_dedup_is_exact_over_partitions(self):
        urls = [line for line in (SAMPLES / "reddit.txt").read_text().splitlines() if line]
        df = self.table([(url, {"a`b": 1}) for url in urls], "`u.rl` string, m map<string,int>").repartition(7)
        for pages in [Canonicalizer(), Canonicalizer("aggressive")]:
            kept = us.dedup(df, "u.rl", pages, count="lines").collect()
            forms = {}
            for url in urls:
                forms[pages.canonical(url)] = forms.get(pages.canonical(url), 0) + 1
            self.assertEqual({pages.canonical(row["u.rl"]): row["lines"] for row in kept}, forms)
            self.assertEqual(us.dedup(df, "u.rl", pages).count(), len(forms))

    def test_summary_adds_up(self):
        df = us.read_lines(self.session, str(SAMPLES / "reddit.txt"))
        hosts = us.summary(df).collect()
        self.assertEqual(hosts[0]["host"], "www.youtube.com")
        self.assertEqual([hosts[0][name] for name in ["lines", "urls", "pages", "duplicates"]], [718, 656, 614, 104])
        self.assertEqual(sum(row["duplicates"] for row in hosts), 771)

    def test_rejects_are_there_if_asked_for(self):
        df = us.read_lines(self.session, str(SAMPLES / "combined.log"), lines=Lines("combined"), fields=["status"],
                           rejects=True)
        self.assertEqual(df.columns, [us.PLACE, "url", "reject", "status"])
        self.assertEqual(df.count(), len((SAMPLES / "combined.log").read_bytes().splitlines()))
        with self.assertRaisesRegex(UndustError, "read it as a table"):
            us.read_lines(self.session, str(SAMPLES / "pages.csv"))


class Rules(WithSession):
    def test_are_those_that_the_program_learns(self):
        crawl = folder(self) / "crawl.cdxj"
        program("generate", "site", "--preset", "clean", "--sites", 3, "--seed", 11, "-o", crawl)
        expected = program("learn", "-q", crawl).decode()
        self.assertIn("[[rule]]", expected)
        self.assertEqual(us.learn_lines(self.session, str(crawl)), expected)
        # The same from columns.
        names = ["digest", "status", "time", "mime", "size", "redirect"]
        df = us.read_lines(self.session, str(crawl), fields=names)
        self.assertEqual(us.learn(df, **{name: name for name in names}), expected)
        with self.assertRaisesRegex(ValueError, "expected a column for digest, size or redirect"):
            us.learn(df)
        # As a job, and applied.
        rules = crawl.with_name("rules.toml")
        self.assertEqual(main(["learn", "-o", str(rules), str(crawl)]), 0)
        self.assertEqual(rules.read_text(), expected)
        out = crawl.with_name("out")
        self.assertEqual(main(["dedup", "--rules", str(rules), "-o", str(out), str(crawl)]), 0)
        found = b"".join(part.read_bytes() for part in sorted(out.glob("part-*")))
        self.assertEqual(found, program("-q", "--rules", rules, crawl))


if __name__ == "__main__":
    unittest.main()
