"""Writes the distinct lines of LIST to OUT with polars' streaming engine: polars_unique.py any|first LIST OUT.

`first` keeps input order. The number of threads comes from POLARS_MAX_THREADS.
"""

import sys

import polars

order, lines, out = sys.argv[1:]
frame = polars.scan_lines(lines).unique(maintain_order=order == "first")
frame.sink_csv(out, include_header=False, quote_style="never")
