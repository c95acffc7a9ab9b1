#!/usr/bin/env python3
"""Builds the wheel, puts it into a venv with Spark, and runs the tests of this folder.

    make python                                             what `make test` calls, too
    python3 python/tests/run.py --undust PATH               a built undust, with which results are compared
    python3 python/tests/run.py --undust PATH test_column   one module of tests

Needs cargo, Python 3.11 with venv, Java 17 or later (installed by apt-get where that is there and we are root), and a
network for the first run. The venv and what is built are below the target folder of cargo. Exit status: 0 all tests
passed, 1 not, 2 could not be run.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent
REQUIREMENTS = HERE / "requirements.txt"
JAVA_MIN = 17


def stop(message):
    print(f"python: {message}", file=sys.stderr)
    sys.exit(2)


def target_folder():
    told = subprocess.run(["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"], cwd=PACKAGE.parent,
                          check=True, capture_output=True).stdout
    return Path(json.loads(told)["target_directory"]) / "python"


def java_version():
    """The version of the Java that Spark will find; 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin/java" if home else shutil.which("java")
    if not java or not Path(java).exists():
        return 0
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = told.partition('"')[2].partition(".")[0]
    return int(version) if version.isdigit() else 0


def need_java():
    found = java_version()
    if found >= JAVA_MIN:
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        print("python: installing Java, which Spark runs on", file=sys.stderr)
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "default-jre-headless"]):
            subprocess.run(command, check=False, stdout=sys.stderr)
        os.environ.pop("JAVA_HOME", None)
        found = java_version()
    if found < JAVA_MIN:
        stop(f"Spark needs Java {JAVA_MIN} or later, found {found or 'none'} "
             "(Debian: apt-get install default-jre-headless)")


def venv(folder):
    """A venv with the requirements; made anew if they have changed."""
    python, stamp = folder / "bin/python", folder / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"python: putting Spark and the builder of wheels into {folder}", file=sys.stderr)
        make = [sys.executable, "-m", "venv", "--clear", folder]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
        for command, hint in [(make, "python3 -m venv has to work (Debian: apt-get install python3-venv)"),
                              (install, "pip needs a network for the first run")]:
            if subprocess.run(command, check=False).returncode != 0:
                stop(f"cannot install the requirements: {hint}")
        stamp.write_text(wanted)
    return python


def install_wheel(target, python):
    """Builds the wheel, quickly rather than quick, and installs it."""
    wheels = target / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    build = [python.parent / "maturin", "build", "--quiet", "--profile", "checks", "--out", wheels,
             "--interpreter", python]
    if subprocess.run(build, cwd=PACKAGE, env=environment, check=False).returncode != 0:
        stop("the wheel was not built")
    wheel = next(wheels.glob("*.whl"))
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--force-reinstall", wheel]
    if subprocess.run(install, check=False).returncode != 0:
        stop(f"{wheel.name} was not installed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--undust", required=True, type=Path, help="the program to compare with")
    parser.add_argument("tests", nargs="*", help="modules, classes or tests of this folder; all if none are named")
    args = parser.parse_args()
    if sys.version_info < (3, 11):
        stop(f"expected Python 3.11 or later, found {sys.version.split()[0]}")
    if not args.undust.exists():
        stop(f"{args.undust}: no such program; cargo build --features parquet makes it")
    need_java()
    target = target_folder()
    python = venv(target / "venv")
    install_wheel(target, python)
    environment = os.environ | {
        "UNDUST": str(args.undust.resolve()),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        # Names of hosts are nothing to a session on one machine.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    tests = args.tests or ["discover", "-s", "."]
    status = subprocess.run([python, "-W", "ignore::ResourceWarning", "-m", "unittest", *tests], cwd=HERE,
                            env=environment, check=False).returncode
    sys.exit(1 if status else 0)


if __name__ == "__main__":
    main()
