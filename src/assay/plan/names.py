"""Names of arms that every study may have."""

from __future__ import annotations

BASELINE = "baseline"

CONTROL = "aa-control"
"""The A/A control: an arm equal to the baseline, by which a study watches itself."""

CONTROLS = frozenset({CONTROL, "sentinel"})
"""Its names: the second is that of bundles made before it had the first."""
