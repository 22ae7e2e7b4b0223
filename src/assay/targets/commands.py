"""Commands that a study gives as words: their values, their program, and its contents."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from assay import native
from assay.core.digest import file_digest
from assay.core.errors import InputError, MissingError, RunError


def filled(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Words with {NAME} filled in, of names that have a value; other braces stay."""
    found = list(words)
    for name, value in values.items():
        found = [word.replace(f"{{{name}}}", value) for word in found]
    return found


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Values by name, of "NAME=value"; InputError if one is none."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InputError(f"{word!r} is no NAME=value", next_step="write X=1")
        found[name] = value
    return found


def program_of(name: str, directory: str | None, variables: Mapping[str, str]) -> Path:
    """The file that is executed by a command's first word; MissingError if it is not there.

    A path starts at `directory`, or where Assay was started; a bare name is on the PATH of
    `variables`.
    """
    folder = Path(directory or ".").resolve()
    if not folder.is_dir():
        raise MissingError(f"{folder} is no folder", next_step="give a folder that is there")
    if "/" in name:
        path = folder / name
        found = str(path) if path.is_file() and os.access(path, os.X_OK) else None
    else:
        found = shutil.which(name, path=variables.get("PATH"))
    if found is None:
        where = f"in {folder}" if "/" in name else "on the PATH"
        raise MissingError(
            f"{name} is no program {where}", next_step="give its path, or mark it executable"
        )
    return Path(os.path.abspath(found))


def digest_of(path: Path) -> str:
    """The SHA-256 of a file; computed again when the file changes."""
    seen = path.stat()
    return _digest(str(path), seen.st_mtime_ns, seen.st_size, seen.st_ino)


@lru_cache(maxsize=256)
def _digest(path: str, *stamp: int) -> str:
    return file_digest(Path(path))


def run_to_end(
    what: str,
    words: Sequence[str],
    *,
    directory: str | None,
    env: Mapping[str, str],
    log: Path,
    patience_s: float,
    before: Sequence[str] = (),
) -> native.JobExecution:
    """Runs a command to its end, with all that it starts; the last MiB that it prints is kept.

    RunError says what `what` did wrong and the end of its standard error, and nothing of it runs
    on. `before` are words that stand before all others.
    """
    request = {
        "program": str(program_of(words[0], directory, env)),
        "words": list(words),
        "directory": str(Path(directory or ".").resolve()),
        "keep_output": True,
        "patience_ms": max(1, round(1000 * patience_s)),
        "window_ms": 0,
    }
    with log.open("ab") as file:
        session = native.Session("job", request, log=file, env=env, before=before)
        try:
            *_, result = session.messages()
        except RunError as error:
            said = error.message.removeprefix("the command ")
            raise RunError(f"{what}, {words[0]}, {said}", next_step="run it by hand") from error
        finally:
            session.stop()
    assert isinstance(result, native.JobResult), "it is the last message"
    if not result.complete:
        raise KeyboardInterrupt
    return result.executions[0]
