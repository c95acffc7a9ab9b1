"""On Spark: the same results as the program's on one machine."""

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import os
import subprocess
import sys
import unittest
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType
from samples import SAMPLES, folder, undust as program

from undust import Canonicalizer, FingerprintKey, Lines, UndustError
from undust import spark as us
from undust.spark.__main__ import _with_count, main

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
        other = folder(self) / "crlf.txt"
        other.write_bytes(b"http://a.test\r\n\nhttp://a.test\n \n\nhttp://a.test\r\n")
        inputs = sorted([other, *inputs[1:]])
        self.assertEqual(self.run_job("dedup", "-p", "lines", *inputs), program("-q", "-p", "lines", *inputs))

    def test_files_are_in_the_order_of_their_names(self):
        place = folder(self)
        for number, name in enumerate(["a!b.txt", "a b.txt", "\u00e9.txt", "z%20.txt", "z#.txt", "z.txt"]):
            (place / name).write_text(f"http://a.test/#{number}\nhttp://{number}.test/\n")
        self.assertEqual(self.run_job("dedup", "-c", place), program("-q", "-c", "-r", place))

    def test_dedup_reads_logs_and_indexes(self):
        for name, *flags in [("captures.cdxj",), ("captures.cdx",), ("combined.log", "--base-url", "http://a.test"),
                             ("squid.log", "--format", "squid"), ("captures.cdx", "--format", "cdx"),
                             ("vhost.log",), ("crawl.log",), ("nginx.jsonl",), ("alb.log",)]:
            found = self.run_job("dedup", *flags, SAMPLES / name)
            self.assertEqual(found, program("-q", *flags, SAMPLES / name), name)

    def test_dedup_in_any_order_writes_the_same_pages(self):
        # Which spelling of a page is the first depends on the order, its form does not.
        found = self.run_job("dedup", "--any-order", SAMPLES / "messy.txt").split(b"\n")
        expected = program("-q", SAMPLES / "messy.txt").split(b"\n")
        form = Canonicalizer().canonical
        self.assertEqual(sorted(map(form, found)), sorted(map(form, expected)))

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

    def test_csv_tables_may_have_line_breaks(self):
        place = folder(self)
        (place / "in.csv").write_text('n,url,note\n1,http://a.test,"say ""hi"", \nyes"\n2,http://A.test/,\n')
        out = place / "out"
        self.assertEqual(main(["dedup", "--column", "URL", "--table", "csv", "--to", "csv", "-o", str(out),
                               str(place / "in.csv")]), 0)
        written = b"".join(part.read_bytes() for part in out.glob("part-*"))
        self.assertEqual(list(csv.reader(io.StringIO(written.decode()))),
                         [["n", "url", "note"], ["1", "http://a.test", 'say "hi", \nyes']])

    def test_counts_have_room(self):
        df = self.session.range(3).select(F.lit(12_345_678).alias("count"), F.lit("x").alias("spelling"))
        self.assertEqual(df.select(_with_count(F.col("count"), F.col("spelling"))).first()[0], "12345678 x")

    def test_the_path_is_that_of_the_file(self):
        told = io.StringIO()
        with contextlib.redirect_stdout(told), self.assertRaises(SystemExit):
            main(["--path"])
        self.assertTrue(Path(told.getvalue().removesuffix("\n")).is_file())

    def test_errors_are_one_line(self):
        packed = folder(self) / "list.bz2"
        packed.write_bytes(bz2.compress(b"http://a.test\n"))
        broken = packed.with_name("cut.gz")
        broken.write_bytes((SAMPLES / "tweetfeed.txt.gz").read_bytes()[:2000])
        hidden = packed.with_name("_list.txt")
        hidden.write_text("http://a.test\n")
        for arguments, expected in [
            (["dedup", "-p", "crwl", "-o", "x", "y"], 'undust-spark: profile "crwl": no such profile'),
            (["dedup", "-o", "x", "/no/such/file"], "undust-spark: [PATH_NOT_FOUND]"),
            (["dedup", "-o", "x", "--settings", "[1]", "y"], "undust-spark: --settings: expected keys of"),
            (["dedup", "-o", "x", "y", "y"], "undust-spark: a path is named twice"),
            (["dedup", "-o", "x", str(packed)], f"undust-spark: file://{packed}: Spark reads pieces of a .bz2"),
            (["canon", "-o", "x", str(SAMPLES / "clf.log")], "undust-spark: the first lines (clf) have paths without"),
            (["dedup", "-o", str(packed.with_name("o")), str(SAMPLES / "captures.cdxj"), str(SAMPLES / "tiny.txt")],
             f"undust-spark: file://{SAMPLES}/captures.cdxj: it looks like cdxj, not like lines"),
            (["dedup", "-o", str(packed.with_name("p")), str(SAMPLES / "tiny.txt"), str(SAMPLES / "archive.arc")],
             f"undust-spark: file://{SAMPLES}/archive.arc: its records are no lines"),
            (["dedup", "-o", str(packed.with_name("q")), str(broken)], "undust-spark: "),
            (["dedup", "-o", "x", str(hidden)], f"undust-spark: {hidden}: Spark leaves out files whose names begin"),
            (["learn", "-o", str(packed), str(SAMPLES / "crawl.log")], f"undust-spark: {packed}: expected nothing of"),
            (["learn", "--column", "url", "--field", "sum=x", "-o", "x", str(SAMPLES / "index.parquet")],
             "undust-spark: --field sum: expected NAME=COLUMN with one of digest, size"),
            (["learn", "--field", "digest=md5", "-o", "x", "y"], "undust-spark: --field: holds for tables"),
            (["dedup", "--to", "orc", "-o", "x", "y"], "undust-spark: --to: holds for tables"),
            (["report", "--table", "orc", "-o", "x", "y"], "undust-spark: --table: holds for tables"),
            (["dedup", "--column", "url", "--any-order", "-o", "x", "y"], "undust-spark: --any-order: holds for lines"),
            (["learn", "--column", "url", "--format", "cdx", "-o", "x", "y"], "undust-spark: --format: holds for lines"),
        ]:
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                self.assertEqual(main(arguments), 2)
            self.assertTrue(told.getvalue().startswith(expected), told.getvalue())
            self.assertEqual(told.getvalue().count("\n"), 1)

    def test_no_job_replaces_what_it_reads(self):
        place = folder(self).resolve()
        (place / "in").mkdir()
        (place / "link").symlink_to("in")
        source = place / "in" / "l.txt"
        source.write_text("http://a.test/\n")
        table = place / "t"
        self.table([("http://a.test/",)], "url string").write.parquet(str(table))
        inside = "lies within an input, "
        for arguments, output, expected in [
            (["canon", place / "in"], place / "in", "is an input as well"),
            (["dedup", source], source, "is an input as well"),
            (["dedup", f"file:{source}"], place / "x" / ".." / "in" / "l.txt", "is an input as well"),
            (["dedup", source], place / "link" / "l.txt", "is an input as well"),
            (["dedup", source], place / "in", "has an input in it, "),
            (["dedup", place / "i*" / "*.txt"], place / "link", "has an input in it, "),
            (["report", place / "in"], place / "in" / "out", inside),
            (["canon", "--column", "url", table], f"file://{table}", "is an input as well"),
            (["learn", "--format", "lines", source], source, "is an input as well"),
            (["learn", "--format", "lines", place / "link"], place / "in" / "r.toml", inside),
        ]:
            found = self.error_of(*arguments, "--overwrite", "-o", output)
            self.assertTrue(found.startswith(f"undust-spark: {output}: {expected}"), found)
            self.assertIn("; write to another f", found)
        self.assertEqual(source.read_text(), "http://a.test/\n")
        self.assertEqual(self.session.read.parquet(str(table)).count(), 1)
        for _ in range(2):
            other = place / "in2"
            self.assertEqual(main(["dedup", str(source), "--overwrite", "-o", str(other)]), 0)
            self.assertTrue(list(other.glob("part-*")))

    def test_workers_run_the_python_of_the_job(self):
        # As from cron, with no venv activated.
        place = folder(self)
        (place / "python3").write_text("#!/bin/sh\nexit 1\n")
        (place / "python3").chmod(0o755)
        names = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
        names["PATH"] = f"{place}:{os.environ['PATH']}"
        subprocess.run([sys.executable, "-m", "undust.spark", "dedup", SAMPLES / "tiny.txt", "-o", place / "out"],
                       env=names, check=True, capture_output=True)

    def test_no_file_vanishes(self):
        place = folder(self)
        line = b"com,a)/ 20200101000000 http://a.test/"
        crawl = place / "crawl.cdxj"
        program("generate", "site", "--preset", "clean", "--sites", 1, "--seed", 11, "-o", crawl)
        names = {
            "narrow.cdx": b" CDX N b a\n" + line + b"\n",
            "wide.cdx": b" CDX N b a s\n" + line + b" 200\n",
            "both.cdx": b" CDX N b a\n" + line + b"\n CDX N b a s\n" + line + b" 200\n",
            "list.txt": b"http://a.test/\n",
            "list.xz": lzma.compress(b"http://a.test/\n"),
            "list": gzip.compress(b"http://a.test/\n"),
            "utf16.txt": "http://a.test/\n".encode("utf-16"),
            "list.zip": b"PK\x03\x04" + bytes(30),
            "list.lz4": b"\x04\x22\x4d\x18\x64\x40\xa7\x0f\x00\x00\x80http://a.test/\n\x00\x00\x00\x00",
        }
        for name, content in names.items():
            (place / name).write_bytes(content)
        lone = "make lines of it first, as in `undust canon -p lines FILE`"
        for number, (arguments, named, expected) in enumerate([
            (["dedup", "--format", "cdx", "narrow.cdx", "wide.cdx"], "", "it has other columns of cdx"),
            (["dedup", "--format", "clf", "list.txt"], "list.txt", "none of its first lines is one of clf"),
            (["dedup", "both.cdx"], "both.cdx", "expected the columns of the first lines (cdx), found"),
            (["dedup", "list.xz"], "list.xz", "expected lines, found xz (fd 37 7a 58); unpack it first"),
            (["canon", "list"], "list", "expected lines, found gzip (1f 8b); unpack it first"),
            (["dedup", "list.txt", "list"], "list", "expected lines, found gzip (1f 8b)"),
            (["dedup", "utf16.txt"], "utf16.txt", "expected lines, found UTF-16 (ff fe); convert it"),
            (["dedup", "list.zip"], "list.zip", "expected lines, found a zip archive"),
            (["dedup", "list.lz4"], "list.lz4", "expected the blocks of Hadoop's .lz4, found a frame"),
            (["canon", SAMPLES / "sitemap.xml"], SAMPLES / "sitemap.xml", lone),
            (["learn", SAMPLES / "sitemap.xml"], SAMPLES / "sitemap.xml", lone),
            (["learn", SAMPLES / "archive.warc.gz"], SAMPLES / "archive.warc.gz", lone),
            (["learn", crawl, SAMPLES / "crawl.log"], "", "it looks like c"),
            (["learn", "--format", "cdxj", crawl, "list.txt"], "list.txt", "none of its first lines is one"),
        ]):
            inputs = [place / one if one in names else one for one in arguments]
            found = self.error_of(*inputs, "-o", place / f"out{number}")
            self.assertTrue(found.startswith("undust-spark: file:"), found)
            self.assertIn(f"{place / named}: " if named else ": ", found)
            self.assertIn(expected, found)
        # What is told apart by its format may be read together.
        found = self.run_job("dedup", "--format", "lines", place / "list.txt", SAMPLES / "captures.cdxj")
        self.assertEqual(found.count(b"\n"), program("-q", "--format", "lines", place / "list.txt",
                                                    SAMPLES / "captures.cdxj").count(b"\n"))

    def test_counts_leave_the_bytes_of_lines(self):
        source = folder(self) / "latin1.txt"
        source.write_bytes(b"http://a.test/\xe9\nhttp://a.test/\xe9#x\n")
        self.assertEqual(self.run_job("dedup", "-c", source), program("-q", "-c", source))

    def test_columns_of_tables_are_not_replaced(self):
        place = folder(self)
        rows = self.table([("http://a.test/#x", "mine", 7)], "url string, Canonical string, COUNT int")
        rows.write.parquet(str(place / "in"))
        for job, *flags in [("canon",), ("dedup", "-c")]:
            name = "canonical" if job == "canon" else "count"
            found = self.error_of(job, *flags, "--column", "url", place / "in", "-o", place / "none")
            self.assertIn(f"--name {name}: the table has a column {name}", found.lower())
            out = place / job
            self.assertEqual(main([job, *flags, "--column", "url", "--name", "new", str(place / "in"), "-o", str(out)]),
                             0)
            self.assertEqual(self.session.read.parquet(str(out)).first().asDict(), {
                "url": "http://a.test/#x", "Canonical": "mine", "COUNT": 7,
                "new": "http://a.test/" if job == "canon" else 1})
        for arguments, expected in [
            (["canon", "--name", "n"], "--name: holds for tables"),
            (["dedup", "--column", "url", "--name", "n"], "--name: names the column of counts"),
        ]:
            self.assertIn(expected, self.error_of(*arguments, place / "in", "-o", place / "none"))

    def error_of(self, *arguments):
        """What a job says that is not done."""
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            self.assertEqual(main([*map(str, arguments)]), 2, arguments)
        self.assertEqual(told.getvalue().count("\n"), 1)
        return told.getvalue()

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
        with self.assertRaisesRegex(ValueError, "for the highest say -col"):
            us.dedup(df, order_by=F.desc("n"))
        with self.assertRaisesRegex(ValueError, "expected one of the columns url, n, found link"):
            us.dedup(df, "link")
        self.assertEqual(us.dedup(df, "URL", count="row").columns, ["url", "n", "row"])
        for order_by in [-F.col("n"), ["n", "url"], F.lit(None).cast("long"), F.col("n").cast("long")]:
            for count in [None, "lines"]:
                kept = us.dedup(df, order_by=order_by, count=count).collect()
                self.assertEqual(sorted(made.canonical(row["url"]) for row in kept),
                                 ["http://[/", "http://a.test/", "http://b.test/?a=2&b=1"])
        with self.assertRaisesRegex(ValueError, "has a column N already"):
            us.dedup(df, count="N")

    def test_dedup_sees_where_the_order_goes_back(self):
        # In one partition: 5 6 7 | 1 2 | 0.
        rows = [("http://a.test", 5), ("http://b.test", 6), ("http://a.test/#", 7), ("http://b.test/#", 1),
                ("http://a.test/#2", 2), ("http://b.test/#0", 0)]
        df = self.table(rows, self.schema_of("n"))
        for count in [None, "lines"]:
            kept = us.dedup(df.coalesce(1), order_by="n", count=count).orderBy("n").collect()
            self.assertEqual([(row["url"], row["n"]) for row in kept],
                             [("http://b.test/#0", 0), ("http://a.test/#2", 2)])

    def test_dedup_takes_any_order_of_numbers(self):
        rows = [(f"http://{number % 50}.test/#{number}", (number * 7919) % 1009) for number in range(1000)]
        df = self.table(rows, self.schema_of("n")).coalesce(1)
        lowest = {}
        for url, number in rows:
            page = url.partition("#")[0]
            lowest[page] = min(lowest.get(page, number), number)
        for count in [None, "lines"]:
            kept = us.dedup(df, order_by="n", count=count).collect()
            self.assertEqual({row["url"].partition("#")[0]: row["n"] for row in kept}, lowest)

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

    def test_dedup_of_lines_is_that_of_what_they_say(self):
        paths = [str(SAMPLES / "reddit.txt"), str(SAMPLES / "messy.txt")]
        pages = Canonicalizer("aggressive")
        lines = us.read_lines(self.session, paths, fields=["spelling"])
        for count in [None, "lines"]:
            expected = us.dedup(lines, "url", pages, order_by=us.PLACE, count=count)
            found = us.dedup_lines(self.session, paths, pages, fields=["spelling"], count=count)
            self.assertEqual(found.columns, expected.columns)
            self.assertEqual(sorted(found.collect()), sorted(expected.collect()))
        with self.assertRaisesRegex(ValueError, "a column Place already"):
            us.dedup_lines(self.session, paths, count="Place")

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
        with self.assertRaisesRegex(ValueError, "expected a column for digest, size, redirect or canonical_link"):
            us.learn(df)
        # What pages say is their URL tells as much as what they show.
        said = df.where("status = '200'").withColumn("says", F.concat(F.lit("http://a.test/"), "digest"))
        self.assertIn('signal = "canonical-link"', us.learn(said, canonical_link="says"))
        # As a job, and applied.
        rules = crawl.with_name("rules.toml")
        self.assertEqual(main(["learn", "-o", str(rules), str(crawl)]), 0)
        self.assertEqual(rules.read_text(), expected)
        none = self.table([], "url string, digest string")
        self.assertIn('records = "0"', us.learn(none, digest="digest"))
        out = crawl.with_name("out")
        self.assertEqual(main(["dedup", "--rules", str(rules), "-o", str(out), str(crawl)]), 0)
        found = b"".join(part.read_bytes() for part in sorted(out.glob("part-*")))
        self.assertEqual(found, program("-q", "--rules", rules, crawl))


if __name__ == "__main__":
    unittest.main()
