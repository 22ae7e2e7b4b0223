"""Asking `assayer census` about many files at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay import native


def survey(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """("census", data) for each ELF image and ("refused", data) for what is none, as it is read."""
    if not paths:
        return
    for message in native.survey(paths):
        kind = "refused" if isinstance(message, native.RefusedFile) else "census"
        yield kind, message.model_dump()
