"""Runs of a server that does not change, as made-up machines would give them.

Everything is the natural log of a metric, shape (studies, runs), in the order of time. Three
grades follow docs/method.md: in units of the run-to-run deviation, runs scatter independently,
share a memory (first-order autoregression) and walk away slowly; two runs in a hundred are 10 %
off whatever the deviation. `calm` has neither memory nor walk, `strong` has much of both. The
hostile kinds have one bad habit each, of a size that ruins some method in common use.

None of this was fitted to a machine. It shows that the arithmetic keeps its promise, not that
a harness is clean: for that, run an A/A study.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, int], Floats]
"""(generator, studies, runs) -> log metric, shape (studies, runs)."""

_PERSISTENCE = 0.8  # of the memory, per run
_OUTLIERS, _OUTLIER = 0.02, math.log(1.10)
_CHUNK = 250  # studies made at once: long studies then need some 20 MB, not gigabytes


@dataclass(frozen=True)
class Noise:
    """Shares of the run-to-run deviation: independent, memory, and walk per run."""

    independent: float
    memory: float
    walk: float

    def at(self, deviation: float) -> Maker:
        """A machine of this grade with a run-to-run deviation, in log units."""

        def make(rng: np.random.Generator, studies: int, runs: int) -> Floats:
            shape = (studies, runs)
            memory = _autoregression(rng, studies, runs)
            outlier = np.where(rng.random(shape) < _OUTLIERS, _OUTLIER, 0.0)
            walk = np.cumsum(rng.normal(0, self.walk, shape), axis=1)
            alone = rng.normal(size=shape)
            return deviation * (self.independent * alone + self.memory * memory + walk) + outlier

        return make


NOISES = {
    "calm": Noise(1.0, 0.0, 0.0),
    "realistic": Noise(0.866, 0.5, 0.15),
    "strong": Noise(0.714, 0.7, 0.5),
}


def machine(rng: np.random.Generator, noise: Noise, deviation: float, runs: int) -> Floats:
    """Log metric of `runs` consecutive runs of one unchanging server, shape (runs,)."""
    return noise.at(deviation)(rng, 1, runs)[0]


def _autoregression(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    """Stationary AR(1) of unit variance."""
    kick = rng.normal(0, math.sqrt(1 - _PERSISTENCE**2), (studies, runs))
    start = _PERSISTENCE * rng.normal(size=(studies, 1))
    return lfilter([1.0], [1.0, -_PERSISTENCE], kick, axis=1, zi=start)[0]


def _plain(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return rng.normal(0, 0.01, (studies, runs))


def _tails(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return 0.01 * rng.standard_t(2, (studies, runs))


def _two_modes(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return _plain(rng, studies, runs) / 4 + 0.06 * (rng.random((studies, runs)) < 0.5)


def _sticky_modes(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    """The same two modes, but a run changes the mode with a chance of one tenth only."""
    changes = rng.random((studies, runs)) < 0.1
    changes[:, 0] = rng.random(studies) < 0.5
    return _plain(rng, studies, runs) / 4 + 0.06 * (np.cumsum(changes, axis=1) % 2)


def _slow_slot(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return _plain(rng, studies, runs) - 0.03 * (np.arange(runs) % 2)


def _steady_drift(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return _plain(rng, studies, runs) - 0.005 * np.arange(runs)


def _period_of_four(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    phase = 2 * np.pi * rng.random((studies, 1))
    return _plain(rng, studies, runs) + 0.05 * np.sin(np.pi * np.arange(runs) / 2 + phase)


def _bursts(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return _plain(rng, studies, runs) * np.where(rng.random((studies, runs)) < 0.1, 10, 1)


def _skew(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return _plain(rng, studies, runs) / 2 - 0.03 * rng.exponential(size=(studies, runs))


def _rounded(rng: np.random.Generator, studies: int, runs: int) -> Floats:
    return np.log(np.round(np.exp(2 * _plain(rng, studies, runs)) / 0.02) * 0.02)


HOSTILE: dict[str, Maker] = {
    "t tails, 2 degrees": _tails,
    "two modes 6 % apart": _two_modes,
    "sticky modes": _sticky_modes,
    "second slot 3 % slower": _slow_slot,
    "drift .5 % per run": _steady_drift,
    "period of 4 runs": _period_of_four,
    "bursts x10": _bursts,
    "skewed slow-downs": _skew,
    "rounded to 2 %": _rounded,
}


@dataclass(frozen=True)
class Stream:
    """Simulated studies of two arms.

    runs       log metric of consecutive runs without any effect, shape (studies, runs)
    contrasts  arm minus baseline per block of two runs in random order, effect included
    effect     what the arm gains, in log units; rivals add it to the runs they call the arm's
    """

    runs: Floats
    contrasts: Floats
    effect: float


def streams(
    make: Maker, studies: int, blocks: int, effect: float, seed: tuple[int, str]
) -> Iterator[Stream]:
    """`studies` studies in chunks; the same ones whatever was simulated before them."""
    for first in range(0, studies, _CHUNK):
        rng = np.random.default_rng([seed[0], zlib.crc32(seed[1].encode()), first])
        runs = make(rng, min(_CHUNK, studies - first), 2 * blocks)
        pairs = shuffled(rng, runs, 2)
        yield Stream(runs, pairs[:, :, 1] - pairs[:, :, 0] + effect, effect)


def shuffled(rng: np.random.Generator, runs: Floats, arms: int) -> Floats:
    """Which run each arm gets: blocks of `arms` runs, each in an independent random order.

    Shape (studies, blocks, arms).
    """
    return rng.permuted(runs.reshape(len(runs), -1, arms), axis=2)
