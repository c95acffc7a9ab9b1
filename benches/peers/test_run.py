"""Tests of what decides about a result: python3 -m unittest discover benches/peers."""

import argparse
import sys
import tempfile
import unittest
from pathlib import Path

import measure
import report
import run


class Plans(unittest.TestCase):
    def test_count_of(self):
        for text, expected in (("250000", 250_000), ("100k", 100_000), ("3M", 3_000_000)):
            self.assertEqual(run.count_of(text), expected)
        with self.assertRaises(argparse.ArgumentTypeError):
            run.count_of("0")

    def test_shown_line_has_no_place_of_this_machine(self):
        rival = {"command": ["{tools}/tool", "{rivals}/a.py", "say 'x'\nto {out}"], "stdin": True, "env": {"N": "{threads}"}}
        shown = run.shown_line(rival, {"list": "l.txt", "out": "o.txt", "threads": "2"})
        self.assertEqual(shown, "N=2 tool rivals/a.py \"say 'x' to o.txt\" < l.txt")


class Results(unittest.TestCase):
    def test_ratio_is_of_pairs(self):
        theirs, ours = ([{"wall_seconds": wall} for wall in walls] for walls in ((2, 8, 9), (1, 2, 3)))
        self.assertEqual(run.ratio_of(theirs, ours, "wall"), {"median": 3, "min": 2, "max": 4})
        self.assertIsNone(run.ratio_of(theirs, [{"wall_seconds": 0}], "wall"))

    def test_lines_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.txt"
            for content, expected in ((b"", 0), (b"a\n", 1), (b"a\nb", 2)):
                path.write_bytes(content)
                self.assertEqual(run.lines_in(path), expected, content)

    def test_check_of(self):
        rival = {"exact": True, "bytes": True}
        self.assertEqual(run.check_of(rival, 5, 5, lambda: True), "same bytes")
        self.assertIn("OTHER BYTES", run.check_of(rival, 5, 5, lambda: False))
        self.assertIn("NOT AS MANY", run.check_of(rival, 4, 5, lambda: True))
        self.assertEqual(run.check_of({}, 4, 5, lambda: True), "", "work that is not the same has no check")


class Truth(unittest.TestCase):
    def test_truth_row(self):
        self.assertEqual(run.truth_row("7\tsafe\tcase,escapes\n"), ("7", "rfc"))
        self.assertEqual(run.truth_row("7\tsafe\tcase,params\n"), ("7", "safe"))
        self.assertEqual(run.truth_row("7\theuristic\tcase\n"), ("7", "heuristic"))

    def test_judge(self):
        truth = [("0", "first"), ("1", "first"), ("0", "exact"), ("0", "rfc"), ("0", "rfc"), ("1", "heuristic")]
        found = run.judge(truth, ["a", "b", "a", "a", "A", "a"])
        self.assertEqual(found, {"rfc": 0.5, "safe": 0, "heuristic": 0, "wrong": 1})


class Report(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(report.spread({"median": 12.34, "min": 1.234, "max": 1234.5}), "12.3 [1.23 .. 1,234]")
        self.assertEqual(report.spread(None), "–")


class Measure(unittest.TestCase):
    def test_a_command_is_measured(self):
        with tempfile.NamedTemporaryFile() as out:
            cost = measure.measure([sys.executable, "-c", "print(len(b'x' * 50_000_000))"], None, out.name, watch=True)
            self.assertEqual(out.read(), b"50000000\n")
        self.assertEqual(cost["status"], 0)
        self.assertGreater(cost["rss_bytes"], 50_000_000)
        self.assertGreater(cost["wall_seconds"], 0)


if __name__ == "__main__":
    unittest.main()
