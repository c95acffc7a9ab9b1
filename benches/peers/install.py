"""Gets the rivals, in the versions that `peers.toml` says, into `benches/peers/target`."""

import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = HERE / "target"
# Where programs are, and what a command line in the table says instead.
PLACES = {
    "python": (str(TARGET / "venv/bin/python"), "python"),
    "venv": (str(TARGET / "venv/bin"), ""),
    "tools": (str(TARGET / "tools/bin"), ""),
    "here": (str(TARGET / "release"), ""),
    "rivals": (str(HERE / "rivals"), "rivals"),
}


class Failure(Exception):
    """A rival cannot be had or does not run. Its row says so, and the others go on."""

    def __str__(self):
        # Results are published, and a place on this machine is nobody's business.
        return super().__str__().replace(f"{HERE}/", "").replace(f"{ROOT}/", "")


def say(text):
    print(text, file=sys.stderr, flush=True)


def tell(command, **options):
    """The output of a command; a `Failure` with the last thing it said if it fails."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, **options)
    except OSError as error:
        raise Failure(f"{Path(command[0]).name}: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Failure(f"{Path(command[0]).name}: exit status {done.returncode}: {said}")
    return done.stdout


def install(rival):
    """Makes sure that a rival is there, in the version that `peers.toml` says. Returns its version."""
    source, spec = rival["from"].split(" ", 1) if " " in rival["from"] else (rival["from"], "")
    match source:
        case "pip":
            return install_pip(*spec.split("=="))
        case "cargo":
            return install_cargo(*spec.split("@"))
        case "system":
            if not shutil.which(spec):
                raise Failure(f"{spec} is not on this system")
            return tell(rival["version"]).splitlines()[0].split(",")[0].removeprefix(spec).strip()
        case "here":
            return build_here()
    raise Failure(f"from = \"{rival['from']}\": expected pip, cargo, system or here")


def install_pip(name, version):
    python = PLACES["python"][0]
    if not Path(python).exists():
        say("making a venv")
        try:
            venv.create(TARGET / "venv", with_pip=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failure(f"no venv: {error}") from error
    asked = f"from importlib.metadata import version; print(version({name!r}))"
    try:
        if tell([python, "-c", asked]).strip() == version:
            return version
    except Failure:
        pass  # not there yet
    say(f"installing {name} {version}")
    tell([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{name}=={version}"])
    return version


def install_cargo(name, version):
    root = TARGET / "tools"
    installed = root / ".crates.toml"
    if not installed.exists() or f'"{name} {version} ' not in installed.read_text():
        say(f"installing {name} {version}")
        # A target folder of its own: cargo's default is a temporary one that may lie in memory.
        tell(["cargo", "install", "--quiet", "--locked", "--root", str(root), "--target-dir", str(TARGET / "build"),
              f"{name}@{version}"])
    return version


def build_here():
    tell(["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(TARGET)], cwd=HERE)
    locked = tomllib.loads((HERE / "Cargo.lock").read_text())["package"]
    versions = {package["name"]: package["version"] for package in locked}
    return ", ".join(f"{name} {versions[name]}" for name in ("url", "rayon", "dashmap"))
