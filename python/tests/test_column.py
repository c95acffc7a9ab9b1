"""Columns: the same answers as for one URL after the other."""

import bz2
import gzip
import lzma
import pickle
import unittest

import pandas as pd
import pyarrow as pa
from samples import SAMPLES, folder, lines_of, urls_of, undust as program

from undust import Canonicalizer, FingerprintKey, Lines, Pages, UndustError

URLS = urls_of(SAMPLES / "reddit.txt") + urls_of(SAMPLES / "messy.txt")


class Forms(unittest.TestCase):
    def test_are_those_of_single_urls(self):
        # So many that several threads get some.
        urls = URLS * (1 + 70_000 // len(URLS))
        for made in [Canonicalizer(), Canonicalizer("aggressive")]:
            for what in ["canonical", "surt", "urlkey", "host", "site"]:
                one, column = getattr(made, what), getattr(made, what + "_column")
                known = {url: one(url) for url in URLS}
                expected = [known[url] for url in urls]
                for threads in [1, 2, None]:
                    found = column(pa.array(urls, pa.binary()), threads=threads)
                    self.assertEqual(found.to_pylist(), expected, (made, what, threads))

    def test_keep_nulls_slices_and_types(self):
        made = Canonicalizer()
        urls = ["HTTP://a.test", None, "", "http://B.test/#x"]
        expected = ["http://a.test/", None, "", "http://b.test/"]
        words = pa.dictionary(pa.int32(), pa.string())
        for kind in [pa.string(), pa.large_string(), pa.string_view(), words]:
            column = pa.array(urls, pa.string()).cast(kind)
            found = made.canonical_column(column)
            self.assertEqual(found.to_pylist(), expected)
            self.assertEqual(found.type, pa.string() if pa.types.is_dictionary(kind) else kind)
            self.assertEqual(made.canonical_column(column.slice(1, 3)).to_pylist(), expected[1:])
        views = pa.array(urls, pa.string()).cast(pa.string_view())
        for other in [urls, pd.Series(urls), pa.chunked_array([urls[:1], [], urls[1:]]), views,
                      pd.Series(urls).astype("category")]:
            self.assertEqual(made.canonical_column(other).to_pylist(), expected)
            self.assertEqual(Pages().add_column(other).to_pylist(), [True, None, True, True])
        self.assertEqual(made.canonical_column([]).to_pylist(), [])
        self.assertEqual(made.canonical_column([None, None]).to_pylist(), [None, None])

    def test_of_dictionaries_and_of_nothing_are_taken(self):
        made = Canonicalizer()
        indices = pa.array([1, None, 0, 1], pa.uint32())
        for kind in [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()]:
            # As polars gives its Categorical and Enum.
            words = pa.array(["http://A.test", "http://b.test/#x"], pa.string()).cast(kind)
            one = pa.DictionaryArray.from_arrays(indices, words)
            for column in [one, pa.chunked_array([one.slice(0, 1), one.slice(1)])]:
                found = made.canonical_column(column).cast(pa.binary()).to_pylist()
                self.assertEqual(found, [b"http://b.test/", None, b"http://a.test/", b"http://b.test/"], kind)
        for column in [pd.Series([None, float("nan")], dtype="float64"), pa.array([float("nan"), None])]:
            self.assertEqual(made.canonical_column(column).to_pylist(), [None, None])
        for column in [pa.array([1.5, None]), pa.array([1, 2]).dictionary_encode()]:
            with self.assertRaisesRegex(TypeError, "expected text or bytes, found"):
                made.canonical_column(column)

    def test_refuse_what_is_no_text(self):
        with self.assertRaisesRegex(TypeError, "expected text or bytes, found int64"):
            Canonicalizer().canonical_column([1, 2])
        with self.assertRaisesRegex(TypeError, "expected several, found one str"):
            Canonicalizer().canonical_column("http://a.test")
        with self.assertRaisesRegex(ValueError, "expected 1 or more, found 0"):
            Canonicalizer().canonical_column(["x"], threads=0)

    def test_that_lie_about_their_ends_are_refused(self):
        native = Canonicalizer()._native
        for ends in [[], [0, 9], [2, 1], [-1, 2]]:
            with self.assertRaisesRegex(ValueError, "ends of rows"):
                given = memoryview(pa.array(ends, pa.int64()).buffers()[1] or b"").cast("B").cast("q")
                native.forms(given[: len(ends)], memoryview(b"ab"), "url", 1)


class Sets(unittest.TestCase):
    def test_let_through_what_single_urls_do(self):
        one = Pages()
        expected = [one.add(url) for url in URLS]
        many = Pages()
        column = pa.chunked_array([URLS[:1000], URLS[1000:]], pa.binary())
        self.assertEqual(many.add_column(column, threads=2).to_pylist(), expected)
        self.assertEqual(len(many), len(one))

    def test_take_no_null_for_a_page(self):
        pages = Pages()
        self.assertEqual(pages.add_column([None, "http://a.test", None, "http://A.test/"]).to_pylist(),
                         [None, True, None, False])
        self.assertEqual(len(pages), 1)

    def test_fingerprints_are_equal_for_equal_pages_alone(self):
        made, key = Canonicalizer(), FingerprintKey()
        prints = made.fingerprint_column(pa.array(URLS, pa.binary()), key).to_pylist()
        forms = made.canonical_column(pa.array(URLS, pa.binary())).to_pylist()
        self.assertEqual(len(set(prints)), len(set(forms)))
        self.assertEqual(len(set(zip(prints, forms))), len(set(forms)))
        self.assertTrue(all(len(fingerprint) == 16 for fingerprint in prints))
        other = made.fingerprint_column(pa.array(URLS[:3], pa.binary()), FingerprintKey()).to_pylist()
        self.assertNotEqual(other, prints[:3])
        self.assertEqual(made.fingerprint_column([None, "x"], key).to_pylist()[0], None)


class Records(unittest.TestCase):
    def test_are_those_of_the_program(self):
        for name in ["combined.log", "vhost.log", "captures.cdx", "captures.cdxj", "crawl.log", "squid.log",
                     "nginx.jsonl", "alb.log", "reddit.txt", "clf.log"]:
            sample = SAMPLES / name
            lines = lines_of(sample)
            how = Lines(sample=sample.read_bytes()[:20_000], base_url="http://base.test")
            table = pickle.loads(pickle.dumps(how)).read_column(pa.array(lines, pa.binary()), ["spelling"])
            expected = program("canon", "-q", "--base-url", "http://base.test", sample).split(b"\n")[:-1]
            found = Canonicalizer().canonical_column(table["url"]).to_pylist()
            self.assertEqual([form or b"" for form in found], expected, name)
            rejects = folder(self) / "rejects"
            program("-q", "--base-url", "http://base.test", "--rejects", rejects, "-o", rejects.with_name("o"), sample)
            told = [line.split("\t")[0] for line in rejects.read_text(errors="replace").splitlines()]
            found = [reject for reject in table["reject"].to_pylist() if reject not in (None, "empty", "comment")]
            self.assertEqual(found, [kind for kind in told if kind in found], name)

    def test_say_what_is_beside_the_url(self):
        line = ('192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326 '
                '"http://a.test/\\"start" "Agent/1"')
        table = Lines("combined", base_url="http://a.test").read_column(
            [line, "", None, "no line of a log"], ["method", "status", "size", "referrer", "agent", "digest"])
        self.assertEqual(table.to_pylist()[0], {
            "url": "http://a.test/a", "reject": None, "method": "GET", "status": "200", "size": "2326",
            "referrer": 'http://a.test/"start', "agent": "Agent/1", "digest": None})
        self.assertEqual(table["reject"].to_pylist()[1:], ["empty", None, "not-format"])

    def test_without_a_host_are_told(self):
        lines = ['192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326']
        self.assertEqual(Lines("clf").read_column(lines).to_pylist(), [{"url": None, "reject": "no-host"}])

    def test_of_lists_may_be_taken_byte_by_byte(self):
        lines = [b"http://a.test\r", b"", b" "]
        found = Lines("lines", verbatim=True).read_column(pa.array(lines, pa.binary()))
        self.assertEqual(found.to_pylist(), [{"url": line, "reject": None} for line in lines])
        found = Lines("lines").read_column(pa.array(lines, pa.binary()), ["spelling"])
        self.assertEqual(found["url"].to_pylist(), [b"http://a.test", None, None])
        self.assertEqual(found["spelling"][0].as_py(), lines[0])

    def test_know_files_that_are_not_theirs(self):
        how = Lines(sample=(SAMPLES / "captures.cdx").read_bytes())
        self.assertIsNone(how.refuses((SAMPLES / "captures.cdx").read_bytes()))
        self.assertIsNone(how.refuses(b"\n \n"))
        self.assertIn("looks like lines, not like cdx", how.refuses((SAMPLES / "reddit.txt").read_bytes()))
        other = (SAMPLES / "captures.cdx").read_bytes().replace(b" M S V g", b" M V S g")
        self.assertIn("other columns", how.refuses(other))
        self.assertIn("no lines", Lines("lines").refuses((SAMPLES / "sitemap.xml").read_bytes()))

    def test_do_not_follow_other_columns(self):
        narrow = b" CDX N b a\n- 20200101000000 http://a.test/"
        wide = b" CDX N b a s\n- 20200101000000 http://b.test/ 200"
        how = Lines("cdx", sample=narrow)
        for lines in [narrow, narrow + b"\n" + narrow]:
            table = how.read_column(pa.array(lines.split(b"\n"), pa.binary()))
            self.assertEqual(set(table["reject"].to_pylist()), {"comment", None})
        with self.assertRaisesRegex(UndustError, "found a line that tells others: \" CDX N b a s\"; cut the file"):
            how.read_column(pa.array((narrow + b"\n" + wide).split(b"\n"), pa.binary()))
        self.assertIn("other columns of cdx", how.refuses(wide))
        self.assertIsNone(how.refuses(narrow))
        clf = Lines("clf", base_url="http://a.test")
        self.assertIn("none of its first lines", clf.refuses(b"http://a.test/\n"))
        self.assertIsNone(clf.refuses((SAMPLES / "clf.log").read_bytes()))

    def test_of_no_lines_are_refused(self):
        url = b"http://a.test/\n"
        contents = [(SAMPLES / name).read_bytes() for name in
                    ["sitemap.xml", "archive.arc", "archive.warc.gz", "index.parquet", "kasztp.txt.zst"]]
        contents += [gzip.decompress(contents[2]), lzma.compress(url), bz2.compress(url), url.decode().encode("utf-16")]
        for content in contents:
            for format in [None, "lines"]:
                with self.assertRaisesRegex(UndustError, "its records are no lines|expected lines, found"):
                    Lines(format, sample=content)
            self.assertIsNotNone(Lines("lines").refuses(content))

    def test_of_tables_are_refused(self):
        for name in ["pages.csv", "w3c.log", "cloudfront.tsv"]:
            with self.assertRaisesRegex(UndustError, "read it as a table|may change from line to line"):
                Lines(sample=(SAMPLES / name).read_bytes())
        for name in ["cdx", "csv", "cdx-json", "access"]:
            with self.assertRaisesRegex(UndustError, "told by the first lines"):
                Lines(name)
        with self.assertRaisesRegex(UndustError, "no such format"):
            Lines("combine")
        with self.assertRaisesRegex(ValueError, 'field "colour"'):
            Lines("combined").read_column(["x"], ["colour"])


if __name__ == "__main__":
    unittest.main()
