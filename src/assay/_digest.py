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
