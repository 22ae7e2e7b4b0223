"""Compiling many sources with `make` and all CPUs: told as it goes on, kept as far as it came.

Each object appears under its name when it is whole. `make` is ended with whoever
started it, and an interrupted build goes on where it was.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from assay.builds import tools
from assay.builds.progress import BuildProgress, tell
from assay.core.errors import MissingError

SOURCES, OBJECTS = "ASSAY_SOURCES", "ASSAY_OBJECTS"
LOOK_S = 1.0
SURE = 0.02
"""The share of the work after which the rest can be foretold."""


def make(folder: Path, files: Sequence[str], objects: Path, compiler: str, *, what: str) -> None:
    """An object for each of `files` (paths below `folder`), as `objects / "FILE.o"`.

    MissingError with the compiler's last words if one cannot be made.
    """
    left = [f for f in files if not (objects / f"{f}.o").is_file()]
    if not left:
        return
    tools.require("make", what=f"building {what}")
    for file in left:
        (objects / file).parent.mkdir(parents=True, exist_ok=True)
    (objects / "Makefile").write_text(_rules(left, compiler))
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            [*_tied(), "make", "-s", jobs],
            cwd=objects,
            env={**tools.environment(), SOURCES: str(folder), OBJECTS: str(objects)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            _watch(process, folder, left, objects, what)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode:
            output.seek(0)
            words = "\n".join(output.read().splitlines()[-tools.QUOTED_LINES :])
            raise MissingError(
                f"building {what} failed:\n{words}",
                next_step="another compiler, or more room or memory; what was made is kept",
            )


def _rules(files: Sequence[str], compiler: str) -> str:
    """A Makefile. Folders come by the environment: their names may hold what `make` cannot."""
    rules = [f"all: {' '.join(f'{file}.o' for file in files)}"]
    for file in files:
        part, whole = f'"$${OBJECTS}/{file}.part"', f'"$${OBJECTS}/{file}.o"'
        rules.append(f"{file}.o:")
        rules.append(f'\tcd "$${SOURCES}" && {compiler} -c {file} -o {part} && mv {part} {whole}')
    return "\n".join(rules) + "\n"


def _tied() -> list[str]:
    """What ends `make` when whoever started it is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


def _watch(
    process: subprocess.Popen[bytes], folder: Path, files: Sequence[str], objects: Path, what: str
) -> None:
    """Tells how far it is, by the sizes of the sources, until it has ended."""
    sizes = {f: (folder / f).stat().st_size for f in files}
    whole, begun, told = sum(sizes.values()), time.monotonic(), -1
    while True:
        ended = process.poll() is not None
        done = [f for f in files if (objects / f"{f}.o").is_file()]
        share = sum(sizes[f] for f in done) / whole if whole else 1.0
        spent = time.monotonic() - begun
        if len(done) != told:
            told = len(done)
            left = spent * (1 - share) / share if share > SURE else None
            tell(BuildProgress(what, told, len(files), left))
        if ended:
            return
        try:
            process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            continue
