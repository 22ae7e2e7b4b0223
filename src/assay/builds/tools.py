"""Running compilers and package tools: named with their package if absent, quoted if they fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay.core.errors import MissingError

PACKAGES = {
    "cc": "gcc libc6-dev",
    "c++": "g++",
    "make": "make",
    "cargo": "cargo",
    "apt-get": "apt",
    "apt-cache": "apt",
}
"""Debian packages of programs."""

QUOTED_LINES = 15
_ERROR = re.compile(
    r"(?i)^(?!.*ignored).*(\berror: |undefined reference|cannot find |No rule to make|"
    r"configure: error|CMake Error)"
)


def first_error(text: str) -> str:
    """The first line of a log that tells an error of a compiler, or else its last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = next((line for line in lines if _ERROR.match(line)), None)
    return (found or (lines[-1] if lines else "it said nothing"))[:300]


def run(
    command: Sequence[str],
    folder: Path,
    *,
    what: str,
    next_step: str,
    env: Mapping[str, str] | None = None,
) -> str:
    """Standard output; MissingError with the end of what it said if it is not here or fails.

    The environment is ours but for what would change a build: flags, and a `make` around us.
    """
    require(command[0], what=what)
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment(), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-QUOTED_LINES:])
        raise MissingError(f"{what} failed: {' '.join(command)[:200]}\n{said}", next_step=next_step)
    return done.stdout


def compiler(command: str, run_it: Callable[..., str]) -> str:
    """What a compiler says of itself, and for which machine it compiles."""
    version = run_it(command, "--version").splitlines()[0]
    return f"{version}, {run_it(command, '-dumpmachine').strip()}"


def require(program: str, *, what: str, path: str | None = None) -> None:
    """MissingError with its package if a program is not here."""
    if shutil.which(program, path=path) is None:
        raise MissingError(
            f"{what} needs {program}, which is not here",
            next_step=f"sudo apt-get install {PACKAGES.get(program, program)}",
        )


def environment() -> dict[str, str]:
    """Proxies, homes and folders stay; what compilers and make read goes."""
    gone = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES")
    return {k: v for k, v in os.environ.items() if k not in gone} | {"LC_ALL": "C"}
