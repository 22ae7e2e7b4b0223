"""A small claim file, and short ways to read and audit one."""

from __future__ import annotations

from assay.claims import Audited, audit_claim, read_claim

HEAD = """
name = "sample"
title = "A sample"
source = "nobody"
"""


def audited(body: str) -> list[Audited]:
    """The rows of a claim with this body."""
    return audit_claim(read_claim("sample.toml", HEAD + body))


def only(body: str) -> Audited:
    """The one row of a claim with one statement."""
    (row,) = audited(body)
    return row
