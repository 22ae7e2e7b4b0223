"""Names of arms that every study may have."""

from __future__ import annotations

BASELINE = "baseline"


SENTINEL = "sentinel"
