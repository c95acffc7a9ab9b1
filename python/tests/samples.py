"""The samples, and the program that results are compared with."""

import os
import subprocess
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "data/samples"
HOSTILE = SAMPLES.parent / "hostile"


def undust(*arguments, status=0):
    """What the program writes to standard output."""
    run = subprocess.run([os.environ["UNDUST"], *map(str, arguments)], capture_output=True, check=False)
    if run.returncode != status:
        raise AssertionError(f"{arguments}: status {run.returncode}: {run.stderr.decode()}")
    return run.stdout


def lines_of(path):
    """The lines of a file as bytes, without what ends them."""
    return path.read_bytes().split(b"\n")[:-1]


def urls_of(path):
    """The lines of a list that are URLs for the program: without a byte order mark, carriage returns at their ends, and
    empty ones."""
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    return [line.removesuffix(b"\r") for line in text.split(b"\n") if line.strip()]


def folder(test):
    """A folder that goes with the test."""
    made = tempfile.TemporaryDirectory(prefix="undust-")
    test.addCleanup(made.cleanup)
    return Path(made.name)
