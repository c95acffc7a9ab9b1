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
    checks.equal(f"{name}: the referrer", browser.evaluate('document.querySelector("meta[name=referrer]")?.content'),
                 "no-referrer")
    checks.equal(f"{name}: the script ran", browser.evaluate('document.querySelectorAll("nav input").length'), 1)
    unnamed = '[...document.querySelectorAll("table, [role=region]")].filter(one => !one.ariaLabel && !(' \
              'document.getElementById(one.getAttribute("aria-labelledby"))?.textContent))'
    checks.equal(f"{name}: tables without a name", browser.evaluate(f"{unnamed}.length"), 0)
    double = """[...document.querySelectorAll("thead tr")].filter(row =>
                new Set([...row.cells].map(cell => cell.textContent)).size != row.cells.length)"""
    checks.equal(f"{name}: tables with two columns of one name", browser.evaluate(f"{double}.length"), 0)
    # A page as wide as its window: what is wider scrolls by itself. Sections that are out of sight are laid out, too.
    browser.evaluate('document.querySelectorAll("section").forEach(one => one.style.contentVisibility = "visible")')
    for width in (1200, 390):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        wider = """[document.documentElement, ...document.querySelectorAll("section")]
                   .filter(one => one.scrollWidth > one.clientWidth).map(one => one.id || one.tagName)"""
        checks.equal(f"{name}: wider than {width}", browser.evaluate(wider), [])
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.evaluate('document.querySelectorAll("section").forEach(one => one.removeAttribute("style"))')
    checks.equal(f"{name}: complaints", browser.complaints(), [])


def check_links(checks, browser, name):
    """Links go to web pages or into the page, and tell nobody where they were."""
    outside = '[...document.links].filter(one => !one.getAttribute("href").startsWith("#"))'
    protocols = browser.evaluate(f"[...new Set({outside}.map(one => one.protocol))].sort()")
    # A colon alone: what the browser cannot read for a URL, such as a host with brackets; it leads nowhere.
    checks.true(f"{name}: links to {protocols}", set(protocols) <= {"http:", "https:", ":"})
    checks.equal(f"{name}: links without rel",
                 browser.evaluate(f'{outside}.filter(one => one.rel != "noreferrer nofollow noopener").length'), 0)
    # Empty where the checks have had their own.
    foreign = "img, iframe, object, embed, form, base, link, [style]:not([style=''])"
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


def write_filter(browser, value):
    browser.evaluate(f"""{{ const field = document.querySelector("nav input"); field.value = {value!r};
                         field.dispatchEvent(new Event("input")); }}""")


# Of the rows of all tables, folded ones as well, how many are not hidden.
NOT_HIDDEN = '[...document.querySelectorAll("table.rows tbody tr")].filter(row => !row.hidden).length'


def check_filter(checks, browser, name, section, text):
    before = column(browser, section, 0)
    folded = "[...document.querySelectorAll('section details')].map(one => one.open)"
    was_open = browser.evaluate(folded)
    links = '[...document.querySelectorAll("nav a")].filter(one => one.offsetHeight > 0).map(one => one.hash.slice(1))'
    sections = '[...document.querySelectorAll("section")].filter(one => one.offsetHeight > 0).map(one => one.id)'
    all_links = browser.evaluate(links)
    write_filter(browser, text.upper())
    checks.equal(f"{name}: rows with {text}", column(browser, section, 0),
                 [row for row in before if text in row.lower()])
    checks.equal(f"{name}: rows that are told",
                 int(browser.evaluate('document.querySelector("nav [role=status]").textContent').split()[0]),
                 browser.evaluate(NOT_HIDDEN))
    write_filter(browser, "no row has this")
    checks.equal(f"{name}: rows with nothing", column(browser, section, 0), [])
    checks.equal(f"{name}: no row is told",
                 browser.evaluate('document.querySelector("nav [role=status]").textContent'), "0 rows")
    checks.equal(f"{name}: sections without rows", browser.evaluate(sections), ["totals", "terms"])
    checks.equal(f"{name}: links to them", browser.evaluate(links), ["totals"])
    write_filter(browser, "")
    checks.equal(f"{name}: all rows again", column(browser, section, 0), before)
    checks.equal(f"{name}: all links again", browser.evaluate(links), all_links)
    checks.equal(f"{name}: folded again", browser.evaluate(folded), was_open)


def check_filter_words(checks, browser):
    """Names and URLs are searched, each by itself; what is folded opens where it has the text."""
    for wanted, expected in [("docs", ["a.test/Docs/"]), ("DOCS", ["a.test/Docs/"]), ("a.test/docs/4", []), ("8", []),
                             ("b1.test", ["b1.test/"])]:
        write_filter(browser, wanted)
        checks.equal(f"names: rows with {wanted}", column(browser, "section", 0), expected)
    # The end of a URL, and the start of the one below it.
    write_filter(browser, "firsthttp")
    checks.equal("names: rows with parts of two URLs", browser.evaluate(NOT_HIDDEN), 0)
    folded = '[...document.querySelectorAll("#rules details")].map(one => one.open)'
    checks.equal("names: examples are folded", browser.evaluate(f"{folded}.includes(true)"), False)
    write_filter(browser, "/docs/third")
    checks.equal("names: the examples with the text open", browser.evaluate(f"{folded}.includes(true)"), True)
    write_filter(browser, "")
    checks.equal("names: they close again", browser.evaluate(f"{folded}.includes(true)"), False)


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
    for bars in ("all", "new"):
        boxes = browser.evaluate(f"""{{ const all = [...document.querySelectorAll("#time rect.{bars}")];
            const around = all[0].closest("svg").getBoundingClientRect();
            all.map(bar => bar.getBoundingClientRect()).map(box =>
                [(box.left - around.left) / around.width, box.width / around.width, box.bottom - around.bottom]); }}""")
        width = boxes[0][1] / .8
        at = [left / width - .1 for left, _, _ in boxes]
        checks.true(f"{name}: bars {bars} begin on the left", abs(at[0]) < .01)
        checks.true(f"{name}: bars {bars} end on the right", abs((at[-1] + 1) * width - 1) < .01)
        steps = [after - before for before, after in zip(at, at[1:])]
        checks.equal(f"{name}: bars {bars} that are no whole number of slots apart",
                     [step for step in steps if step < .9 or abs(step - round(step)) > .05], [])
        # The line below them is part of the box.
        checks.equal(f"{name}: bars {bars} that do not stand on the ground",
                     [bottom for _, _, bottom in boxes if abs(bottom) > 2], [])


def check_without_script(checks, browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    checks.true("without script: rows", len(column(browser, "host", 0)) > 2)
    controls = browser.evaluate('document.querySelectorAll("button, input").length')
    checks.equal("without script: controls that do nothing", controls, 0)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


# Contrast by WCAG 2 of two colors as browsers tell them, `rgb(1, 2, 3)`.
CONTRAST = """((one, two) => {
    const light = color => color.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255)
        .map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [.2126, .7152, .0722][at], 0);
    const [less, more] = [light(one), light(two)].sort((a, b) => a - b);
    return (more + .05) / (less + .05);
})"""

# What is told apart by color: a style of an element, that behind it, and the least contrast.
SEEN = [
    ("body", "color", "body", 7), ("h2", "color", "body", 7), ("p", "color", "body", 4.5),
    ("figcaption", "color", "body", 4.5), ("#clusters mark", "color", "#clusters mark", 4.5),
    ("#clusters a", "textDecorationColor", "body", 3), ("nav input", "borderTopColor", "body", 3),
    ("rect.unique", "fill", "body", 3), ("rect.same", "fill", "body", 3), ("rect.other", "fill", "body", 3),
    ("rect.new", "fill", "body", 3), ("rect.all", "fill", "body", 3), (".share svg", "backgroundColor", "body", 3),
]


def check_colors(checks, browser, page):
    browser.open(page)
    color = "getComputedStyle(document.body).backgroundColor"
    colors = []
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colors.append(browser.evaluate(color))
        for element, style, behind, least in SEEN:
            one, two = (f"getComputedStyle(document.querySelector('{name}')).{of}"
                        for name, of in ((element, style), (behind, "backgroundColor")))
            found = browser.evaluate(f"{CONTRAST}({one}, {two})")
            checks.true(f"{scheme}: {style} of {element}: contrast {found:.2f}, least {least}", found >= least)
    browser.call("Emulation.setEmulatedMedia", features=[])
    checks.true(f"light and dark: {colors}", colors[0] != colors[1])


def check_paper(checks, browser, page):
    """All that is read is there on paper, and nothing that is for clicks."""
    browser.open(page)
    seen = "[...document.querySelectorAll('{}')].filter(one => one.checkVisibility() && one.offsetHeight > 0).length"
    periods = browser.evaluate(seen.format("#time tbody tr"))
    checks.equal("on a screen: rows of a folded table", periods, 0)
    browser.call("Emulation.setEmulatedMedia", media="print")
    for what in ("main", "header", "footer", "#totals", "#rules tbody tr", "#host tbody tr", "#clusters tbody tr"):
        checks.true(f"on paper: {what}", browser.evaluate(seen.format(what)))
    checks.equal("on paper: rows of a folded table", browser.evaluate(seen.format("#time tbody tr")),
                 browser.evaluate('document.querySelectorAll("#time tbody tr").length'))
    for what in ("nav", "summary", ".cards details"):
        checks.equal(f"on paper: {what}", browser.evaluate(seen.format(what)), 0)
    # With a box of its own it keeps the headings from being repeated on each page.
    checks.equal("on paper: buttons of headings",
                 browser.evaluate("getComputedStyle(document.querySelector('thead button')).display"), "contents")
    browser.call("Emulation.setEmulatedMedia", media="")


def check_bar_of_links(checks, browser, page):
    """Where the bar stays in sight, it leaves the headings that its links lead to in sight as well."""
    browser.open(page)
    write_filter(browser, "e")
    bar = 'document.querySelector("nav")'
    for width in (375, 600, 740, 800, 992, 993, 1100, 1200):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        covered = browser.evaluate(f"""getComputedStyle({bar}).position != "sticky" ? 0 : Math.max(0,
            {bar}.offsetHeight - parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop))""")
        checks.equal(f"the bar of links: what it covers of a window of {width}", covered, 0)
    browser.call("Emulation.clearDeviceMetricsOverride")
    write_filter(browser, "")


def check_policy(checks, browser, page):
    """What should get into the page all the same does not run, and loads nothing."""
    browser.open(page)
    browser.evaluate("""{
        window.breaches = [];
        document.addEventListener("securitypolicyviolation", event => window.breaches.push(event.effectiveDirective));
        const script = document.createElement("script");
        script.textContent = "window.harmed = 1";
        document.body.append(script);
        const style = document.createElement("style");
        style.textContent = "body { max-width: 1px }";
        document.body.append(style);
        for (const markup of ["<img src=x onerror='window.harmed = 2'>", "<iframe src=x></iframe>",
                              "<link rel=stylesheet href=x>", "<video src=x></video>", "<object data=x></object>",
                              "<form id=form action='http://a.test/'></form>", "<base href='http://a.test/'>",
                              "<a id=trap href='javascript:window.harmed = 3'>x</a>"])
            document.body.insertAdjacentHTML("beforeend", markup);
        document.querySelector("#trap").click();
        document.querySelector("#form").submit();
        fetch("x").catch(() => {});
    }""")
    # Handlers and links run after what is running now.
    browser.call("Runtime.evaluate", expression="new Promise(done => setTimeout(done, 200))", awaitPromise=True)
    checks.equal("the policy: what ran", browser.evaluate("window.harmed"), None)
    checks.true("the policy: breaches are told", len(browser.complaints()) >= 3)
    for directive in ("base-uri", "connect-src", "form-action", "frame-src", "img-src", "media-src", "object-src",
                      "script-src-elem", "style-src-elem"):
        checks.true(f"the policy: {directive}", browser.evaluate(f"window.breaches.includes('{directive}')"))


def write_reports(undust, folder):
    """Reports of samples and of hostile lines: name, file."""
    scripts = folder / "<img src=x onerror=alert(1)>.txt"
    scripts.write_bytes(SCRIPTS * 2)
    names = folder / "names.txt"
    # What the filter is to tell apart: upper case, one cell and the next, examples that are folded.
    names.write_text("".join(f"http://a.test/Docs/{page}\nhttp://A.test/Docs/{page}\n"
                             for page in ("first", "second", "third", "fourth"))
                     + "http://b1.test/?n=2\nhttp://b1.test/?n=2\n")
    crawl = folder / "crawl.log"
    samples = DATA / "samples"
    environment = {name: value for name, value in os.environ.items() if name != "UNDUST_CONFIG"}

    def run(*arguments):
        try:
            done = subprocess.run([undust, *map(str, arguments)], capture_output=True, check=False, env=environment)
        except OSError as error:
            stop(f"--undust: expected a program that runs, found {error}")
        if done.returncode != 0:
            stop(f"undust {arguments}: status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")

    run("generate", "site", "--sites", "2", "--seed", "5", "--to", "combined", "-o", crawl)
    reports = {}
    for name, arguments in {
        "a list": [samples / "reddit.txt"],
        "a log": [crawl],
        "an index": ["-p", "aggressive", samples / "captures.cdx", samples / "captures.cdxj"],
        "a list of every rule": ["-p", "aggressive", samples / "messy.txt"],
        "names": [names],
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
            browser.open(reports["names"])
            check_filter_words(checks, browser)
            check_colors(checks, browser, reports["a log"])
            check_paper(checks, browser, reports["a log"])
            check_bar_of_links(checks, browser, reports["a log"])
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
