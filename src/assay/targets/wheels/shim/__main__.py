"""The program: serves a library from a wheel over PostgreSQL's protocol, or describes its settings.

`serve.py`, which stands beside this package, runs it. Ends in order on SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from .engine import Engine, EngineError
from .server import EngineServer, hold_signals

# The library's own imports shall not find what lies beside this package.
sys.path.pop(0)


def arguments() -> argparse.Namespace:
    """What it was started with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, choices=("duckdb", "chdb"))
    parser.add_argument("--from", required=True, dest="wheel", help="folder of the package")
    parser.add_argument("--settings", type=json.loads, default={}, help="as a JSON object")
    parser.add_argument("--data", type=Path, help="folder of the data; without one in memory")
    parser.add_argument("--port", type=int, help="of loopback; without one settings are described")
    parser.add_argument("--folder", type=Path, default=Path("."), help="for files on their way")
    return parser.parse_args()


def engine_of(asked: argparse.Namespace) -> Engine:
    """The library with its data, so set."""
    if asked.wheel not in sys.path:
        sys.path.insert(0, asked.wheel)
    if asked.library == "duckdb":
        from .duckdb_engine import DuckDbEngine

        return DuckDbEngine(asked.data, asked.settings)
    from .chdb_engine import ChDbEngine

    return ChDbEngine(asked.data, asked.settings)


def main() -> None:
    """Until a signal comes, if there is a port."""
    asked = arguments()
    hold_signals()
    try:
        engine = engine_of(asked)
        if asked.port is None:
            json.dump([asdict(d) for d in engine.described()], sys.stdout)
        else:
            EngineServer(engine, asked.port, asked.folder).serve()
        engine.close()
    except (EngineError, OSError, ImportError) as error:
        sys.stderr.write(f"FATAL: {error}\n")
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
