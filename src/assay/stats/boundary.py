"""When a study is looked at, and how small a p value each look asks for.

Looking at the data after every block and stopping at the first p < .05 is wrong about a fourth
of the time. Here the error is spent instead: by block n of N at most alpha*n/N of it, so each
look has its own, smaller nominal level. The levels come from the recursion of Armitage,
McPherson and Rowe for a Gaussian random walk, to which the signed-rank statistic converges when
monitored over blocks. A confidence interval at each look's nominal level is a *repeated* one:
all of them cover together, so any rule read off them is valid, and futility stops cost nothing.

The tests at single looks are exact; their joint behaviour is approximated by the Gaussian walk,
which the simulations in benchmarks/verdict.py check.

Sources: Armitage, McPherson & Rowe, JRSS A 132 (1969); Lan & DeMets, Biometrika 70 (1983),
spending functions; Jennison & Turnbull, Group Sequential Methods (2000), chapters 9 (repeated
intervals) and 19 (numerical integration); Plamadeala & Rosenberger, Ann. Stat. 40 (2012), rank
tests under sequential monitoring.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from assay.stats.constants import STANDARD, Constants

_NODES_PER_STEP = 8  # quadrature nodes per standard deviation of one increment
_Z_MAX = 37.0  # Phi(-37) is near the smallest normal double

Floats = NDArray[np.float64]


@lru_cache(maxsize=4096)
def looks(planned: int, alpha: float, constants: Constants = STANDARD) -> tuple[int, ...]:
    """Block counts at which a study of `planned` blocks is judged, ascending, the last = planned.

    The first is the smallest n >= 8 at which the error spent so far lets an exact test of n
    blocks reject at all: 2^(1-n) <= alpha*n/planned; the study is sized from 8 blocks, and fewer
    can hardly reject at any level. Up to 12 in all, in geometric steps, for more save next to
    nothing (Jennison & Turnbull, chapter 4). A study planned for less has one look, at its end.
    Raises ValueError when planned < 1.
    """
    if planned < 1:
        raise ValueError(f"a study needs at least one planned block, not {planned}")
    first = constants.first_look
    while first < planned and 2.0 ** (1 - first) > alpha * first / planned:
        first += 1
    if first >= planned:
        return (planned,)
    steps = np.geomspace(first, planned, constants.looks_max)
    return tuple(sorted({round(float(step)) for step in steps}))


@lru_cache(maxsize=4096)
def nominal_levels(schedule: tuple[int, ...], planned: int, alpha: float) -> tuple[float, ...]:
    """Two-sided nominal level of each look of `schedule` when alpha*n/planned is spent by look n.

    Larger alpha never gives a smaller level at any look, which the Holm step relies on.
    """
    times = tuple(n / planned for n in schedule)
    spent = tuple(alpha * t for t in times)
    return tuple(2 * float(ndtr(-z)) for z in z_boundaries(times, spent))


@lru_cache(maxsize=4096)
def z_boundaries(times: tuple[float, ...], spent: tuple[float, ...]) -> tuple[float, ...]:
    """Critical |z| per look such that the chance of having crossed by look k is spent[k].

    `times`: information fractions, ascending, in (0, 1]; `spent`: cumulative two-sided error,
    ascending. The walk S has S_k ~ N(0, times[k]) and independent increments; z_k = S_k/sqrt(t).
    """
    boundaries = [float(-ndtri(spent[0] / 2))]
    steps = [math.sqrt(late - early) for early, late in itertools.pairwise((0.0, *times))]
    node, mass = np.zeros(1), np.ones(1)  # the walk starts at zero; later: nodes, density * weight
    for k in range(1, len(times)):
        reach = boundaries[-1] * math.sqrt(times[k - 1])
        new_node, weight = _quadrature(reach, min(steps[k - 1], steps[k]))
        value = _normal_density(new_node[:, None] - node, steps[k - 1]) @ mass
        node, mass = new_node, value * weight
        error = spent[k] - spent[k - 1]
        boundaries.append(_solve(node, mass, steps[k], math.sqrt(times[k]), error))
    return tuple(boundaries)


def _solve(node: Floats, mass: Floats, step: float, scale: float, error: float) -> float:
    """The z at which a walk inside its boundaries so far crosses next with chance `error`."""

    def excess(z: float) -> float:
        beyond = ndtr((node - z * scale) / step) + ndtr((-z * scale - node) / step)
        return float(beyond @ mass) - error

    return float(brentq(excess, 0.0, _Z_MAX, xtol=1e-10))


def _quadrature(reach: float, step: float) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [-reach, reach], fine against one increment."""
    node, weight = _legendre(max(48, 16 * math.ceil(_NODES_PER_STEP * 2 * reach / step / 16)))
    return node * reach, weight * reach


@lru_cache(maxsize=128)
def _legendre(count: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(count)


def _normal_density(x: Floats, scale: float) -> Floats:
    return np.exp(-0.5 * (x / scale) ** 2) / (scale * math.sqrt(2 * math.pi))
