"""The table of the workload `hits`: its statements, and its rows as a file."""

from __future__ import annotations

from pathlib import Path

from assay import native
from assay.core.errors import RunError


def hits_table(rows: int, *, seed: int = 1, to: str | Path | None = None) -> native.HitsTable:
    """What `hits` asks of how many rows; with `to`, the rows too, tabs between their columns.

    The seed of studies is 1. Raises InputError (too few rows, a file that cannot be written) and
    RunError.
    """
    request = {"rows": rows, "seed": seed, "to": None if to is None else str(to)}
    table = native.ask("hits", request)
    if not isinstance(table, native.HitsTable) or not table.complete:
        raise RunError("the rows were not written to the end")
    return table
