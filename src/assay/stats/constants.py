"""Every constant that a verdict depends on, and the version of the statistics they belong to.

A plan records both before its first run, so that a later Assay recomputes the verdicts with the
constants they were decided with, or says which version decided them. `VERSION` rises whenever a
constant or the arithmetic changes. `COMPUTABLE` lists the versions whose arithmetic is still here:
they differ in constants only, and a plan brings its own. Bundles made before plans recorded a
version were decided by version 1.

Not here: numerical accuracy (quadrature nodes, the grid of signed ranks), which belongs to the
arithmetic, and what a study file chooses: smallest effect, margin and alpha.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

VERSION = 4

COMPUTABLE = frozenset({1, 2, 3, 4})


class Constants(BaseModel):
    """The constants of one version. Shares, levels and sizes are fractions.

    The modules that use them give the sources.

    reserve, equivalence         of `rule.py`: alpha kept for extensions; level of "no difference"
    first_look, looks_max        of `boundary.py`
    futility_z                   of `sequence.py`
    extension_blocks             blocks that an extension adds, as a share of those before
    extension_reserve            share of what is left of the reserve that an extension spends
    power, both_sides            of `sample_size.py`: chance of the answer that is asked for
    inflation, extra_smallest,
    extra_margin, winsor, lifted,
    clear, sizes, decade         of `sample_size.py`
    false_discovery_rate         of `secondary.py`
    stationarity_level           of `stationarity.py`
    slow_*                       of `slow_runs.py`
    latencies_beyond, saturated  of `latency.py`
    shortlist, own_share         of `screen.py`
    usl_*                        of `usl.py`
    warning_*                    of `warnings.py` and `voids.py`
    prediction_floor             share of the larger median below which a value counts as this
    groups_*                     of `run_groups.py`
    checks                       which checks there are, as the version (docs/method.md)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reserve: float = 0.2
    equivalence: float = 0.10
    first_look: int = 8
    looks_max: int = 12
    futility_z: float = 1.645
    extension_blocks: float = 0.5
    extension_reserve: float = 0.5
    power: float = 0.90
    both_sides: float = 0.95
    inflation: float = 1.25
    extra_smallest: int = 4
    extra_margin: int = 8
    winsor: float = 2.5
    lifted: float = 2.0
    clear: float = 2.0
    sizes: tuple[int, ...] = (8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
    decade: tuple[int, ...] = (10, 13, 16, 20, 25, 30, 40, 50, 60, 80)
    false_discovery_rate: float = 0.10
    stationarity_level: float = 0.05
    slow_share: float = 0.1
    slow_deviations: float = 5.0
    slow_level_runs: int = 9
    slow_sweeps: int = 3
    slow_z: float = 1.959964
    latencies_beyond: int = 100
    saturated: float = 0.99
    shortlist: int = 4
    own_share: float = 0.5
    usl_levels_min: int = 6
    usl_blocks_min: int = 3
    usl_near_top: float = 0.95
    usl_misfit_seen: float = 0.02
    usl_clearly: float = 2.5
    usl_miss_said: float = 0.05
    warning_rare: float = 0.01
    warning_rare_z: float = 2.576
    warning_ties_max: float = 0.2
    warning_orders_min: int = 3
    warning_blocks_min: int = 8
    prediction_floor: float = 0.01
    groups_runs: int = 12
    groups_share: float = 0.15
    groups_gap: float = 0.05
    groups_clear: float = 4.5
    groups_extra: float = 20.0
    groups_order: float = 0.9
    groups_level: float = 0.05
    checks: int = 4

    @property
    def plans_anew(self) -> bool:
        """Whether a study is sized again on its way, since version 4."""
        return self.checks > 3


STANDARD = Constants()
"""The constants of `VERSION`."""

VERSIONS = {
    version: STANDARD.model_copy(update={"checks": version}) for version in sorted(COMPUTABLE)
}
"""Constants of computable versions, for plans that did not record them."""
