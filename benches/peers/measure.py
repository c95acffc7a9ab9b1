"""Runs one command and prints what it cost, as JSON: measure.py [--watch] [--stdin FILE] --stdout FILE -- COMMAND …

A process of its own for each run, because the peak that the system reports for a child starts at the size of the
process that started it: this one stays small (about 10 MiB, the floor of `rss_bytes`).

With --watch, the anonymous memory of the command (RssAnon: what it allocated, without pages of mapped files) is
read every millisecond. That disturbs the clock a little, so only warm-ups are watched.
"""

import argparse
import json
import os
import subprocess
import sys
import time

WATCH_SECONDS = 0.001


def anonymous_bytes(pid):
    """The anonymous memory of a process now; 0 once it is gone, or where the system does not tell."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line.startswith(b"RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def measure(command, stdin, stdout, watch):
    """Runs a command to its end. Seconds of wall and processor, bytes of peak memory, exit status."""
    with open(stdin or os.devnull, "rb") as source, open(stdout, "wb") as sink:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdin=source, stdout=sink)
        anonymous, ended = 0, 0
        while watch and not ended:
            anonymous = max(anonymous, anonymous_bytes(child.pid))
            time.sleep(WATCH_SECONDS)
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        if not ended:
            _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)  # it is not known to have ended otherwise
    return {
        "wall_seconds": wall,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "rss_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "anonymous_bytes": anonymous,
        "status": child.returncode,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--stdin")
    parser.add_argument("--stdout", required=True)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    print(json.dumps(measure(given.command, given.stdin, given.stdout, given.watch)))


if __name__ == "__main__":
    main()
