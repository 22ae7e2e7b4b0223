"""What a library says it is and has: its version, and every setting with its default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay import native
from assay.core.cache import cache
from assay.core.digest import file_digest


@dataclass(frozen=True)
class Known:
    """A library's version, and its settings' defaults as texts."""

    version: str
    options: Mapping[str, str]


def known(kind: str, library: Path) -> Known:
    """What `assayer store` finds in this file; kept by its digest."""
    stat = library.stat()
    return _known(kind, library, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _known(kind: str, library: Path, modified_ns: int, size: int) -> Known:
    kept = cache("settings") / f"{kind}-{file_digest(library)}.json"
    try:
        return Known(**json.loads(kept.read_text()))
    except (OSError, ValueError, TypeError):
        pass
    found = _asked(kind, library)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"version": found.version, "options": dict(found.options)}))
    except OSError:
        pass  # it is asked again next time
    return found


def _asked(kind: str, library: Path) -> Known:
    request = {"store": kind, "library": str(library), "action": "options"}
    session = native.Session("store", request, result_type=native.StoreOptions)
    try:
        *_, answer = session.messages()
    finally:
        session.stop()
    assert isinstance(answer, native.StoreOptions)
    return Known(answer.version, answer.options)
