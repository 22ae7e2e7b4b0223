"""Exact tests of counts: does a share of runs depend on the arm?

Slow runs, void runs: counts of a few in some dozens, where a normal limit says too much. The
two-sided p value adds up every table with the same margins that is at most as probable as the
one seen. It is exact for independent runs and errs on the side of silence: 5 slow runs of 40
against none give .055, 6 give .026.

Sources: Fisher, Statistical Methods for Research Workers, section 21.02 (5th edition, 1934);
the two-sided rule is that of Freeman & Halton, Biometrika 38 (1951), and of R and scipy; Holm,
Scand. J. Stat. 6 (1979).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import gammaln

_SAME = 1e-7  # relative: tables this close in probability are equally probable


def fisher_two_sided(a: int, b: int, c: int, d: int) -> float:
    """Two-sided p value of the table [[a, b], [c, d]]; 1 where a margin is empty.

    ValueError for negative counts.
    """
    if min(a, b, c, d) < 0:
        raise ValueError(f"counts may not be negative: {a}, {b}, {c}, {d}")
    first, hits, total = a + b, a + c, a + b + c + d
    seen = np.arange(max(0, hits - (total - first)), min(first, hits) + 1)
    log_density = -(
        gammaln(seen + 1)
        + gammaln(first - seen + 1)
        + gammaln(hits - seen + 1)
        + gammaln(total - first - hits + seen + 1)
    )
    density = np.exp(log_density - log_density.max())
    own = density[a - seen[0]]
    return min(1.0, float(density[density <= own * (1 + _SAME)].sum() / density.sum()))


def one_against_rest(hits: Mapping[str, int], runs: Mapping[str, int]) -> dict[str, float]:
    """Each arm's p value of "its share of hits is that of all other arms together".

    `hits` of `runs`; arms without runs are left out, and with fewer than two arms nothing can
    be compared. Two arms ask one question twice: both get the same p value.
    """
    hits = {arm: hits.get(arm, 0) for arm, made in runs.items() if made > 0}
    if len(hits) < 2:
        return {}
    all_hits, all_runs = sum(hits.values()), sum(runs[arm] for arm in hits)
    return {
        arm: fisher_two_sided(
            count, runs[arm] - count, all_hits - count, all_runs - runs[arm] - (all_hits - count)
        )
        for arm, count in hits.items()
    }


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p values: at most `level` exactly where Holm's method rejects at `level`."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for k, name in enumerate(sorted(p_values, key=lambda n: (p_values[n], n))):
        largest = max(largest, min(1.0, (len(p_values) - k) * p_values[name]))
        adjusted[name] = largest
    return adjusted
