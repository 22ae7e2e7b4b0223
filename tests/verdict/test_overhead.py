"""What measuring takes of an operation's time, and when a verdict says so."""

from __future__ import annotations

from types import SimpleNamespace

from assay.reasons import Code
from assay.verdict import self_check
from assay.verdict.observations import Block, Observation, Overhead


def plan(*cases: str) -> SimpleNamespace:
    arms = tuple(SimpleNamespace(name=name) for name in ("baseline", "fast"))
    return SimpleNamespace(
        cases=tuple(SimpleNamespace(name=case) for case in cases), arms=arms, smallest=0.02
    )


def block(*runs: tuple[str, str, float | None]) -> Block:
    """Runs by case and arm, with the nanoseconds that measuring takes of a hundred."""
    return Block(
        {
            (case, arm): Observation({}, {}, {}, overhead=None if ns is None else Overhead(ns, 100))
            for case, arm, ns in runs
        },
        1.0,
    )


def test_measuring_that_takes_more_than_a_tenth_of_the_smallest_effect_is_said() -> None:
    blocks = [
        block(("lock", "baseline", 0.1), ("lock", "fast", ns), ("crc", "fast", 0.15))
        for ns in (0.3, 0.5, 9.0)
    ]
    reasons = self_check._overhead(plan("lock", "crc"), blocks)  # type: ignore[arg-type]
    (found,) = reasons
    assert found.code is Code.OVERHEAD
    assert found.fields["case"] == "lock"
    assert found.fields["arm"] == "fast"
    assert found.fields["share"] == 0.005
    assert "lock: measuring takes 0.5 % of an operation's time (0.5 of 100 ns" in found.text


def test_measuring_that_takes_less_or_is_not_known_is_no_warning() -> None:
    blocks = [block(("lock", "baseline", 0.19), ("lock", "fast", None))]
    assert self_check._overhead(plan("lock"), blocks) == []  # type: ignore[arg-type]
    assert self_check._overhead(plan("crc"), blocks) == []  # type: ignore[arg-type]
