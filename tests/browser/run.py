#!/usr/bin/env python3
"""Opens HTML reports in a browser: they are shown, sort, filter, and run nothing that strangers wrote.

    make browser
    python3 tests/browser/run.py --undust PATH       a built undust

Needs Python 3.11 and Chromium; root on Debian gets Chromium by apt-get, others are told to. Exit status: 0 all is well,
1 not, 2 could not be run.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from devtools import Browser, BrowserError

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "data"
BROWSERS = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]

# What must not run, in every place of a URL and of a log.
SCRIPTS = b"""javascript:alert(1)
JAVASCRIPT://a.test/%0aalert(1)
data:text/html,<script>alert(1)</script>
http://a.test/"><script>alert(1)</script>
http://a.test/' onmouseover='alert(1)' x='
http://a.test/</title></style></script><img src=x onerror=alert(1)>
http://a.test/<svg/onload=alert(1)>?<script>alert(1)</script>=1
http://<img/src=x/onerror=alert(1)>/
<iframe src="javascript:alert(1)"></iframe>
"""


def stop(message):
    print(f"browser: {message}", file=sys.stderr)
    sys.exit(2)


def browser_binary():
    """The browser; installs it where that is allowed."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found:
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("browser: installing chromium", file=sys.stderr)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update", "-q"], ["install", "-qy", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", *arguments], check=False, env=environment, stdout=subprocess.DEVNULL)
        if found := shutil.which("chromium"):
            return found
        stop("expected that apt-get installs chromium, which it did not; see its messages above")
    stop("expected Chromium to open the HTML report, found none; install it (Debian: apt-get install chromium)")


class Checks:
    """Counts what holds and tells what does not."""

    def __init__(self):
        self.done, self.failed = 0, 0

    def equal(self, what, found, expected):
        self.done += 1
        if found != expected:
            self.failed += 1
            print(f"browser: {what}: expected {expected!r}, found {found!r}")

    def true(self, what, found):
        self.equal(what, bool(found), True)


# The texts of a column of the rows that are shown, of the table in a section.
COLUMN = """[...document.querySelectorAll("#{section} table.rows tbody tr")].filter(row => row.offsetHeight > 0)
            .map(row => row.cells[{column}].textContent.trim())"""


def column(browser, section, number):
    return browser.evaluate(COLUMN.format(section=section, column=number))


def check_shown(checks, browser, name):
    """The page is there, with style and script, and says nothing on its own."""
    browser.call("Emulation.setDeviceMetricsOverride", width=1200, height=900, deviceScaleFactor=1, mobile=False)
    checks.true(f"{name}: totals", browser.evaluate('document.querySelectorAll("#totals tbody tr").length > 2'))
    checks.true(f"{name}: rows", browser.evaluate('document.querySelectorAll("table.rows tbody tr").length > 0'))
    checks.true(f"{name}: the style is applied", browser.evaluate('getComputedStyle(document.body).maxWidth != "none"'))
    checks.equal(f"{name}: the script ran", browser.evaluate('document.querySelectorAll("nav input").length'), 1)
    # A page as wide as its window: what is wider scrolls by itself.
    for width in (1200, 390):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        checks.equal(f"{name}: wider than {width}",
                     browser.evaluate(f"Math.max(0, document.documentElement.scrollWidth - {width})"), 0)
    browser.call("Emulation.clearDeviceMetricsOverride")
    checks.equal(f"{name}: complaints", browser.complaints(), [])


def check_links(checks, browser, name):
    """Links go to web pages or into the page, and tell nobody where they were."""
    outside = '[...document.links].filter(one => !one.getAttribute("href").startsWith("#"))'
    protocols = browser.evaluate(f"[...new Set({outside}.map(one => one.protocol))].sort()")
    # A colon alone: what the browser cannot read for a URL, such as a host with brackets; it leads nowhere.
    checks.true(f"{name}: links to {protocols}", set(protocols) <= {"http:", "https:", ":"})
    checks.equal(f"{name}: links without rel",
                 browser.evaluate(f'{outside}.filter(one => one.rel != "noreferrer nofollow noopener").length'), 0)
    foreign = "img, iframe, object, embed, form, base, link, [style]"
    checks.equal(f"{name}: what strangers could bring",
                 browser.evaluate(f'document.querySelectorAll("{foreign}").length'), 0)


def check_sorting(checks, browser, name, section):
    def click(number):
        browser.evaluate(f'document.querySelectorAll("#{section} thead th")[{number}].querySelector("button").click()')

    def numbers(of_column):
        return [float(text.split()[0].replace(",", "")) for text in column(browser, section, of_column)]

    before = column(browser, section, 0)
    checks.true(f"{name}: rows of {section}", len(before) > 2)
    for number in (1, 5):
        click(number)
        found = numbers(number)
        checks.equal(f"{name}: column {number}, largest first", found, sorted(found, reverse=True))
        click(number)
        checks.equal(f"{name}: column {number}, smallest first", numbers(number), sorted(found))
        checks.equal(f"{name}: columns that are told as sorted",
                     browser.evaluate(f'document.querySelectorAll("#{section} [aria-sort]").length'), 1)
    click(0)
    checks.equal(f"{name}: by name", column(browser, section, 0), sorted(before))
    checks.equal(f"{name}: no row is lost", sorted(column(browser, section, 0)), sorted(before))


def check_filter(checks, browser, name, section, text):
    def write(value):
        browser.evaluate(f"""{{ const field = document.querySelector("nav input"); field.value = {value!r};
                             field.dispatchEvent(new Event("input")); }}""")

    before = column(browser, section, 0)
    write(text.upper())
    checks.equal(f"{name}: rows with {text}", column(browser, section, 0), [row for row in before if text in row])
    write("no row has this")
    checks.equal(f"{name}: rows with nothing", column(browser, section, 0), [])
    checks.true(f"{name}: totals stay", browser.evaluate('document.querySelector("#totals").offsetHeight > 0'))
    write("")
    checks.equal(f"{name}: all rows again", column(browser, section, 0), before)


def check_chart(checks, browser, name):
    """One bar for each row, as high as its number says."""
    bars = '[...document.querySelectorAll("#time rect.all")]'
    heights = browser.evaluate(f"{bars}.map(bar => bar.getBoundingClientRect().height)")
    browser.evaluate('document.querySelector("#time details").open = true')
    counts = [int(text.replace(",", "")) for text in column(browser, "time", 1)]
    checks.true(f"{name}: rows over time", len(counts) > 31)
    ratio = max(heights) / max(counts)
    off = [round(height - count * ratio) for height, count in zip(heights, counts, strict=True)]
    checks.equal(f"{name}: bars that are too high or too low", [one for one in off if one], [])


def check_without_script(checks, browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    checks.true("without script: rows", len(column(browser, "host", 0)) > 2)
    controls = browser.evaluate('document.querySelectorAll("button, input").length')
    checks.equal("without script: controls that do nothing", controls, 0)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def check_colors(checks, browser, page):
    browser.open(page)
    color = "getComputedStyle(document.body).backgroundColor"
    colors = []
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colors.append(browser.evaluate(color))
    browser.call("Emulation.setEmulatedMedia", features=[])
    checks.true(f"light and dark: {colors}", colors[0] != colors[1])
    browser.call("Emulation.setEmulatedMedia", media="print")
    checks.equal("on paper: the bar of links", browser.evaluate('document.querySelector("nav").offsetHeight'), 0)
    browser.call("Emulation.setEmulatedMedia", media="")


def check_policy(checks, browser, page):
    """What should get into the page all the same does not run."""
    browser.open(page)
    browser.evaluate("""{
        const script = document.createElement("script");
        script.textContent = "window.harmed = 1";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.harmed = 2'>");
        document.body.insertAdjacentHTML("beforeend", "<a id=trap href='javascript:window.harmed = 3'>x</a>");
        document.querySelector("#trap").click();
    }""")
    # Handlers and links run after what is running now.
    browser.call("Runtime.evaluate", expression="new Promise(done => setTimeout(done, 200))", awaitPromise=True)
    checks.equal("the policy: what ran", browser.evaluate("window.harmed"), None)
    checks.true("the policy: breaches are told", len(browser.complaints()) >= 3)


def write_reports(undust, folder):
    """Reports of samples and of hostile lines: name, file."""
    scripts = folder / "<img src=x onerror=alert(1)>.txt"
    scripts.write_bytes(SCRIPTS * 2)
    crawl = folder / "crawl.log"
    samples = DATA / "samples"
    environment = {name: value for name, value in os.environ.items() if name != "UNDUST_CONFIG"}

    def run(*arguments):
        done = subprocess.run([undust, *map(str, arguments)], capture_output=True, check=False, env=environment)
        if done.returncode != 0:
            stop(f"undust {arguments}: status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")

    run("generate", "site", "--sites", "2", "--seed", "5", "--to", "combined", "-o", crawl)
    reports = {}
    for name, arguments in {
        "a list": [samples / "reddit.txt"],
        "a log": [crawl],
        "an index": ["-p", "aggressive", samples / "captures.cdx", samples / "captures.cdxj"],
        "a list of every rule": ["-p", "aggressive", samples / "messy.txt"],
        "scripts": ["--top", "99", scripts],
        "scripts, line by line": ["--top", "99", "-p", "lines", scripts],
        "hostile lines": ["--top", "200", "-p", "whatwg", DATA / "hostile/nasty.bin.zst",
                          DATA / "hostile/wpt_inputs.txt"],
    }.items():
        reports[name] = folder / f"{len(reports)}.html"
        run("report", "--to", "html", "-q", "-o", reports[name], *arguments)
    return reports


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--undust", required=True, type=Path, help="the binary")
    undust = parser.parse_args().undust.resolve()
    binary = browser_binary()
    checks = Checks()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        reports = write_reports(undust, folder)
        profile = folder / "profile"
        profile.mkdir()
        browser = Browser(binary, str(profile))
        try:
            for report, page in reports.items():
                browser.open(page)
                check_shown(checks, browser, report)
                check_links(checks, browser, report)
            for report in ("a list", "a log"):
                browser.open(reports[report])
                check_sorting(checks, browser, report, "section")
                check_filter(checks, browser, report, "section", "www.")
            browser.open(reports["a log"])
            check_chart(checks, browser, "a log")
            check_without_script(checks, browser, reports["a list"])
            check_colors(checks, browser, reports["a log"])
            check_policy(checks, browser, reports["a list"])
        finally:
            browser.close()
    print(f"browser: {checks.done} checks, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrowserError as error:
        stop(error)
