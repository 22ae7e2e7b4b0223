"""Load that another program makes: its command, and where the numbers stand that it prints."""

from __future__ import annotations

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

PARSERS = (
    "sysbench",
    "wrk",
    "wrk2",
    "oha",
    "k6",
    "pgbench",
    "memtier_benchmark",
    "redis-benchmark",
    "ycsb",
    "hammerdb",
    "fio",
)

GENERATOR = Workload(
    kind="generator",
    text="the load of another program, which is run to its end in each run; what it prints is "
    "measured",
    parameters=by_name(
        (
            Parameter("command", "words", "the generator, as words that no shell reads"),
            Parameter("parser", "choice", "the tool whose output it prints", choices=PARSERS),
            Parameter("value", "any", "where a number stands: an expression or a path in JSON"),
            Parameter("unit", "any", "the unit of that number", "value"),
            Parameter("better", "choice", "which of them is better", "higher", ("higher", "lower")),
            Parameter("prepare", "words", "a command before it, such as one that loads data"),
            Parameter("patience", "duration", "a generator that takes longer fails", 600.0),
        )
    ),
    writes=Workload.always,
)
