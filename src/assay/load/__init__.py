"""Load on a server that somebody started: what `assay load` does, for Python too.

`run_load` runs one workload once; `find_limit` looks for the highest rate that
keeps a promise about latency. Both are thin over `assayer load`.
"""

from assay.core.address import ServerAddress, parse_url
from assay.load.ask import ask
from assay.load.hits import hits_table
from assay.load.limit import LoadLimit, Promise, find_limit, parse_promise
from assay.load.run import Load, check, clean, prepare, run_load
from assay.load.serve import serve
from assay.load.summary import Summary, second_line, summary_lines
from assay.load.tpcc import TpccReport

__all__ = [
    "Load",
    "LoadLimit",
    "Promise",
    "ServerAddress",
    "Summary",
    "TpccReport",
    "ask",
    "check",
    "clean",
    "find_limit",
    "hits_table",
    "parse_promise",
    "parse_url",
    "prepare",
    "run_load",
    "second_line",
    "serve",
    "summary_lines",
]
