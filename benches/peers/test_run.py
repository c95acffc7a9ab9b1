"""Tests of what decides about a result: python3 -m unittest discover benches/peers."""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

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


class InFolder(unittest.TestCase):
    """A work folder and a plan; no program is run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.replace("WORK", self.folder)
        self.replace("say", lambda text: None)
        self.replace("make_list", lambda undust, lines, truth=None: f"list-{lines}.txt")

    def replace(self, name, value):
        patch = mock.patch.object(run, name, value)
        patch.start()
        self.addCleanup(patch.stop)


COST = {"wall_seconds": 1.0, "cpu_seconds": 2.0, "rss_bytes": 3, "anonymous_bytes": 4}


class Growth(InFolder):
    RIVALS = [{"name": "exact", "growth": True, "exact": True, "command": ["exact"]},
              {"name": "free", "growth": True, "command": ["free"]},
              {"name": "absent", "command": ["absent"]}]

    def grown(self, outputs):
        """Rows of two sizes; `outputs` has what each program writes, by its first words, or a `Failure`."""
        def run_rival(rival, values, watch=False):
            command = " ".join(rival["command"])
            output = next(output for words, output in outputs.items() if words in command)
            if isinstance(output, run.Failure):
                raise output
            (self.folder / values["out"]).write_text(output)
            return COST

        self.replace("run_rival", run_rival)
        return list(run.grow(self.RIVALS, "undust", run.plan_of(["--growth", "10,20", "--runs", "2"])))

    def test_rows(self):
        rows = self.grown({"undust": "a\n", "exact": "a\n", "free": "b\nc\n"})
        self.assertEqual([(row["lines"], row["name"]) for row in rows[:4]],
                         [(10, "undust --profile lines"), (10, "undust"), (10, "exact"), (10, "free")])
        self.assertEqual(len(rows), 8)
        self.assertFalse([row for row in rows if "failed" in row])
        self.assertEqual(list(self.folder.iterdir()), [], "outputs are removed")

    def test_an_exact_rival_has_to_write_as_many_lines(self):
        rows = self.grown({"undust": "a\n", "exact": "a\nb\n", "free": ""})
        self.assertEqual([row.get("failed") for row in rows[:4]], [None, None, "2 LINES, NOT 1", None])

    def test_if_undust_fails_the_others_continue(self):
        failure = run.Failure("exit status 2")
        rows = self.grown({"--profile lines": failure, "undust": "a\n", "exact": "a\n", "free": "a\n"})
        self.assertEqual([(row["name"], row.get("failed")) for row in rows[4:]],
                         [("undust --profile lines", "exit status 2"), ("undust", None),
                          ("exact (lines not checked)", None), ("free", None)])

    def test_a_size_without_a_list_is_a_row(self):
        def make_list(undust, lines, truth=None):
            if lines == 10:
                raise run.Failure("no room")
            return "list.txt"

        self.replace("make_list", make_list)
        rows = self.grown({"undust": "a\n", "exact": "a\n", "free": "a\n"})
        self.assertEqual(rows[0], {"lines": 10, "name": "all commands", "failed": "no room"})
        self.assertEqual([row["lines"] for row in rows[1:]], [20] * 4)
        self.assertIn("not measured: no room", report.growth_table(rows))


class Records(InFolder):
    def test_a_record_goes_where_no_other_is(self):
        commit = "59f14af01234 with changes"
        for expected in ("2026-11-27-peers-59f14af", "2026-11-27-peers-59f14af-2", "2026-11-27-peers-59f14af-3"):
            stem = run.stem_of(self.folder, "2026-11-27", commit)
            self.assertEqual(stem.name, expected)
            stem.with_suffix(".json").touch()
        self.assertEqual(run.stem_of(self.folder, "2026-11-27", "unknown").name, "2026-11-27-peers-unknown")

    def test_rivals_and_rows_before_an_interrupt_are_recorded(self):
        row = {"rival": "tool", "version": "1", "failed": "exit status 1"}

        def grow(rivals, undust, plan):
            self.assertEqual(len(list(self.folder.glob("*.md"))), 1, "the rivals are recorded before lists grow")
            yield run.growth_row(10, "undust", [COST], COST, None)
            raise KeyboardInterrupt

        self.replace("peers", lambda *_: {"pages": 1, "peers": [row]})
        self.replace("grow", grow)
        self.replace("install", lambda rival: "1")
        self.replace("undust_of", lambda plan: "undust")
        self.replace("tell", lambda *_, **__: "undust 0.1.0")
        with self.assertRaises(KeyboardInterrupt), contextlib.redirect_stdout(io.StringIO()) as printed:
            run.main(["--record", str(self.folder), "--growth", "10"])
        [page], [table] = self.folder.glob("*.md"), self.folder.glob("*.json")
        self.assertEqual(page.read_text(encoding="utf-8"), printed.getvalue())
        recorded = json.loads(table.read_text(encoding="utf-8"))
        self.assertEqual(recorded["peers"], [row])
        self.assertEqual([row["name"] for row in recorded["growth"]], ["undust"])


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
