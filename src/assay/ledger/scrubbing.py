"""Secrets in text, taken out before it enters the ledger."""

from __future__ import annotations

import re

HIDDEN = "***"
_IN_ADDRESS = re.compile(r"(?<=://)([^\s/@:]*):\S*@")
_NAMED = re.compile(
    r"(?i)([\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|credential)[\w.-]*"
    r"[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)"
)


def scrubbed(text: str) -> str:
    """The text without passwords of addresses and without values of names that sound secret."""
    text = _IN_ADDRESS.sub(rf"\1:{HIDDEN}@", text)
    return _NAMED.sub(rf"\1{HIDDEN}", text)
