"""Asking `assayer census` about many files at once."""

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
