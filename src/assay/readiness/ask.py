"""Asking `assayer` about many files at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.native.process import start_survey


def survey(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """("census", data) for each ELF image and ("refused", data) for what is none, as it is read."""
    if not paths:
        return
    process = start_survey(paths)
    # It works while the types of what it says are imported, which takes longer than most files.
    from assay import native

    for message in native.surveyed(process):
        kind = "refused" if isinstance(message, native.RefusedFile) else "census"
        yield kind, message.model_dump()


def exported_functions(paths: Sequence[Path]) -> dict[str, frozenset[str]]:
    """By path, the names of functions that each ELF file exports; a file that is none is absent."""
    from assay import native

    found = native.objects(paths, functions="exported")
    images = [about for about in found if isinstance(about, native.ObjectFile)]
    return {about.path: frozenset(about.functions or ()) for about in images if not about.member}
