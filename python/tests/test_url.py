"""Single URLs: the same answers as the program's."""

import doctest
import gzip
import pickle
import re
import sys
import unittest
from pathlib import Path

from samples import HOSTILE, SAMPLES, folder, urls_of, undust as program

import undust
from undust import Canonicalizer, FingerprintKey, Pages, UndustError


class Forms(unittest.TestCase):
    def test_are_those_of_the_program(self):
        messy = SAMPLES / "messy.txt"
        for flags, made in [
            ([], Canonicalizer()),
            (["--profile", "aggressive"], Canonicalizer("aggressive")),
            (["--only", "case,fragment"], Canonicalizer(only=["case", "fragment"])),
            (["--slash", "remove", "--strip-param", "ref"], Canonicalizer(slash="remove", strip_params=["ref"])),
        ]:
            for notation in ["canonical", "surt", "urlkey"]:
                expected = program("canon", "-q", "--print", notation, *flags, list_of(self, messy)).split(b"\n")
                form = getattr(made, notation)
                found = [form(url) for url in urls_of(messy)]
                self.assertEqual(found, expected[:-1], (flags, notation))

    def test_are_of_the_type_that_was_given(self):
        made = Canonicalizer()
        self.assertEqual(made.canonical("HTTP://a.test"), "http://a.test/")
        self.assertEqual(made.canonical(b"HTTP://a.test"), b"http://a.test/")
        self.assertEqual(made.canonical("http://a.test/\udcff"), "http://a.test/%FF")
        with self.assertRaisesRegex(TypeError, "expected str or bytes, found int"):
            made.canonical(7)

    def test_of_what_does_not_parse_are_the_same_bytes(self):
        made = Canonicalizer()
        self.assertEqual((made.canonical("http://[/"), made.reject("http://[/")), ("http://[/", "bad-host"))
        self.assertIsNone(made.reject("http://a.test/"))
        self.assertEqual(made.host("mailto:a@b.test"), "")

    def test_come_again_from_a_pickle(self):
        config = folder(self) / "settings.toml"
        config.write_text('profile = "rfc3986"\nenable = ["www"]\n')
        rules = config.with_name("rules.toml")
        rules.write_text('[[rule]]\nsite = "a.test"\nkind = "drop-param"\nparam = "s"\nstatus = "manual"\n')
        made = Canonicalizer(config=config, rules=rules, hosts={"192.0.2.7": "a.test"})
        config.unlink()
        again = pickle.loads(pickle.dumps(made))
        self.assertEqual(again.digest, made.digest)
        self.assertNotEqual(again.digest, Canonicalizer().digest)
        self.assertEqual(again.canonical("http://192.0.2.7/x?s=1"), "http://a.test/x")

    def test_errors_say_what_to_do(self):
        for wrong, expected in [
            ({"profile": "crwl"}, 'profile "crwl": no such profile; use one of lines, whatwg'),
            ({"enabel": ["www"]}, "settings: unknown field `enabel`, expected one of `profile`"),
            ({"enable": ["wwww"]}, "enable"),
            ({"slash": "sideways"}, "keep, add or remove"),
            ({"keep_params": ["id"]}, "expected a table of host, path and names"),
        ]:
            with self.assertRaisesRegex(UndustError, expected):
                Canonicalizer(**wrong)
        rules = folder(self) / "rules.toml"
        rules.write_text("[[rule]]\nsite = 7\n")
        with self.assertRaisesRegex(UndustError, "rules.toml"):
            Canonicalizer(rules=rules)


    def test_files_may_be_packed(self):
        text = b'[[rule]]\nsite = "a.test"\nkind = "drop-param"\nparam = "s"\nstatus = "manual"\n'
        rules = folder(self) / "rules.toml.gz"
        rules.write_bytes(gzip.compress(text))
        self.assertEqual(Canonicalizer(rules=rules).canonical("http://a.test/x?s=1"), "http://a.test/x")
        for name, content, expected in [("utf16.toml", text.decode().encode("utf-16"), "expected text in UTF-8"),
                                        ("latin1.toml", b'# \xe9\n', "expected text in UTF-8"),
                                        ("cut.gz", gzip.compress(text)[:40], "")]:
            path = rules.with_name(name)
            path.write_bytes(content)
            for given in [{"rules": path}, {"config": path}]:
                with self.assertRaises(UndustError) as raised:
                    Canonicalizer(**given)
                self.assertIn(f"{path}: {expected}", str(raised.exception))
        with self.assertRaises(FileNotFoundError):
            Canonicalizer(config=rules.with_name("none"))


class Versions(unittest.TestCase):
    def test_are_one(self):
        self.assertEqual(program("--version").decode().split()[1], undust.__version__)


class Words(unittest.TestCase):
    def test_explain_tells_each_step(self):
        steps = Canonicalizer().explain("HTTP://Example.COM:80/a/../b?utm_source=x&id=7")
        self.assertEqual([rule for rule, _ in steps], ["given", "case", "default-port", "dot-segments", "params"])
        self.assertEqual(steps[-1][1], "http://example.com/b?id=7")
        with self.assertRaises(UndustError):
            Canonicalizer().explain("http://[/")
        with self.assertRaisesRegex(UndustError, r"adds none \(default-scheme\)$"):
            Canonicalizer().explain("")

    def test_compare_says_why(self):
        made = Canonicalizer()
        self.assertEqual(made.compare("http://a.test", "http://a.test/#x"), (True, "fragment,trailing-slash"))
        self.assertEqual(made.compare("http://a.test", "http://a.test"), (True, "identical"))
        self.assertEqual(made.compare("http://a.test", "https://a.test"), (False, None))


class Sets(unittest.TestCase):
    def test_let_through_what_dedup_prints(self):
        for sample in [SAMPLES / "reddit.txt", SAMPLES / "messy.txt", HOSTILE / "wpt_inputs.txt"]:
            pages = Pages()
            kept = [url for url in urls_of(sample) if pages.add(url)]
            expected = program("-q", list_of(self, sample)).split(b"\n")[:-1]
            self.assertEqual(kept, expected, sample)
            self.assertEqual(len(pages), len(expected))

    def test_keys_are_sixteen_bytes(self):
        key = FingerprintKey()
        self.assertEqual(pickle.loads(pickle.dumps(key)).secret, key.secret)
        self.assertNotEqual(FingerprintKey().secret, key.secret)
        with self.assertRaisesRegex(ValueError, "expected 16 bytes, found 3"):
            FingerprintKey(b"abc")


class Documents(unittest.TestCase):
    def test_examples_are_what_comes_out(self):
        readme = (Path(__file__).resolve().parent.parent / "README.md").read_text()
        examples = "".join(re.findall(r"```python\n(>>> .*?)```", readme, re.DOTALL))
        documents = [("README.md", examples)]
        for module in [undust, sys.modules["undust._pages"], sys.modules["undust._canonicalizer"]]:
            names = {"Pages": Pages, "Canonicalizer": Canonicalizer}
            found = doctest.DocTestFinder().find(module, globs=names)
            documents += [(test.name, test) for test in found if test.examples]
        self.assertGreater(len(documents), 3)
        for name, document in documents:
            if isinstance(document, str):
                document = doctest.DocTestParser().get_doctest(document, {}, name, None, 0)
            self.assertEqual(doctest.DocTestRunner().run(document).failed, 0, name)


class Rules(unittest.TestCase):
    def test_are_those_that_the_program_learns(self):
        crawl = folder(self) / "crawl.cdxj"
        program("generate", "site", "--preset", "clean", "--sites", 3, "--seed", 5, "-o", crawl)
        expected = program("learn", "-q", crawl).decode()
        self.assertIn("[[rule]]", expected)
        self.assertEqual(undust.learn(crawl), expected)
        self.assertEqual(undust.learn([crawl], format="CDXJ", threads=1), expected)
        with self.assertRaisesRegex(UndustError, "no such format"):
            undust.learn(crawl, format="cdxx")
        archive = SAMPLES / "archive.warc.gz"
        self.assertIn('records = "9"', undust.learn(archive, format="warc"))
        with self.assertRaisesRegex(UndustError, "text 2"):
            undust.join_rules([expected, "[[rule]]\nsite = 7\n"])
        self.assertIn('records = "0"', undust.join_rules([undust.learn([])]))
        with self.assertRaises(UndustError):
            undust.learn(crawl.with_name("none"))

    def test_errors_name_arguments_not_flags(self):
        log = folder(self) / "--format.log"
        line = '192.0.2.1 - - [10/Oct/2026:13:55:36 -0700] "GET /--field HTTP/1.0" 200 23'
        log.write_text(f"{line}\n" * 5)
        for wrong, expected in [
            ({}, "as in base_url https://example.com"),
            ({"memory": 1000}, "raise memory or lower threads"),
            ({"format": "csv"}, f'"{line}"; name the column of URLs, as in fields 1, or leave out format to'),
            ({"fields": "url=zz"}, "(leave out fields); as a table: fields url=zz: there is no such column"),
            ({"base_url": "x y"}, "base_url x y: there is no scheme"),
        ]:
            with self.assertRaises(UndustError) as raised:
                undust.learn(log, **wrong)
            self.assertIn(expected, str(raised.exception))
        with self.assertRaisesRegex(UndustError, "found a folder; name the files in it, or give -r of the program for all of them$"):
            undust.learn(log.parent)


def list_of(test, sample):
    """A file with the URLs of a sample alone."""
    made = folder(test) / "urls"
    made.write_bytes(b"".join(url + b"\n" for url in urls_of(sample)))
    return made


if __name__ == "__main__":
    unittest.main()
