"""The command line inside the test's own process: what it prints on each stream, its exit code."""

from __future__ import annotations

import contextlib
from pathlib import Path
from subprocess import CompletedProcess

from typer.testing import CliRunner

from assay.cli import app


def assay(*words: str | Path, cwd: Path | None = None) -> CompletedProcess[str]:
    """The command as `main` calls it; what a user would see as a traceback is raised."""
    given = [str(word) for word in words]
    with contextlib.chdir(cwd or Path.cwd()):
        done = CliRunner().invoke(app, given, prog_name="assay", catch_exceptions=False)
    return CompletedProcess(given, done.exit_code, done.stdout, done.stderr)
