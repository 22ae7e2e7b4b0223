"""Profiles of two arms compared: shares, intervals, costs, and which of many stand out."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from assay.explain import OTHERS, ProfileDifference, differences
from assay.explain.profile import SHOWN
from assay.record import Bundle, RunProfile, counting
from assay.report import profile_lines
from assay.stats.secondary import benjamini_hochberg
from assay.study import Study
from fakes import FakeTarget
from profile_kit import WANTING, profile_of, profiled_bundle

MakeBundle = Callable[..., Bundle]


def shares(settings: Mapping[str, Any], number: int) -> RunProfile:
    """With the other cache a third of the time is gone from `latch`; all else is noise."""
    drawn = random.Random(number)
    is_free = settings["data_cache"] == "optimistic"
    latch = drawn.randrange(40, 60) if is_free else drawn.randrange(280, 320)
    chains = {
        ("main", "serve", "latch"): latch,
        ("main", "serve"): drawn.randrange(190, 210),
        ("main", "serve", "serve"): 100,
        ("main", "parse"): drawn.randrange(290, 310),
        ("main",): 60,
        ("main", "rare"): drawn.randrange(0, 3),
        ("main", "seldom"): drawn.randrange(0, 3),
    }
    return profile_of({chain: count for chain, count in chains.items() if count})


@pytest.fixture
def make(
    tmp_path: Path, fake: FakeTarget, read_study: Callable[..., Study], monkeypatch: Any
) -> MakeBundle:
    """A profiled bundle of the fake study."""

    def made(says: Any = shares) -> Bundle:
        return profiled_bundle(tmp_path / "b", fake, read_study(WANTING), says, monkeypatch)

    return made


def of_arm(found: list[ProfileDifference], arm: str) -> ProfileDifference:
    return next(d for d in found if d.arm == arm)


def test_what_moved_is_first_and_what_did_not_does_not_stand_out(make: MakeBundle) -> None:
    """Each arm is compared with the one that its verdict compares it with."""
    found = differences(make())
    assert {(d.arm, d.against) for d in found} == {("hint", "baseline"), ("cache", "baseline")}
    cache = of_arm(found, "cache")
    first = cache.functions[0]
    assert (first.name, first.modules) == ("latch", ("server",))
    assert first.stands_out
    assert first.own.low is not None
    assert first.own.high is not None
    assert first.own.low <= first.own.difference <= first.own.high < -0.15
    assert first.own.before > 0.25
    assert first.own.after < 0.08
    assert all(abs(m.own.difference) < 0.02 for m in of_arm(found, "hint").functions)


def test_where_nothing_differs_nothing_stands_out(make: MakeBundle) -> None:
    """Among many functions some move by chance."""
    found = differences(make(lambda settings, number: shares({"data_cache": ""}, number)))
    assert sum(len(d.functions) for d in found) > 8
    assert not any(m.stands_out for d in found for m in d.functions)


def test_a_large_function_stands_out_where_small_ones_need_more_blocks(make: MakeBundle) -> None:
    """Eight blocks cannot say more than p = 0.0078 of any: without weights, too little for one
    among forty."""

    def says(settings: Mapping[str, Any], number: int) -> RunProfile:
        drawn = random.Random(f"still {number}")
        is_free = settings["data_cache"] == "optimistic"
        still = {("main", f"f{n}"): drawn.randrange(15, 26) for n in range(40)}
        moved = {("main", "large"): 100 if is_free else 500, ("main", "wait"): 100 + 400 * is_free}
        found = profile_of(still | moved)
        return found if number < 24 else found.model_copy(update={"late_s": 9.0})

    cache = of_arm(differences(make(says)), "cache")
    p_values = {m.name: m.p_value for m in cache.functions}
    assert (cache.blocks, p_values["large"]) == (8, 2 / 2**8)
    assert "large" not in benjamini_hochberg(p_values, 0.10)
    assert {m.name for m in cache.functions if m.stands_out} == {"large", "wait"}


def test_every_share_is_what_a_slow_and_obvious_twin_gives(make: MakeBundle) -> None:
    """Own and total share, time per operation, estimate and interval, from the raw runs."""
    bundle = make()
    cache = of_arm(differences(bundle), "cache")
    runs = counting(bundle.runs(), bundle.verdicts().blocks)
    by_arm = {a: {r.block: r for r in runs if r.arm == a} for a in ("baseline", "cache")}
    blocks = sorted(set(by_arm["baseline"]) & set(by_arm["cache"]))
    assert cache.blocks == len(blocks) >= 6
    for moved in cache.functions:
        if moved.name == OTHERS:
            continue
        own, total, cost = [], [], []
        for arm in ("baseline", "cache"):
            own.append([share(bundle, by_arm[arm][b], moved.name, own=True) for b in blocks])
            total.append([share(bundle, by_arm[arm][b], moved.name, own=False) for b in blocks])
            cpu = [by_arm[arm][b].metrics["cpu_per_operation"] for b in blocks]
            cost.append([s * c for s, c in zip(own[-1], cpu, strict=True)])
        assert moved.total is not None
        assert moved.cost is not None
        for between, (before, after) in (
            (moved.own, own),
            (moved.total, total),
            (moved.cost, cost),
        ):
            assert between.before == pytest.approx(statistics.fmean(before))
            assert between.after == pytest.approx(statistics.fmean(after))
            walsh = walsh_averages([a - b for b, a in zip(before, after, strict=True)])
            assert between.difference == pytest.approx(statistics.median(walsh), abs=1e-9)
            depth = depth_of(len(blocks))
            expected = (walsh[depth - 1], walsh[-depth])
            assert (between.low, between.high) == pytest.approx(expected, abs=1e-9)


def share(bundle: Bundle, run: Any, name: str, own: bool) -> float:
    """A function's share of a run's samples, sample by sample."""
    profile = bundle.profile(run)
    assert profile is not None
    hits = 0
    for stack in profile.stacks:
        for _ in range(stack.count):
            chain = [profile.functions[i].name for i in stack.frames]
            hits += chain[-1] == name if own else name in chain
    return hits / profile.samples


def walsh_averages(values: list[float]) -> list[float]:
    return sorted((a + b) / 2 for a, b in combinations_with_replacement(values, 2))


def depth_of(count: int) -> int:
    """How many of the lowest rank sums hold at most 2.5 % of all sign patterns."""
    ways = [1]
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for place, number in enumerate(ways):
            longer[place + rank] += number
        ways = longer
    depth, sum_of = 0, 0
    while 2 * (sum_of + ways[depth]) <= 0.05 * 2**count:
        sum_of += ways[depth]
        depth += 1
    return depth


def test_small_functions_are_summed_as_others_and_nothing_is_lost(make: MakeBundle) -> None:
    """All own shares of an arm add up to one."""
    cache = of_arm(differences(make()), "cache")
    names = [m.name for m in cache.functions]
    assert names[-1] == OTHERS
    assert "rare" not in names
    assert "seldom" not in names
    assert math.isclose(sum(m.own.before for m in cache.functions), 1.0)
    assert math.isclose(sum(m.own.after for m in cache.functions), 1.0)
    others = cache.functions[-1]
    assert others.total is None
    assert not others.stands_out
    assert all(max(m.own.before, m.own.after) >= SHOWN for m in cache.functions[:-1])


def test_a_function_that_calls_itself_is_in_a_sample_once(make: MakeBundle) -> None:
    """A total share is never above one."""
    cache = of_arm(differences(make()), "cache")
    main = next(m for m in cache.functions if m.name == "main")
    assert main.total is not None
    assert main.total.before == 1.0


def test_a_share_that_grew_may_be_a_time_that_did_not(make: MakeBundle) -> None:
    """`parse` costs the same in both arms: its share grows because the rest shrank."""
    cache = of_arm(differences(make()), "cache")
    parse = next(m for m in cache.functions if m.name == "parse")
    assert parse.own.low is not None
    assert parse.own.low > 0.05
    assert parse.cost is not None
    assert parse.cost.after / parse.cost.before == pytest.approx(1.0, abs=0.15)


def test_profiles_that_are_not_of_their_window_do_not_count(make: MakeBundle) -> None:
    """A profiler that had to wait for a CPU has sampled another time."""

    def late(settings: Mapping[str, Any], number: int) -> RunProfile:
        found = shares(settings, number)
        changes = {0: {"late_s": 0.2}, 1: {"seconds": 0.1}, 2: {"samples": 0, "stacks": []}}
        return found.model_copy(update=changes.get(number, {}))

    found = differences(make(late))
    assert {d.unused for d in found} == {3}


def test_too_few_blocks_have_no_interval(make: MakeBundle) -> None:
    """Rather than one that means nothing."""
    kept = 5

    def few(settings: Mapping[str, Any], number: int) -> RunProfile:
        found = shares(settings, number)
        return found if number < 3 * kept else found.model_copy(update={"late_s": 9.0})

    cache = of_arm(differences(make(few)), "cache")
    assert cache.blocks == kept
    assert all(m.own.low is None and m.own.high is None for m in cache.functions)


def test_a_bundle_without_profiles_has_no_differences(finished: Bundle) -> None:
    """And nothing is said of them."""
    assert differences(finished) == []
    assert profile_lines(finished, finished.verdicts()) == []


def test_the_terminal_says_what_moved_and_what_may_be_chance(make: MakeBundle) -> None:
    """In a few lines for each comparison."""
    bundle = make()
    said = [line.text for line in profile_lines(bundle, bundle.verdicts())]
    latch = next(text for text in said if text.strip().startswith("latch"))
    assert "->" in latch
    assert "points" in latch
    assert "per operation" in latch
    assert "may be chance" not in latch
    assert any(text.startswith("cache against baseline:") for text in said)
    hint = said[said.index(next(t for t in said if t.startswith("hint against"))) + 1]
    assert "may be chance" in hint or "no function's share" in hint
