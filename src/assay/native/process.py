"""Starting `assayer`, the native binary, with a request.

Apart from `native`, which reads what it says: the types of its messages take longer to import than
it needs for most requests, so whoever is in a hurry has it work meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from assay.core.errors import MissingError

NAME = "assayer"


def find_assayer() -> Path:
    """The binary: $ASSAYER, beside the `assay` script, beside Python, or on the PATH."""
    suggested = os.environ.get("ASSAYER")
    places = [Path(suggested)] if suggested else []
    folders = [Path(sys.argv[0]).parent, Path(sysconfig.get_path("scripts"))]
    places += [f / NAME for f in (*folders, Path(sys.executable).parent)]
    on_path = shutil.which(NAME)
    places += [Path(on_path)] if on_path else []
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place.resolve()
    looked = ", ".join(str(p) for p in dict.fromkeys(places))
    raise MissingError(
        f"the native binary {NAME} was not found; looked at {looked}",
        next_step="run `make install`, or set ASSAYER to the binary's path",
    )


def start(
    verb: str,
    request: Mapping[str, Any],
    *,
    log: IO[bytes] | int = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    executable: Path | None = None,
    before: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """`assayer VERB` with its request; more words may follow. `before` are words that stand before
    the command: a program that becomes it."""
    process = subprocess.Popen(
        [*before, str(executable or find_assayer()), verb],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=dict(env) if env is not None else None,
    )
    assert process.stdin is not None
    # It may have ended already; what it said, or its exit code, tells why.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    return process


def start_survey(paths: Sequence[Path], sites: bool = True) -> subprocess.Popen[bytes]:
    """`assayer census` of whole files, with a listing of each site or without."""
    return start("census", {"paths": [str(path) for path in paths], "sites": sites})
