"""When a study is looked at, and how small a p value each look asks for.

Looking at the data after every block and stopping at the first p < .05 is wrong about a fourth
of the time. Here the error is spent instead: by block n of N at most alpha*n/N of it, so each
look has its own, smaller nominal level. The levels come from the recursion of Armitage,
McPherson and Rowe for a Gaussian random walk, to which the signed-rank statistic converges when
monitored over blocks. A confidence interval at each look's nominal level is a *repeated* one:
all of them cover together, so any rule read off them is valid, and futility stops cost nothing.

A study that is planned anew on its way keeps what it has spent, and spends the rest up to its new
end in the same way. That is allowed because the new size follows from absolute contrasts alone
(`sample_size.py`): given these the signs are fair coins, and any schedule made of them is one that
was fixed beforehand.

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
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Schedule:
    """When a study is judged, and how much of its error it has spent by then.

    looks   block counts, ascending, the last is the planned end
    spent   share of the error that is spent by each look, ascending, the last is 1
    """

    looks: tuple[int, ...]
    spent: tuple[float, ...]

    @property
    def planned(self) -> int:
        """Blocks of the whole study."""
        return self.looks[-1]

    def levels(self, alpha: float) -> tuple[float, ...]:
        """Two-sided nominal level of each look when `alpha` is spent by the last.

        Larger alpha never gives a smaller level at any look, which the Holm step relies on.
        """
        return _nominal_levels(self, alpha)

    def replanned(self, at: int, planned: int, alpha: float, constants: Constants) -> Schedule:
        """The same study with another end, `planned` >= `at`, from block `at` on, which is a look.

        What was spent before stays; what is left is spent linearly.
        """
        past = [(n, s) for n, s in zip(self.looks, self.spent, strict=True) if n < at]
        since, share = past[-1] if past else (0, 0.0)
        rest = sorted({at, *(n for n in looks(planned, alpha, constants) if n > at)})
        later = [share + (1 - share) * (n - since) / (planned - since) for n in rest]
        return Schedule((*(n for n, _ in past), *rest), (*(s for _, s in past), *later))


def schedule(planned: int, alpha: float, constants: Constants = STANDARD) -> Schedule:
    """The looks of a study of `planned` blocks, its error spent linearly. ValueError below 1."""
    found = looks(planned, alpha, constants)
    return Schedule(found, tuple(n / planned for n in found))


def once(blocks: int) -> Schedule:
    """A study that is looked at once, at its end."""
    return Schedule((blocks,), (1.0,))


@lru_cache(maxsize=4096)
def _nominal_levels(schedule: Schedule, alpha: float) -> tuple[float, ...]:
    times = tuple(float(n) for n in schedule.looks)
    spent = tuple(alpha * share for share in schedule.spent)
    return tuple(2 * float(ndtr(-z)) for z in z_boundaries(times, spent))


@lru_cache(maxsize=4096)
def z_boundaries(times: tuple[float, ...], spent: tuple[float, ...]) -> tuple[float, ...]:
    """Critical |z| per look such that the chance of having crossed by look k is spent[k].

    `times`: information, ascending, in any unit; `spent`: cumulative two-sided error, ascending.
    The walk S has S_k ~ N(0, times[k]) and independent increments; z_k = S_k/sqrt(t).
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
