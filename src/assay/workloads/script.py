"""Scripts of a user's own: statements of SQL, commands of Redis, paths of an HTTP server."""

from __future__ import annotations

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

FILES, PREPARE = "files", "prepare"
"""Parameters that name files."""

SCRIPT = Workload(
    kind="script",
    text="scripts of your own, each operation one of them: SQL in pgbench's syntax, commands of "
    "Redis, paths",
    parameters=by_name(
        (
            Parameter(FILES, "words", 'the scripts, with weights: ["read.sql@9", "write.sql"]'),
            Parameter(PREPARE, "any", "a script that makes the data, once"),
            Parameter("scale", "count", "what :scale is, or {scale}", 1, low=1),
        )
    ),
    writes=Workload.always,
)
