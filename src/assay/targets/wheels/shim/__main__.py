"""The program: serves a library from a wheel over PostgreSQL's protocol, or describes its settings.

`serve.py`, which stands beside this package, runs it. Ends in order on SIGTERM.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from .engine import Engine, EngineError
from .server import EngineServer, hold_signals

PR_SET_PDEATHSIG = 1

# The library's own imports shall not find what lies beside this package.
sys.path.pop(0)


def arguments() -> argparse.Namespace:
    """What it was started with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, choices=("duckdb", "chdb"))
    parser.add_argument("--from", required=True, dest="wheel", help="folder of the package")
    parser.add_argument("--settings", type=json.loads, default={}, help="as a JSON object")
    parser.add_argument("--data", type=Path, help="folder of the data; without one in memory")
    parser.add_argument("--socket", type=Path, help="without one settings are described")
    parser.add_argument("--user", type=int, help="whom to become once the library is loaded")
    parser.add_argument("--folder", type=Path, default=Path("."), help="for files on their way")
    return parser.parse_args()


def engine_of(asked: argparse.Namespace) -> Engine:
    """The library with its data, so set."""
    if asked.wheel not in sys.path:
        sys.path.insert(0, asked.wheel)
    if asked.library == "duckdb":
        from . import duckdb_engine

        duckdb_engine.load_library()
        become(asked.user)
        return duckdb_engine.DuckDbEngine(asked.data, asked.settings, asked.folder)
    from . import chdb_engine

    chdb_engine.load_library()
    become(asked.user)
    return chdb_engine.ChDbEngine(asked.data, asked.settings)


def become(user: int | None) -> None:
    """Gives up being root. Python and the library may be where only root can read them, so that
    both are loaded before. The kernel then forgets that we are to end with our parent."""
    if user is None:
        return
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Until a signal comes, if there is a socket."""
    asked = arguments()
    hold_signals()
    try:
        engine = engine_of(asked)
        if asked.socket is None:
            json.dump([asdict(d) for d in engine.described()], sys.stdout)
        else:
            EngineServer(engine, asked.socket, asked.folder).serve()
        engine.close()
    except (EngineError, OSError, ImportError) as error:
        sys.stderr.write(f"FATAL: {error}\n")
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
