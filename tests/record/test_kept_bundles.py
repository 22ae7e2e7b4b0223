"""The bundles of results/, which docs/results.md quotes."""

from __future__ import annotations

from pathlib import Path

from assay.record import Bundle, differences

RESULTS = Path(__file__).resolve().parents[2] / "results"


def test_every_kept_bundle_verifies() -> None:
    bundles = sorted(path.parent for path in RESULTS.glob("*/plan.json"))
    assert [(b.name, differences(Bundle.open(b))) for b in bundles] == [
        (b.name, []) for b in bundles
    ]
