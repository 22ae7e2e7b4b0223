"""Bundles of the designs that answer more than one contrast: screens, races, scaling, extensions,
rare slow runs, and a harness whose own control differs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sample_kit import CACHE, HEAD, HINT, PADDING, TAIL, made, scaled

from assay.bench import Silent
from assay.plan import CONTROL
from assay.record import Bundle
from assay.targets import Measured
from fakes import FACTS, FakeTarget

LOCK = """
[[factor]]
name = "queued-lock"
change = "engine.lock"
off = "ttas"
on = "mcs"
"""
SPIN = """
[[factor]]
name = "spin-limit"
change = "setting"
setting = "spin_limit"
off = 2048
on = 64
effort = "A"
"""
THREADS = """
[[factor]]
name = "threads"
change = "setting"
setting = "threads"
levels = [{levels}]
"""
MANY_CPUS = {**FACTS, "cpus": 64}


def designed(kind: str, *factors: str, extra: str = "", budget: str = "30min") -> str:
    """A study of these factors with a design of its own."""
    tail = TAIL.replace('"one-at-a-time"', f'"{kind}"\n{extra}').replace('"60s"', f'"{budget}"')
    return HEAD + "".join(factors) + tail


def flipping(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """The cache gains 30 %, the hint 5 % alone, and loses 5 % on top of the cache."""
    cached, hinted = settings["data_cache"] == "optimistic", settings["hint"] == "pause"
    gain = 1.30 if cached else 1.0
    return gain * ((0.95 if cached else 1.05) if hinted else 1.0)


def stacking(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """Everything brings something, at its own price; the queued lock needs the cache."""
    gain = flipping(settings, env)
    if settings["lock"] == "mcs":
        gain *= 1.12 if settings["data_cache"] == "optimistic" else 0.96
    return gain * (1.02 if settings["spin_limit"] == 64 else 1.0)


def by_law(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """The lock-free cache has a third of the contention and is slower with one thread."""
    n, free = settings["threads"], settings["data_cache"] == "optimistic"
    sigma, kappa = (0.02, 0.0009) if free else (0.06, 0.0011)
    return (0.93 if free else 1.0) * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def at_the_cpus(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """Two CPUs: threads beyond them bring nothing."""
    return min(settings["threads"], 2)


def little(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """A hint worth 2 %, in noise of 10 %."""
    return 1.02 if settings["hint"] == "pause" else 1.0


@dataclass
class Rarely:
    """Every so many runs of a change are slow by 30 %."""

    hinted: int = 0
    padded: int = 0

    def __call__(self, settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
        if settings["hint"] == "pause":
            self.hinted += 1
            return 0.7 if self.hinted in (5, 17, 31) else 1.0
        if settings["padding"] == 128:
            self.padded += 1
            return 0.7 if self.padded % 4 == 0 else 1.0
        return 1.3 if settings["data_cache"] == "optimistic" else 1.0


class Tells(Silent):
    """Makes the control's runs 6 % faster: a harness that makes differences of its own."""

    def __init__(self, fake: FakeTarget) -> None:
        self.arm = ""
        script = fake.script
        fake.script = lambda number, measured: self.biased(script(number, measured))

    def running(self, step, operations, spent_s) -> None:
        self.arm = step.arm

    def biased(self, measured: Measured) -> Measured:
        return scaled(measured, 1.06) if self.arm == CONTROL else measured


def scaling(levels: str, *factors: str, compare: str = "") -> str:
    """A scaling study over these numbers of threads."""
    return designed(
        "scaling",
        THREADS.format(levels=levels),
        *factors,
        extra=f'factor = "threads"\nblocks = 8{compare}',
        budget="5h",
    )


def crossing(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """All get faster with threads; the cache hurts below 6 of them and helps beyond."""
    n = settings["threads"]
    gain = 0.15 * math.log2(n / 6) if settings["data_cache"] == "optimistic" else 0.0
    return n / (1 + 0.05 * (n - 1)) * math.exp(gain)


def at_rates(number: int, measured: Measured) -> Measured:
    """A run that was asked for its throughput, and got at most 9 million a second."""
    asked = measured.metrics["throughput"]
    reached = min(asked, 9e6)
    latency = 1e5 / max(0.02, 1.02 - asked / 9e6) * (1 + 0.01 * random.Random(number).random())
    metrics = {**measured.metrics, "throughput": reached, "latency_p50": latency}
    rates = {"asked_per_s": asked, "achieved_per_s": reached}
    health = measured.health.model_copy(update=rates)
    return replace(measured, metrics=metrics, health=health)


def along(axis: str, *factors: str, primary: str = "throughput") -> str:
    """A study along an axis over threads."""
    text = designed("one-at-a-time", *factors, budget="15min")
    text = text.replace("[design]", f'[[axis]]\nname = "threads"\n{axis}\n\n[design]')
    also = '"throughput"' if primary != "throughput" else '"latency_p99"'
    text = text.replace('"latency_p99", "cpu_per_operation", "contention.data_cache"', also)
    return text.replace('primary = "throughput"', f'primary = "{primary}"')


THREE = (HINT, CACHE, PADDING)
FIVE = (*THREE, LOCK, SPIN)
COMPARE = '\ncompare = "cache"'
LEVELS = "1, 2, 4, 8, 12, 16, 24, 32, 48, 64"
FLIPS = partial(FakeTarget, effect=flipping)
STACKS = partial(FakeTarget, effect=stacking)

DESIGNS: dict[str, Callable[[Path], Bundle]] = {
    "flip": lambda f: made(f, designed("factorial", *THREE), FLIPS()),
    "screen": lambda f: made(f, designed("screen", *THREE), FLIPS()),
    "fraction": lambda f: made(f, designed("screen", *FIVE, extra="size = 8"), STACKS()),
    "nothing": lambda f: made(f, designed("screen", *THREE), FakeTarget(noise=0.05)),
    "race": lambda f: made(f, designed("race", HINT, CACHE, LOCK, SPIN), STACKS()),
    "scaling": lambda f: made(
        f, scaling(LEVELS, CACHE, compare=COMPARE), FakeTarget(effect=by_law), facts=MANY_CPUS
    ),
    "refused": lambda f: made(
        f, scaling("1, 2, 3, 4, 6, 8", CACHE, compare=COMPARE), FakeTarget(effect=at_the_cpus)
    ),
    "extended": lambda f: made(
        f, designed("one-at-a-time", HINT, CACHE, budget="20s"),
        FakeTarget(effect=little, noise=0.1), extensions=1,
    ),
    "slow-runs": lambda f: made(
        f, designed("one-at-a-time", *THREE, budget="80s"),
        FakeTarget(effect=Rarely(), noise=0.02), full=True,
    ),
    "curves": lambda f: made(
        f, along("points = [1, 2, 4, 8, 16, 32]\nusl = true", CACHE),
        FakeTarget(effect=crossing), facts=MANY_CPUS,
    ),
    "refined": lambda f: made(
        f, along('points = "auto"\nfrom = 1\nto = 256', CACHE), FakeTarget(effect=crossing)
    ),
    "rates": lambda f: made(
        f, along("points = [1, 2, 4, 8, 12]", CACHE, primary="latency_p50"),
        FakeTarget(effect=lambda s, e: s["threads"], script=at_rates),
    ),
    "told-apart": lambda f: made(f, designed("factorial", *THREE), FLIPS(), watcher=Tells),
}  # fmt: skip
