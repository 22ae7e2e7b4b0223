"""How much memory a server itself says it will take from huge pages, running or not started yet."""

from __future__ import annotations

import os
from pathlib import Path

from assay import native
from assay.core.address import parse_url
from assay.core.errors import InputError, MissingError
from assay.host.sizing import (
    MARIADB_ASKS,
    MARIADB_WHOLE,
    MemoryFigure,
    mariadb_figure,
    postgresql_figure,
)
from assay.targets.servers.framework.process import run_as
from assay.targets.servers.postgresql import POSTGRESQL


def figure_at(url: str) -> MemoryFigure:
    """Of a server that runs: what its variables say. MissingError where it is none of the two."""
    target = parse_url(url)
    if target.protocol == "postgresql":
        (rows,) = native.ask_server(target.request(), ["SHOW shared_memory_size"])
        return postgresql_figure(str(rows[0][0]))
    if target.protocol == "mysql":
        names = ", ".join(f"'{name}'" for name in (*MARIADB_ASKS, MARIADB_WHOLE))
        ask = f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})"
        (rows,) = native.ask_server(target.request(), [ask])
        found = {str(name).lower(): int(str(value)) for name, value in rows}
        lacking = [name for name in MARIADB_ASKS if name not in found]
        if lacking:
            raise MissingError(
                f"{target} does not report {lacking[0]}", next_step="give --bytes instead"
            )
        return mariadb_figure(found)
    raise InputError(f"{target} takes no huge pages of a pool", next_step="give --bytes instead")


def figure_of(data: Path) -> MemoryFigure:
    """Of a PostgreSQL that is not running, from its data directory: `postgres -C` says it.

    RunError with PostgreSQL's words if it cannot, as while the server runs.
    """
    binary = POSTGRESQL.programs[0].find()
    if binary is None:
        raise MissingError("postgres is not here", next_step="assay list targets")
    if not (data / "PG_VERSION").exists():
        raise InputError(
            f"{data} is no data directory of PostgreSQL", next_step="give the folder of PG_VERSION"
        )
    command = [str(binary), "-C", "shared_memory_size", "-D", str(data.resolve())]
    user = data.stat().st_uid if os.geteuid() == 0 else None
    return postgresql_figure(run_as(command, data, user).splitlines()[-1])
