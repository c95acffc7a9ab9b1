"""The URLs of a file, found by readers that share no line with undust: its lines, with an empty text for a line
that has none, as `undust canon -p lines` writes them."""

import base64
import csv
import gzip
import io
import json
import re
import xml.etree.ElementTree

import apachelogs
import duckdb
import pyarrow.parquet
import warcio.archiveiterator
import zstandard

# A line may have a mebibyte.
csv.field_size_limit(1 << 24)


def lines_of(path):
    """The lines of a file, packed or not."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    return data.removesuffix(b"\n").split(b"\n")


def lines(path):
    """The URLs of a list; the profile `lines` takes every byte of a line as part of it."""
    return [line.decode(errors="surrogateescape") for line in lines_of(path)]


def texts_of(path):
    return [line.decode(errors="surrogateescape").removesuffix("\r") for line in lines_of(path)]


# -- Logs


def target_of(request):
    """The target of a request line; nothing where it is of no page."""
    method, _, rest = (request or "").partition(" ")
    target, _, protocol = rest.rpartition(" ")
    if not protocol.startswith("HTTP/"):
        target = rest
    if not method.isalpha() or method == "CONNECT":
        return ""
    return target


def combined(path):
    """By apachelogs. It takes no user name with blanks, so those are taken out before."""
    parser = apachelogs.LogParser(apachelogs.COMBINED)
    for line in texts_of(path):
        head, bracket, tail = line.partition(" [")
        words = head.split(" ")
        head = " ".join(words[:2] + ["_".join(words[2:])])
        yield target_of(parser.parse(head + bracket + tail).request_line)


def common(path):
    """By apachelogs."""
    parser = apachelogs.LogParser(apachelogs.COMMON)
    return [target_of(parser.parse(line).request_line) for line in texts_of(path)]


def vhost(path):
    """By apachelogs. The scheme follows from the port."""
    parser = apachelogs.LogParser("%v:%p " + apachelogs.COMBINED)
    for line in texts_of(path):
        entry = parser.parse(line)
        scheme = "https" if entry.server_port == 443 else "http"
        target = target_of(entry.request_line)
        yield f"{scheme}://{entry.virtual_host}:{entry.server_port}{target}" if target else ""


def access(path):
    """By apachelogs, told the format of this one."""
    form = '%h %l %u %t "%r" %>s %b "%{Host}i" "%{Referer}i" - "%{User-Agent}i" "%{X-Forwarded-For}i" %{up}e'
    parser = apachelogs.LogParser(form)
    for line in texts_of(path):
        # What the servers behind have said is several words, which apachelogs would take for an error.
        head, quote, tail = line.rpartition('" ')
        entry = parser.parse(head + quote + tail.replace(" ", "_"))
        yield "http://" + entry.headers_in["Host"] + target_of(entry.request_line)


def squid(path):
    for line in texts_of(path):
        method, url = line.split()[5:7]
        yield "" if method == "CONNECT" or url.startswith("error:") else url


def haproxy(path):
    """By the manual's list of fields; the first captured header is the host."""
    request = re.compile(r' \S+:\d+ \[[^]]+\] (\S+) \S+/\S+ [-+/\d]+ -?\d+ .* \{([^|}]*)[^}]*\} \{.*\} "([^"]*)"$')
    for line in texts_of(path):
        found = request.search(line)
        target = found and found[3].split()[1:2]
        if not target:
            yield ""
            continue
        url = re.sub(rb"#(..)", lambda escape: bytes([int(escape[1], 16)]), target[0].encode()).decode()
        scheme = "https" if found[1].endswith("~") else "http"
        yield url if "://" in url else f"{scheme}://{found[2]}{url}"


def logfmt(path):
    """By one regular expression for all pairs of a line."""
    pair = re.compile(r'(?:^|(?<=\s))([\w.@-]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))')
    for line in texts_of(path):
        pairs = {name: json.loads(f'"{quoted}"') if quoted else bare for name, quoted, bare in pair.findall(line)}
        if "url" in pairs or "path" not in pairs:
            yield pairs.get("url", "")
            continue
        is_encrypted = pairs.get("protocol") == "https" or pairs.get("tls") == "true"
        yield f"http{'s' * is_encrypted}://{pairs['host']}{pairs['path']}"


def alb(path):
    for line in texts_of(path):
        request = re.search(r'"((?:[^"\\]|\\.)*)"', line)[1]
        request = re.sub(r"\\x(..)", lambda found: chr(int(found[1], 16)), request)
        request = re.sub(r"\\(.)", r"\1", request)
        yield "" if request.startswith("- ") else target_of(request)


def headed(path, separator):
    """The rows of a log whose header names the columns; `None` for lines that are none."""
    names = []
    for line in texts_of(path):
        if line.startswith("#"):
            if line.startswith("#Fields:"):
                names = line.split()[1:]
            yield None
        else:
            yield dict(zip(names, line.split(separator), strict=True))


def page_of(host, path, query="-"):
    """The URL of a request; nothing without a path. `*` is of no host, and a proxy is asked for a whole URL."""
    if path in ("", "*") or path.startswith("http://"):
        return path
    return host + path if query == "-" else f"{host}{path}?{query}"


def w3c(path):
    for row in headed(path, " "):
        if row is None:
            yield ""
        else:
            yield page_of("", row["cs-uri-stem"], row["cs-uri-query"])


def cloudfront(path):
    """CloudFront escapes the percent signs of a request once more."""
    for row in headed(path, "\t"):
        if row is None:
            yield ""
            continue
        url = page_of(f"{row['cs-protocol']}://{row['x-host-header']}", row["cs-uri-stem"], row["cs-uri-query"])
        yield re.sub("%25(?=[0-9A-Fa-f]{2})", "%", url)


def crawllog(path):
    for line in texts_of(path):
        yield "" if line.startswith(("metadata://", "filedesc://")) else line.split()[3]


# -- JSON and tables


def jsonl(path):
    """By Python's json."""
    for line in texts_of(path):
        yield json.loads(line)["url"]


def jsonl_by_duckdb(path):
    rows = duckdb.sql(f"SELECT url FROM read_json('{path}', format = 'newline_delimited')")
    return [url for (url,) in rows.fetchall()]


def caddy(path):
    for line in texts_of(path):
        request = json.loads(line)["request"]
        scheme = "https" if "tls" in request else "http"
        yield page_of(f"{scheme}://{request['host']}", request["uri"])


def nginx_json(path):
    for line in texts_of(path):
        row = json.loads(line)
        yield page_of("http://" + row["host"], target_of(row["request"]))


def table(path, column, delimiter, quotes=csv.QUOTE_MINIMAL):
    """By Python's csv. The header is a line without a URL."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file, delimiter=delimiter, quoting=quotes)
        at = [name.lstrip("#") for name in next(rows)].index(column)
        yield ""
        for row in rows:
            yield "" if row[at] == "-" else row[at]


def table_by_duckdb(path, column, delimiter, quote):
    rows = duckdb.sql(
        f"SELECT \"{column}\" FROM read_csv('{path}', header = true, all_varchar = true, delim = '{delimiter}',"
        f" quote = '{quote}', escape = '{quote}', comment = '')"
    )
    return [""] + [url if url != "-" else "" for (url,) in rows.fetchall()]


# -- Archives and their indexes


def cdx(path):
    """By the letters of the header."""
    letters = "N b a".split()
    for line in texts_of(path):
        if line.startswith(" CDX "):
            letters = line.split()[1:]
            yield ""
        else:
            yield line.split(" ")[letters.index("a")]


def cdx_by_duckdb(path):
    rows = duckdb.sql(
        f"SELECT * FROM read_csv('{path}', header = false, skip = 1, all_varchar = true, delim = ' ', quote = '')"
    )
    return [""] + [row[2] for row in rows.fetchall()]


def cdxj(path):
    for line in texts_of(path):
        yield "" if line.startswith("!") else json.loads(line.split(" ", 2)[2])["url"]


def cdx_json(path):
    """By Python's json, the whole answer at once; undust reads a line at a time. What follows the empty array, if there is
    one, is the key to resume with."""
    names, *rows = json.loads(path.read_bytes())
    yield ""
    end = rows.index([]) if [] in rows else len(rows)
    for row in rows[:end]:
        url = dict(zip(names, row, strict=True))["original"]
        yield "" if url == "-" else url
    yield from [""] * len(rows[end:])


def cdx_json_by_duckdb(path):
    rows = [row for (row,) in duckdb.sql(f"SELECT json FROM read_json_objects('{path}', format = 'array')").fetchall()]
    names, *rows = map(json.loads, rows)
    return [""] + [row[names.index("original")] if len(row) == len(names) else "" for row in rows]


def warc(path):
    """By warcio. It writes blanks of URLs as %20, which undust leaves alone."""
    with open(path, "rb") as file:
        for record in warcio.archiveiterator.ArchiveIterator(file):
            if record.rec_type in ("response", "resource", "revisit", "conversion"):
                yield record.rec_headers.get_header("WARC-Target-URI")


def arc(path):
    """By warcio, which takes the `filedesc` record for `arc_header`."""
    with open(path, "rb") as file:
        for record in warcio.archiveiterator.ArchiveIterator(file):
            if record.rec_type != "arc_header":
                yield record.rec_headers.get_header("uri")


def sitemap(path):
    """By Python's parser of XML, which knows no entities but those of XML."""
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    for entry in xml.etree.ElementTree.parse(path).getroot():
        loc = entry.find(space + "loc")
        yield "" if loc is None else (loc.text or "").strip()


def parquet(path, column):
    """By Arrow."""
    return [url or "" for url in pyarrow.parquet.read_table(path, columns=[column])[column].to_pylist()]


def parquet_by_duckdb(path, column):
    return [url or "" for (url,) in duckdb.sql(f"SELECT \"{column}\" FROM '{path}'").fetchall()]


# -- What undust writes: the names of the columns, then rows of bytes, numbers and nothing


def plain(names, rows):
    """Numbers as text and nothing as nothing, so that forms with kinds and forms without are alike."""
    def same(value):
        return str(value).encode() if isinstance(value, int) else value or None
    return [names] + [[same(value) for value in row] for row in rows]


def written_tsv(path):
    escapes = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}

    def undone(cell):
        first, *parts = re.split(rb"\\(.)", cell)
        for at in range(0, len(parts), 2):
            first += escapes[parts[at]] + parts[at + 1]
        return first
    comment, header, *rows = path.read_bytes().removesuffix(b"\n").split(b"\n")
    assert comment.startswith(b"# undust ")
    names = header.decode().split("\t")
    return plain(names, [[undone(cell) for cell in row.split(b"\t")] for row in rows])


def written_csv(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        assert next(file).startswith("# undust ")
        names, *rows = csv.reader(file, strict=True)
    return plain(names, [[cell.encode(errors="surrogateescape") for cell in row] for row in rows])


def exact(text, raw):
    """The bytes of a value, from those that follow it if there are any. They have to mean the same."""
    if text is None:
        return None
    if raw is not None:
        escaped = "".join(f"%{byte - 0xdc00:02X}" if (byte := ord(one)) & 0xff80 == 0xdc80 else one
                          for one in raw.decode(errors="surrogateescape"))
        assert escaped == text, (text, raw)
        return raw
    return text if isinstance(text, int) else text.encode()


def written_jsonl(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        told, *rows = map(json.loads, file)
    names = told["columns"]
    raw = ({name: base64.b64decode(row[name + "_b64"]) for name in names if name + "_b64" in row} for row in rows)
    return plain(names, [[exact(row[name], more.get(name)) for name in names] for row, more in zip(rows, raw)])


def written_columns(names, rows):
    """The columns of a table, those of exact bytes put in their places."""
    own = [name for name in names if not name.endswith("_raw")]
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    return plain(own, [[exact(row[name], row.get(name + "_raw")) for name in own] for row in rows])


def written_parquet(path):
    table = pyarrow.parquet.read_table(path)
    table.validate(full=True)
    told = pyarrow.parquet.read_metadata(path).metadata
    assert {b"undust", b"table", b"profile", b"rules"} <= told.keys(), told
    return written_columns(table.column_names, zip(*(column.to_pylist() for column in table.columns)))


def written_parquet_by_duckdb(path):
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    return written_columns(found.columns, found.fetchall())
