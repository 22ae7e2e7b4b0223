"""What a stated protocol could have seen at all: the smallest effect, from its runs and noise.

The noise is that of the source's own runs where it prints their range, otherwise an assumption
that the claim file states with its reason. From the range of n runs the standard deviation is
estimated as range / d2(n). The smallest effect is the one that a two-sided t test at 5 % finds
with a chance of 90 % (docs/method.md uses the same chance); where the noise is assumed to be
known it is the normal test. Both take the runs as independent and in a harmless order, so what
is printed here is the best case: drift between the runs of one arm and those of the next makes
it worse, and no number of runs repairs that.

Sources: d2 from D. C. Montgomery, Introduction to Statistical Quality Control, appendix VI; power
of the t test from the noncentral t distribution.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from assay.claims.model import Claim, Protocol

LEVEL = 0.05
POWER = 0.90
D2 = {2: 1.128, 3: 1.693, 4: 2.059, 5: 2.326, 6: 2.534, 7: 2.704, 8: 2.847, 9: 2.970, 10: 3.078}
"""Mean range of n normal values, in standard deviations."""


def smallest_visible(runs: int, noise: float, *, paired: bool, known: bool) -> float | None:
    """The smallest effect (log) that `runs` per arm find with 90 % chance at 5 %; None if none.

    `noise` is the standard deviation of one run's log, or with `paired` of one difference between
    a run and its own baseline. `known`: it was assumed and not estimated from these runs.
    """
    error = noise * math.sqrt((1 if paired else 2) / runs)
    if known:
        normal = NormalDist()
        return error * (normal.inv_cdf(1 - LEVEL / 2) + normal.inv_cdf(POWER))
    freedom = runs - 1 if paired else 2 * runs - 2
    if freedom < 1:
        return None
    # Here, because few claims come to this, and all would wait for scipy.
    from scipy.special import nctdtrinc, stdtrit

    critical = stdtrit(freedom, 1 - LEVEL / 2)
    return float(error * nctdtrinc(freedom, 1 - POWER, critical))


def critique(claim: Claim, protocol: Protocol) -> str:
    """The protocol in one paragraph: runs, order, what was dropped, and what it could see."""
    runs = f"{protocol.runs} run{'s' if protocol.runs > 1 else ''} for each setting"
    parts = [f"{runs}, order {protocol.order}"]
    if protocol.dropped:
        parts.append(f"dropped: {protocol.dropped}")
    if protocol.spread:
        parts += [_of_spread(claim, protocol, name) for name in protocol.spread]
    elif protocol.noise is not None:
        seen = smallest_visible(
            protocol.runs, math.log1p(protocol.noise), paired=protocol.paired, known=True
        )
        because = f" ({protocol.because})" if protocol.because else ""
        parts.append(
            f"assuming {100 * protocol.noise:g} % of noise from run to run{because}, "
            f"the smallest effect it could have seen is {_percent(seen)}"
        )
    least = _least_p(protocol.runs, protocol.paired)
    if least > LEVEL:
        parts.append(f"a rank test of so few runs cannot reach 5 % (its least p is {least:.2g})")
    return "; ".join(parts)


def _of_spread(claim: Claim, protocol: Protocol, name: str) -> str:
    printed = claim.cells[name].printed
    assert printed.least is not None, "the reader refuses a spread without a range"
    assert printed.most is not None, "both ends are printed or none"
    low, high = ((end.low + end.high) / 2 for end in (printed.least, printed.most))
    if protocol.runs not in D2:
        return f"{name}: no noise can be estimated from the range of {protocol.runs} runs"
    noise = float(high - low) / D2[protocol.runs]
    seen = smallest_visible(protocol.runs, noise, paired=protocol.paired, known=False)
    return (
        f"{name}: {printed.text} is a noise of about {100 * noise:.2g} %, "
        f"so the smallest effect it could have seen is {_percent(seen)}"
    )


def _percent(effect: float | None) -> str:
    return "unknown" if effect is None else f"{100 * math.expm1(effect):.2g} %"


def _least_p(runs: int, paired: bool) -> float:
    """The smallest two-sided p of the signed-rank or the rank-sum test."""
    return 2.0 ** (1 - runs) if paired else 2 / math.comb(2 * runs, runs)
