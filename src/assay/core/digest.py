"""SHA-256 of files and of JSON, and the chain that makes a bundle tell if it was altered."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical(value: Any) -> bytes:
    """JSON as bytes, the same for equal values: sorted keys, no spaces, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def chained(previous: str, record: dict[str, Any]) -> str:
    """The digest of a record (without its own `digest`) that follows `previous`."""
    body = {k: v for k, v in record.items() if k != "digest"}
    return digest(previous.encode() + canonical(body))


def file_digest(path: Path) -> str:
    """SHA-256 of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_DIGESTS: dict[tuple[int, int, int, int], str] = {}


def contents_digest(file: Path) -> str:
    """The digest of a file such as a running executable, read once for each modification."""
    stat = file.stat()
    key = (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size)
    if key not in _DIGESTS:
        _DIGESTS[key] = file_digest(file)
    return _DIGESTS[key]
