"""What a process that has loaded a library shows of it: the very file, and its functions."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from assay import native
from assay.changes import RanFunction, SeenExecutable
from assay.core.digest import file_digest
from assay.core.errors import RunError


def loaded(pid: int, library: Path, said: str) -> SeenExecutable:
    """The library's file as the process has it: its digest and build id.

    `said` is where the process itself found a function of it. RunError if that is another
    file, or if the process, while it lives, does not have mapped what the path is now.
    """
    stat = library.stat()
    wanted = (str(stat.st_ino), str(library))
    lines = [line.split(maxsplit=5) for line in _maps(pid)]
    is_mapped = any((words[4], words[5]) == wanted for words in lines if len(words) == 6)
    if said != str(library) or (lines and not is_mapped):
        raise RunError(
            f"{library} is not loaded by the process that was measured, which has {said}",
            next_step="do not rebuild it during a study",
        )
    return _described(library, stat.st_mtime_ns, stat.st_size)


def _maps(pid: int) -> list[str]:
    """Lines of a process' mappings; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


@lru_cache(maxsize=32)
def _described(library: Path, modified_ns: int, size: int) -> SeenExecutable:
    return SeenExecutable(file_digest(library), native.census(library).build_id, "library")


def functions(library: Path, pattern: str, role: str) -> tuple[RanFunction, ...]:
    """The census of the functions whose names match, and of CRC32 in the library's whole code.

    The latter, as `ROLE_code`, is there for a library without names too.
    """
    stat = library.stat()
    return _functions(library, pattern, role, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=32)
def _functions(
    library: Path, pattern: str, role: str, modified_ns: int, size: int
) -> tuple[RanFunction, ...]:
    found = native.functions_named(library, pattern)
    counts = {"crc32": native.counted_instructions(library, "crc32")}
    whole = RanFunction(f"{role}_code", f"{library.name}, all of its code", None, counts)
    return (whole, *(RanFunction(role, f.symbol, f.instructions, f.counts) for f in found))
