"""Bundles of every kind that a report must cope with, made on the fake target.

`SAMPLES` names them; `python tests/report/report_samples.py FOLDER` writes them all with their
reports, to be looked at. A sample is made once.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from design_samples import COMPARE, DESIGNS, along, designed, scaling
from sample_kit import CACHE, HEAD, HINT, PADDING, TAIL, effect, made

from assay.record import Bundle
from assay.report.html.page import report_html
from assay.report.html.view import ReportView, view
from assay.targets import Measured
from fakes import FACTS, Effect, FakeTarget, histogram, throttled, with_kinds
from speeds_kit import TwoSpeeds
from timeline_kit import stalling

EVIL = "<script>alert(1)</script>"


def by_threads(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """The hint costs 9 % with few threads and gains 40 % with many."""
    many = settings["hint"] == "pause" and settings["threads"] == 8
    return effect(settings, env) * (1.4 / 0.91 if many else 1.0)


def cases(text: str) -> str:
    """The study with two cases in place of its one."""
    text = text.replace('"60s"', '"5min"').replace(
        '[target]\nkind = "engine"\n\n[workload]\nkind = "ycsb"\n', ""
    )
    both = "".join(
        f'\n[[case]]\nname = "{name}"\ntarget = {{kind = "engine", threads = {threads}}}\n'
        f'workload = {{kind = "ycsb"}}\n'
        for name, threads in (("few threads", 2), ("many threads", 8))
    )
    return text.replace("[design]", f"{both}\n[design]")


def wide(number: int, measured: Measured) -> Measured:
    """The same run on 64 CPUs, the odd ones half idle, with a long tail of latencies."""
    slow = histogram(5e6)
    still = {"user": 0.0, "system": 0.0, "softirq": 0.0, "steal": 0.0}
    tail = [{"cpu": c, "busy": 0.9 - 0.4 * (c % 2) - 0.001 * c, **still} for c in range(64)]
    return replace(measured, cpus=tail, histogram=slow if number % 9 == 0 else measured.histogram)


def disturbed(number: int, measured: Measured) -> Measured:
    """Two runs with a client that was the limit."""
    return throttled(measured) if number in (4, 17) else measured


def quiet(number: int, measured: Measured) -> Measured:
    """A run that recorded neither latencies nor CPUs."""
    return replace(measured, histogram="", cpus=[])


def failing(number: int, launch: Any) -> bool:
    """The hint's server does not start at times."""
    return launch.settings["hint"] == "pause" and number % 4 == 0


def always_throttled(number: int, measured: Measured) -> Measured:
    """From the ninth block on the client is the limit."""
    return throttled(measured) if number > 25 else measured


PLAIN = HEAD + HINT + CACHE + PADDING + TAIL
FACTORIAL = (HEAD + HINT + CACHE + TAIL).replace("one-at-a-time", "factorial")
LADDER = (HEAD + CACHE + PADDING + TAIL).replace(
    '"one-at-a-time"', '"ladder"\norder = ["cache", "padding"]'
)
TARGET = partial(FakeTarget, effect=effect)
CASES = partial(FakeTarget, effect=by_threads, noise=0.03)
GREAT = partial(FakeTarget, effect=lambda s, e: 9.0 if s["data_cache"] == "optimistic" else 1.02)


def two_speeds(gain: float, plain: float, hinted: float) -> FakeTarget:
    """A target whose runs are slow with a chance by arm."""
    speeds = TwoSpeeds(gain, plain, hinted)
    return FakeTarget(effect=speeds.speed, script=speeds.counted, noise=0.004)


def wandering() -> Effect:
    """A machine that is slow for ten blocks of two arms, then fast for ten."""
    made = itertools.count()
    return lambda settings, env: 0.6 if next(made) // 20 % 2 else 1.0


LONG = (HEAD + HINT + TAIL).replace('"60s"', '"120s"')
FINE = LONG.replace('"5%"', '"0.5%"')

SAMPLES: dict[str, Callable[[Path], Bundle]] = {
    "plain": lambda f: made(f, PLAIN),
    "factorial": lambda f: made(f, FACTORIAL),
    "ladder": lambda f: made(f, LADDER),
    "cases": lambda f: made(f, cases(PLAIN), CASES(stand_in="the engine stands for a server")),
    "voids": lambda f: made(f, PLAIN, TARGET(script=disturbed)),
    "failures": lambda f: made(f, PLAIN, TARGET(broken=failing)),
    "stopped": lambda f: made(f, PLAIN, TARGET(script=always_throttled, noise=0.1)),
    "invalid": lambda f: made(f, PLAIN, TARGET(lies={"padding": 64, "lock_stride_bytes": 64})),
    "latency": lambda f: made(f, lower(PLAIN)),
    "wide": lambda f: made(f, PLAIN, GREAT(script=wide), facts={**FACTS, "cpus": 64, "can": CAN}),
    "empty": lambda f: made(f, PLAIN, runs=False),
    "unmeasured": lambda f: made(f, PLAIN, TARGET(script=quiet), facts={**LEAST}),
    "kinds": lambda f: made(f, PLAIN, TARGET(script=with_kinds(KINDS)), full=True),
    "speeds": lambda f: made(f, LONG, two_speeds(0.03, 0.4, 0.4), full=True),
    "own-speeds": lambda f: made(f, LONG, two_speeds(0.0, 0.0, 0.5), full=True),
    "together": lambda f: made(f, FINE, FakeTarget(effect=wandering(), noise=0.01), full=True),
    "timeline": lambda f: made(f, PLAIN, TARGET(script=stalling(0.3))),
    "timeline-bare": lambda f: made(f, evil(PLAIN), TARGET(script=stalling(0.3, series=False))),
    "undecided": lambda f: made(f, PLAIN.replace('"60s"', '"30s"'), TARGET(noise=0.2)),
    **DESIGNS,
    "evil-screen": lambda f: made(f, evil(designed("screen", HINT, CACHE, PADDING))),
    "evil-scaling": lambda f: made(f, evil(scaling("1, 2, 4, 6, 8, 12", CACHE, compare=COMPARE))),
    "evil-curves": lambda f: made(f, evil(along("points = [1, 2, 4]", CACHE))),
    "evil-kinds": lambda f: made(f, evil(PLAIN), TARGET(script=with_kinds(EVIL_KINDS))),
    "evil": lambda f: made(f, evil(PLAIN), TARGET(stand_in=f"stand-in {EVIL}")),
}
KINDS = {
    "read": (7e5, 1e6),
    "update": (1e6, 1e6),
    "scan": (3e6, 2e6),
    **{f"q{n:02d}": (1e6 * (1 + n % 3), 1e6 * (1 + n % 3)) for n in range(12)},
}
EVIL_KINDS = {f"{EVIL} {n}": (7e5, 1e6) for n in range(3)}
CAN = {
    "pmu": {"ok": False, "why": "perf_event_paranoid is 4"},
    "htm": {"state": "always-aborts", "why": "the microcode turned it off"},
    "numa": {"ok": True, "why": ""},
}
LEAST = {"arch": "x86_64", "cpus": 2, "cpu_features": []}


def lower(text: str) -> str:
    """The same study about a metric of which less is better."""
    return (
        text.replace('"latency_p99"', '"-"')
        .replace('"throughput"', '"latency_p99"')
        .replace('"-"', '"throughput"')
    )


def evil(text: str) -> str:
    """The same study with markup wherever a user may write text."""
    text = text.replace('"cache-and-hint"', f'"{EVIL}"').replace('"cache"', f"'cache{EVIL}'")
    return text.replace("Which change", "Which </script><img src=x onerror=alert(2)> change")


@dataclass
class Made:
    """Sample bundles, their views and their pages by name, each made once."""

    folder: Path
    views: dict[str, ReportView] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)

    def bundle(self, name: str) -> Bundle:
        found = self.folder / name
        return Bundle.open(found) if found.exists() else SAMPLES[name](found)

    def view(self, name: str) -> ReportView:
        """What the report of a sample says."""
        if name not in self.views:
            self.views[name] = view(self.bundle(name))
        return self.views[name]

    def html(self, name: str) -> str:
        """The report of a sample."""
        if name not in self.pages:
            self.pages[name] = report_html(self.bundle(name))
        return self.pages[name]

    def page(self, name: str) -> Path:
        """The report of a sample, as a file."""
        path = self.folder / f"{name}.html"
        if not path.exists():
            path.write_text(self.html(name), "utf-8")
        return path


if __name__ == "__main__":
    everything = Made(Path(sys.argv[1]))
    everything.folder.mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        everything.page(sample)
