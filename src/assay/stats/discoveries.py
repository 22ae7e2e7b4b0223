"""Discoveries among many comparisons of a study that was looked at on its way.

The p value of a comparison at its last look is judged against the nominal level of that look, as a
contrast is: whatever made the study stop there, a study that spends x on a comparison by that
rule calls nothing with a chance above x. So "the smallest x at which it would be called" is a
valid p value, and the step-up procedure on those holds the false discovery rate. Intervals of the
discoveries are at x = rate*R/m (false coverage rate).

Sources: Benjamini & Hochberg, JRSS B 57 (1995), which covers the positive dependence of kinds of
request that share a server (Benjamini & Yekutieli, Ann. Stat. 29 (2001)); false coverage rate:
Benjamini & Yekutieli, JASA 100 (2005); repeated p values: Jennison & Turnbull (2000), chapter 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

LevelOf = Callable[[str, float], float]
"""By the name of a comparison and what a study spends on it: its nominal level at its last look.
Not falling in the second."""


def discoveries(
    p_values: Mapping[str, float], rate: float, level_of: LevelOf
) -> tuple[frozenset[str], float]:
    """The comparisons that are discoveries at false discovery rate `rate`, and what is spent on
    each: rate*R/m for R discoveries among m, or rate/m where there is none."""
    size = max(len(p_values), 1)
    most = len(p_values)
    while most:
        spent = rate * most / size
        found = frozenset(name for name, p in p_values.items() if p <= level_of(name, spent))
        if len(found) >= most:
            return found, spent
        # What fewer discoveries allow is no more than what these allow.
        most = len(found)
    return frozenset(), rate / size
