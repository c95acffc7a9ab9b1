#!/usr/bin/env python3
"""Compares undust with its rivals: installs them, runs them in turn with undust, writes one table.

    python3 benches/peers/run.py --lines 1M --runs 3 --growth 1M,3M --record benches/record

Needs Python 3.11, cargo and a network for the first run. Everything made is below `benches/peers/target`.
The rivals are rows of `peers.toml`; `README.md` has the rules.
"""

import argparse
import datetime
import filecmp
import itertools
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import report
from install import HERE, PLACES, ROOT, TARGET, Failure, install, say, tell

WORK = TARGET / "work"
SEED = 1
# Rules of undust that RFC 3986 asks for; in the class safe, `trailing-slash` is the one of an empty path.
RFC_RULES = {"case", "default-port", "escapes", "dot-segments", "trailing-slash"}
METRICS = {"wall": "wall_seconds", "cpu": "cpu_seconds", "rss": "rss_bytes", "anonymous": "anonymous_bytes"}


# -- Plans


def count_of(text):
    """A number of lines: 250000, 100k, 3M."""
    scale = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    count = int(text if scale == 1 else text[:-1]) * scale
    if count <= 0:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of lines above 0")
    return count


def plan_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=count_of, default=1_000_000, metavar="N", help="default: 1M")
    parser.add_argument("--small-lines", type=count_of, default=100_000, metavar="N",
                        help="list of the rivals that take microseconds for a URL; default: 100k")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="pairs after the warm-up; default: 3")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N", help="default: all")
    parser.add_argument("--growth", type=lambda text: [count_of(part) for part in text.split(",") if part],
                        default=[], metavar="N,N…", help="also measure how cost grows, over lists of these sizes")
    parser.add_argument("--undust", type=Path, metavar="PATH", help="a built undust; default: build this tree")
    parser.add_argument("--no-sync", action="store_true",
                        help="let undust leave its output to the system, as all rivals do; default: it waits "
                             "until the disk has it")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only rivals whose name has this in it; may be repeated")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write DATE-peers-COMMIT.md and .json there")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the record; default: today")
    parser.add_argument("--note", default="", help="a sentence about the machine for the record")
    plan = parser.parse_args(arguments)
    plan.ways = ["--no-sync"] if plan.no_sync else []
    if plan.runs < 1 or plan.threads < 1:
        parser.error("--runs and --threads: expected at least 1")
    return plan


def filled(words, values):
    """The words of a command with every {name} replaced; line breaks in SQL become spaces."""
    done = []
    for word in words:
        for name, value in values.items():
            word = word.replace("{" + name + "}", value)
        done.append(" ".join(word.split("\n")).strip())
    return done


def command_of(words, values, shown=False):
    """A command to run, or (`shown`) the same without the places of this machine."""
    places = {name: pair[shown] for name, pair in PLACES.items()}
    command = filled(words, values | places)
    return [word.lstrip("/") for word in command[:1]] + command[1:] if shown else command


def quoted(word):
    """A word as one would type it: in double quotes if it has single ones."""
    return f'"{word}"' if "'" in word and not set(word) & set('"$`!') else shlex.quote(word)


def shown_line(rival, values):
    """The command line of a rival for the table, as one would type it."""
    words = [f"{name}={value}" for name, value in env_of(rival, values).items()]
    words += [quoted(word) for word in command_of(rival["command"], values, shown=True)]
    words += ["<", values["list"]] if rival.get("stdin") else []
    words += [">", values["out"]] if rival.get("stdout") else []
    return " ".join(words)


def env_of(rival, values):
    env = rival.get("env", {})
    return dict(zip(env, filled(env.values(), values)))


# -- Programs


def undust_of(plan):
    """The program to measure: the one given, or this tree's, built now."""
    if plan.undust:
        return str(plan.undust.resolve(strict=True))
    say("building undust")
    tell(["cargo", "build", "--release", "--locked", "--bin", "undust"], cwd=ROOT)
    target = tell(["cargo", "metadata", "--locked", "--no-deps", "--format-version=1"], cwd=ROOT)
    return str(Path(json.loads(target)["target_directory"]) / "release/undust")


# -- Runs


def run(command, out, to_stdout, watch=False, stdin=None, env=None):
    """Runs a command that makes `out` once in the work folder. What it cost, or a `Failure`."""
    # A file that is there would cost time to cut off, and some rivals append to it.
    (WORK / out).unlink(missing_ok=True)
    measure = [sys.executable, "-I", "-S", str(HERE / "measure.py"), "--stdout", out if to_stdout else os.devnull]
    measure += ["--watch"] if watch else []
    measure += ["--stdin", stdin] if stdin else []
    done = subprocess.run(measure + ["--"] + command, cwd=WORK, text=True, capture_output=True,
                          env=os.environ | (env or {}))
    said = (done.stderr.strip() or "no message").splitlines()[-1]
    if done.returncode:
        raise Failure(said)
    cost = json.loads(done.stdout)
    if cost["status"]:
        raise Failure(f"exit status {cost['status']}: {said}")
    if not (WORK / out).exists():
        raise Failure("exit status 0, but it wrote no file")
    return cost


def run_rival(rival, values, watch=False):
    """Runs a rival once; its result is in the file `values["out"]`."""
    stdin = values["list"] if rival.get("stdin") else None
    command = command_of(rival["command"], values)
    return run(command, values["out"], bool(rival.get("stdout")), watch, stdin, env_of(rival, values))


def ratio_of(theirs, ours, what):
    """Median and range of the ratios of pairs; `None` if there is nothing to divide by."""
    pairs = [(a[METRICS[what]], b[METRICS[what]]) for a, b in zip(theirs, ours)]
    if any(b <= 0 for _, b in pairs):
        return None
    ratios = [a / b for a, b in pairs]
    return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}


def medians(runs, warm):
    """What one command cost in the middle of its runs; anonymous memory from its warm-up."""
    cost = {metric: statistics.median(run[metric] for run in runs) for metric in METRICS.values()}
    return cost | {"anonymous_bytes": warm["anonymous_bytes"]}


def lines_in(path):
    """How many lines a file has; a last one without a newline counts."""
    count, last = 0, b"\n"
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def check_of(rival, lines_out, undust_lines_out, same_bytes):
    """What the results say about a rival that has to come to the same. `same_bytes` is only called if needed."""
    if not rival.get("exact"):
        return ""
    if lines_out != undust_lines_out:
        return "NOT AS MANY AS UNDUST"
    if rival.get("bytes"):
        return "same bytes" if same_bytes() else "SAME COUNT, OTHER BYTES"
    return "same count"


def compare(rival, version, arguments, undust, lists, plan):
    """One row: a rival against one command of undust, in turn."""
    size = rival.get("list", "large")
    threads = 1 if size == "small" else plan.threads
    values = {"list": lists[size], "out": "out-rival.txt", "threads": str(threads)}
    flags = [f"-j{threads}", *plan.ways, *shlex.split(arguments)]
    ours = {"command": [undust, *flags, values["list"], "-o", "{out}"]}
    our_values = values | {"out": "out-undust.txt"}
    say(f"{rival['name']} against undust -j{threads} {arguments}")
    warm_theirs = run_rival(rival, values, watch=True)
    warm_ours = run_rival(ours, our_values, watch=True)
    pairs = [(run_rival(rival, values), run_rival(ours, our_values)) for _ in range(plan.runs)]
    theirs, mine = zip(*pairs)
    out, our_out = WORK / values["out"], WORK / our_values["out"]
    lines_out, undust_lines_out = lines_in(out), lines_in(our_out)
    ratio = {what: ratio_of(theirs, mine, what) for what in ("wall", "cpu", "rss")}
    return {
        "rival": rival["name"],
        "version": version,
        "command": shown_line(rival, values),
        "undust_command": " ".join(filled(["undust", *ours["command"][1:]], our_values)),
        "work": rival["work"],
        "order": rival["order"],
        "threads": threads,
        "lines_in": lines_in(WORK / values["list"]),
        "lines_out": lines_out,
        "undust_lines_out": undust_lines_out,
        "check": check_of(rival, lines_out, undust_lines_out, lambda: filecmp.cmp(out, our_out, shallow=False)),
        "ratio": ratio | {"anonymous": ratio_of([warm_theirs], [warm_ours], "anonymous")},
        "cost": medians(theirs, warm_theirs),
        "undust_cost": medians(mine, warm_ours),
    }


# -- Truth


def truth_row(line):
    """Page and class of a row of the truth table. `safe` is told apart: `rfc` if RFC 3986 alone makes it equal."""
    page, kind, rules = line.rstrip("\n").split("\t")
    return page, "rfc" if kind == "safe" and RFC_RULES.issuperset(rules.split(",")) else kind


def truth_rows(lists):
    with open(WORK / lists["truth"], encoding="utf-8") as table:
        next(table)
        return [truth_row(line) for line in table]


def judge(truth, keys):
    """What keys get right, for rows `(page, class)` of the truth table in line with keys.

    For each class of variants the share that has the key of its page's first line; `wrong` counts lines whose key
    a line of another page had before, so that they would be dropped for it.
    """
    first, owner = {}, {}
    total, found, wrong = dict.fromkeys(report.CLASSES, 0), dict.fromkeys(report.CLASSES, 0), 0
    for (page, kind), key in zip(truth, keys, strict=True):
        if kind == "first":
            first[page] = key
        elif kind in total:
            total[kind] += 1
            found[kind] += key == first[page]
        wrong += owner.setdefault(key, page) != page
    return {kind: found[kind] / max(total[kind], 1) for kind in total} | {"wrong": wrong}


def judge_command(rival, lists):
    """`judge` for a command that makes keys, over the small list."""
    values = {"list": lists["small"], "out": "out-keys.txt", "threads": "1"}
    command = command_of(rival["keys"], values)
    run(command, values["out"], not any("{out}" in word for word in rival["keys"]), env=env_of(rival, values))
    truth = truth_rows(lists)
    keys = (WORK / values["out"]).read_bytes().removesuffix(b"\n").split(b"\n")
    if len(keys) != len(truth):
        raise Failure(f"{len(keys)} keys for {len(truth)} lines")
    return judge(truth, keys)


class Judged:
    """What commands are known to find, each asked once."""

    def __init__(self, undust, lists):
        self.undust, self.lists, self.known = undust, lists, {}

    def of_rival(self, rival):
        return self._ask(tuple(rival["keys"]), rival)

    def of_undust(self, arguments):
        command = [self.undust, "canon", *shlex.split(arguments), "{list}"]
        return self._ask(arguments, {"keys": command})

    def _ask(self, name, rival):
        if name not in self.known:
            self.known[name] = judge_command(rival, self.lists)
        return self.known[name]


# -- Growth


def grow(rivals, undust, plan):
    """What commands cost over lists of growing size, all in turn: the rows of one size after the other."""
    for lines in plan.growth:
        try:
            yield from grow_to(lines, rivals, undust, plan)
        except Failure as failure:
            say(f"growth: {lines:,} lines: {failure}")
            yield growth_row(lines, "all commands", [], None, str(failure))


def grow_to(lines, rivals, undust, plan):
    """The rows of a list of this size; a `Failure` if there is no list."""
    name = make_list(undust, lines)
    values = {"list": name, "threads": str(plan.threads)}
    commands = {
        f"undust {arguments}".strip(): {
            "command": [undust, f"-j{plan.threads}", *plan.ways, *shlex.split(arguments), name, "-o", "{out}"]}
        for arguments in ("--profile lines", "")
    }
    commands |= {rival["name"]: rival for rival in rivals if rival.get("growth")}
    ours, lines_out, unchecked = next(iter(commands)), {}, set()
    costs, warm, failed = {what: [] for what in commands}, {}, {}
    for turn in range(plan.runs + 1):
        for at, (what, rival) in enumerate(commands.items()):
            if what in failed:
                continue
            say(f"growth: {what} over {lines:,} lines, run {turn} of {plan.runs}")
            try:
                cost = run_rival(rival, values | {"out": f"out-{at}.txt"}, watch=turn == 0)
            except Failure as failure:
                say(f"{what}: {failure}")
                failed[what] = str(failure)
                continue
            if turn:
                costs[what].append(cost)
                continue
            warm[what] = cost
            lines_out[what] = lines_in(WORK / f"out-{at}.txt")
            if not rival.get("exact"):
                continue
            if ours not in lines_out:
                unchecked.add(what)
            elif lines_out[what] != lines_out[ours]:
                failed[what] = f"{lines_out[what]:,} LINES, NOT {lines_out[ours]:,}"
    for at in range(len(commands)):
        (WORK / f"out-{at}.txt").unlink(missing_ok=True)
    if lines > plan.lines:
        (WORK / name).unlink(missing_ok=True)  # gigabytes, and made in seconds
    return [growth_row(lines, f"{what} (lines not checked)" if what in unchecked else what,
                       costs[what], warm.get(what), failed.get(what)) for what in commands]


def growth_row(lines, name, runs, warm, failed):
    if failed:
        return {"lines": lines, "name": name, "failed": failed}
    cost = medians(runs, warm)
    walls = [run["wall_seconds"] for run in runs]
    return {
        "lines": lines,
        "name": name,
        "wall_seconds": {"median": statistics.median(walls), "min": min(walls), "max": max(walls)},
        "wall_ns": cost["wall_seconds"] * 1e9,
        "cpu_ns": cost["cpu_seconds"] * 1e9,
        "rss_bytes": cost["rss_bytes"],
        "anonymous_bytes": cost["anonymous_bytes"],
    }


# -- The whole


def make_list(undust, lines, truth=None):
    """Generates a list in the work folder, anew each time: another undust may have another generator. Its name."""
    name = f"list-{lines}.txt"
    command = [undust, "generate", "list", "-n", str(lines), "--seed", str(SEED), "-o", name]
    tell(command + (["--truth", truth] if truth else []), cwd=WORK)
    return name


def machine():
    """What a reader needs to know about this machine, and not its name."""
    cpu, memory = platform.processor(), 0
    try:
        facts = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in facts if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        pass
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "system": f"{system}, {platform.system()} {kernel}, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
    }


def commit():
    """The commit of this tree, and whether it has changes."""
    try:
        head = tell(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT).strip()
        changed = tell(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT).strip()
    except Failure:
        return "unknown"
    return f"{head} with changes" if changed else head


def peers(rivals, versions, undust, plan):
    """All rows of the table of rivals, and how many pages the list has that they are judged by."""
    lists = {
        "large": make_list(undust, plan.lines),
        "small": make_list(undust, plan.small_lines, truth=f"truth-{plan.small_lines}.tsv"),
        "truth": f"truth-{plan.small_lines}.tsv",
    }
    judged, rows = Judged(undust, lists), []
    for rival in rivals:
        version = versions[rival["name"]]
        for arguments in rival["against"]:
            try:
                row = compare(rival, version, arguments, undust, lists, plan)
            except Failure as failure:
                say(f"{rival['name']}: {failure}")
                rows.append({"rival": rival["name"], "version": version, "failed": str(failure)})
                continue
            rows.append(row)
            if "keys" in rival:
                try:
                    row |= {"truth": judged.of_rival(rival), "undust_truth": judged.of_undust(arguments)}
                except Failure as failure:
                    say(f"{rival['name']}: not judged: {failure}")
                    row["check"] = "; ".join(filter(None, [row["check"], f"not judged: {failure}"]))
    return {"pages": sum(row[1] == "first" for row in truth_rows(lists)), "peers": rows}


def stem_of(folder, date, commit):
    """Where a record of this day and commit goes, without its ending: a place where no other record is."""
    name = f"{date}-peers-{commit.split()[0][:7]}"
    stems = (folder / (name if number == 1 else f"{name}-{number}") for number in itertools.count(1))
    return next(stem for stem in stems if not any(stem.with_suffix(end).exists() for end in (".md", ".json")))


def record(result, stem):
    """Writes the page and its JSON, over what this run wrote there before."""
    stem.with_suffix(".md").write_text(report.page(result), encoding="utf-8")
    stem.with_suffix(".json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"written: {stem.name}.md and {stem.name}.json")


def main(arguments):
    plan = plan_of(arguments)
    WORK.mkdir(parents=True, exist_ok=True)
    if plan.record:
        plan.record.mkdir(parents=True, exist_ok=True)
    about = machine()
    undust = undust_of(plan)
    rivals = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))["rival"]
    rivals = [rival for rival in rivals if not plan.only or any(text in rival["name"] for text in plan.only)]
    versions, missing = {}, {}
    for rival in rivals:
        try:
            versions[rival["name"]] = install(rival)
        except Failure as failure:
            missing[rival["name"]] = str(failure)
            say(f"{rival['name']}: not there, left out: {failure}")
    rivals = [rival for rival in rivals if rival["name"] in versions]
    result = {
        "date": plan.date,
        "commit": commit() + (" (of the scripts; the program was given by --undust)" if plan.undust else ""),
        "undust": tell([undust, "--version"]).split()[-1],
        "machine": about,
        "plan": {"lines": plan.lines, "small_lines": plan.small_lines, "runs": plan.runs, "threads": plan.threads,
                 "seed": SEED, "note": plan.note},
        "missing": missing,
        **peers(rivals, versions, undust, plan),
        "growth": [],
    }
    stem = plan.record and stem_of(plan.record, plan.date, result["commit"])
    if stem and plan.growth:
        record(result, stem)
    try:
        # One by one, so that an interrupt leaves the rows before it.
        for row in grow(rivals, undust, plan):
            result["growth"].append(row)
    finally:
        print(report.page(result), end="")
        if stem:
            record(result, stem)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Failure as failure:
        sys.exit(f"run.py: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
