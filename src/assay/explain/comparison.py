"""What one verdict compares, block by block: the material of every explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.plan import CONTROLS, Plan
from assay.stats.signed_rank import SignedRank
from assay.verdict.observations import Block
from assay.verdict.rows import SUITE, Bounded, Row, Verdicts

LEVEL = 0.05
Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Comparison:
    """An arm and what it is compared with, in one case.

    `pairs`: metrics of the one and of the other, of every block that has both. `factors`: those
    that the arm switches.
    """

    row: Row
    factors: tuple[str, ...]
    pairs: tuple[tuple[Metrics, Metrics], ...]

    def over_blocks(self, value: Callable[[Metrics, Metrics], float | None]) -> Bounded | None:
        """A number made of each pair, over all pairs that have it; None where none has."""
        found = [v for mine, other in self.pairs if (v := value(mine, other)) is not None]
        return bounded(found) if found else None


def bounded(values: Sequence[float]) -> Bounded:
    """Hodges-Lehmann estimate and signed-rank interval of at least one number."""
    sample = SignedRank(values)
    low, high = sample.interval(LEVEL)
    known = abs(low) != float("inf")
    return Bounded(value=sample.estimate, low=low if known else None, high=high if known else None)


def comparisons(plan: Plan, blocks: Sequence[Block], verdicts: Verdicts) -> Iterator[Comparison]:
    """Every arm of a study against what its verdict compares it with, case by case."""
    levels = {a.name: a.levels for a in plan.arms}
    for row in verdicts.verdicts:
        against = row.contrast.against
        whole = row.metric == plan.primary and row.contrast.kind in ("change", "step")
        if not whole or row.strength != "confirmed" or row.case == SUITE:
            continue
        if row.arm in ("", *CONTROLS) or against not in levels:
            continue
        mine, other = levels[row.arm], levels[against]
        pairs = tuple(
            (block.cells[row.case, row.arm].metrics, block.cells[row.case, against].metrics)
            for block in blocks
            if (row.case, row.arm) in block.cells and (row.case, against) in block.cells
        )
        yield Comparison(row, tuple(f for f in mine if mine[f] != other.get(f)), pairs)
