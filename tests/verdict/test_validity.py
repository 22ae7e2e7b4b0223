"""What a verdict stands on besides its numbers."""

from __future__ import annotations

from types import SimpleNamespace

from assay.stats.contrast import Contrast
from assay.verdict import validity
from assay.verdict.observations import Block, Observation

ARMS = (
    SimpleNamespace(name="baseline", levels={"jit": "off"}),
    SimpleNamespace(name="jit", levels={"jit": "on"}),
)
PLAN = SimpleNamespace(arms=ARMS, factors={"jit": None})
CONTRAST = Contrast("jit", "change", {"jit": 1.0, "baseline": -1.0}, of="jit", against="baseline")


def block(*doses: tuple[str, str, float]) -> Block:
    cells = {(case, arm): Observation({}, {}, {"jit": dose}) for case, arm, dose in doses}
    return Block(cells, 1.0)


def test_a_suites_dose_is_the_largest_of_its_cases_and_no_mixture_of_them() -> None:
    """Functions compiled once per query, and once per engine: runs of the one are more."""
    blocks = [
        block(("sql", "jit", 8.0), ("kept", "jit", 0.01), ("sql", "baseline", 0.0)),
        block(("kept", "jit", 0.03)),
        block(("kept", "jit", 0.02)),
    ]
    assert validity.dose(PLAN, blocks, ("sql", "kept"), CONTRAST) == {"jit": 8.0}
    assert validity.dose(PLAN, blocks, ("kept",), CONTRAST) == {"jit": 0.02}


def test_a_change_that_was_never_exercised_has_a_dose_of_zero() -> None:
    blocks = [block(("sql", "jit", 0.0))]
    assert validity.dose(PLAN, blocks, ("sql",), CONTRAST) == {"jit": 0.0}
