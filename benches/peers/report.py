"""Prints results as Markdown. Knows nothing of how they came about."""

# Classes of variants in the order of the table, and what each is.
CLASSES = {
    "rfc": "case, default port, escapes, dot segments, empty path",
    "safe": "also fragment, tracking parameters, session ids, order and encoding of parameters",
    "heuristic": "also www, scheme, index files, trailing and double slashes",
}


def number(value):
    """Three digits that mean something, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(ratio):
    """Median and range of a ratio; a dash where there is none."""
    if ratio is None:
        return "–"
    median = number(ratio["median"])
    if ratio["min"] == ratio["max"]:
        return median
    return f"{median} [{number(ratio['min'])} .. {number(ratio['max'])}]"


def truth(row, what):
    """What the rival and undust find or lose of one class of lines, as `rival / undust`."""
    if not row.get("truth"):
        return "–"
    if what == "wrong":
        return f"{row['truth']['wrong']:,} / {row['undust_truth']['wrong']:,}"
    return " / ".join(f"{100 * row[side][what]:.1f} %" for side in ("truth", "undust_truth"))


def peers_table(rows):
    """The table of rivals, with the command lines of its rows below it."""
    head = ["", "rival", "version", "what makes lines equal", "order", "lines in", "lines out", "undust",
            "wall", "cpu", "peak memory", "anonymous", *(f"{name} found" for name in CLASSES), "wrong merges"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    commands = []
    for at, row in enumerate(rows, 1):
        if "failed" in row:
            cells = [row["rival"], row["version"], f"not measured: {row['failed']}"] + [""] * (len(head) - 4)
        else:
            out = f"{row['lines_out']:,}; {row['check']}" if row["check"] else f"{row['lines_out']:,}"
            cells = [row["rival"], row["version"], row["work"], row["order"], f"{row['lines_in']:,}", out,
                     f"{row['undust_lines_out']:,}"]
            cells += [spread(row["ratio"][what]) for what in ("wall", "cpu", "rss", "anonymous")]
            cells += [truth(row, what) for what in (*CLASSES, "wrong")]
            commands.append(f"{at}. `{row['command']}`  \n   against `{row['undust_command']}`")
        lines.append(f"| {at} | " + " | ".join(cells) + " |")
    return "\n".join(lines + ["", "Command lines:", ""] + commands)


def growth_table(rows):
    """How cost grows with the list."""
    lines = ["| lines | command | wall s | wall ns/line | cpu ns/line | peak B/line | anonymous B/line |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        if "failed" in row:
            lines.append(f"| {row['lines']:,} | {row['name']} | not measured: {row['failed']} | | | | |")
            continue
        cells = [f"{row['lines']:,}", row["name"], spread(row["wall_seconds"])]
        cells += [number(row[what] / row["lines"]) for what in ("wall_ns", "cpu_ns", "rss_bytes", "anonymous_bytes")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(result):
    """The whole record."""
    machine, plan = result["machine"], result["plan"]
    parts = [
        "# undust and its peers",
        "",
        f"{result['date']}, commit {result['commit']}, undust {result['undust']}. {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}; "
        f"load when it began {machine['load']:.2f}.",
    ]
    if plan["note"]:
        parts += ["", plan["note"]]
    parts += [
        "",
        f"Every cell is rival ÷ undust: the median of {plan['runs']} pairs run in turn after a warm-up, with the "
        "smallest and the largest; above 1, undust needs less. Peak memory is that of the process and includes the "
        "pages of a mapped input; anonymous memory does not, and is from the warm-ups. Lists of "
        f"{plan['lines']:,} lines for {plan['threads']} threads and of {plan['small_lines']:,} lines for rivals of "
        f"one thread, both from `undust generate list --seed {plan['seed']}`.",
        "",
        f"Found and wrong merges are `rival / undust`, over the small list, which has {result['pages']:,} pages: the "
        "share of variants that get the key of their page's first line, and the lines whose key another page had "
        "before. Classes of variants, by what separates them from the first line: "
        + "; ".join(f"*{name}*: {what}" for name, what in CLASSES.items()) + ". "
        "The generator spells variants with what undust knows of, so undust's own share is no surprise; the shares "
        "tell rivals apart.",
        "",
        peers_table(result["peers"]),
    ]
    if result["growth"]:
        parts += ["", "## Growth", "", growth_table(result["growth"])]
    if result["missing"]:
        parts += ["", "## Not measured", ""] + [f"- {name}: {why}" for name, why in result["missing"].items()]
    return "\n".join(parts) + "\n"
