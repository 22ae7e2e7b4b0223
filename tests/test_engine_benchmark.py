"""What benchmarks/engine.py makes of the lines of the native program, which is not run here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import engine
import pytest

GOOD, BAD = 0.01, 0.2
TIMES = {"dashmap": 0.8, "lmdb": 5.0, "sqlite": 10.0, "redb": 20.0}
"""How many times as fast as these the engine is made, on reads with one thread."""


def turn(peer: str, round_: int, rate: float, foreign: float, **cell: object) -> str:
    """A line of the program."""
    return json.dumps(
        {"value_bytes": 100, "workload": "c", "threads": 1, **cell}
        | {"peer": peer, "round": round_, "operations": rate * 2, "seconds": 2.0}
        | {"foreign_cpu": foreign, "calibrator": 700.0}
    )


def heads() -> Iterator[str]:
    """What stands before the turns."""
    classes = {"dashmap": "map"}
    for name in (engine.HASH, engine.HASH + engine.BATCH, engine.TREE, *TIMES, "lmdb-batch"):
        kind = classes.get(name, "transactional")
        yield json.dumps({"contestant": name, "class": kind, "settings": ""})


def lines(rounds: int = 15, spoiled: tuple[int, ...] = ()) -> Iterator[str]:
    """A race on reads with one thread, in which every rate wobbles by a percent."""
    yield from heads()
    for number in range(rounds):
        foreign = BAD if number in spoiled else GOOD
        ours = 1e7 * (1 + 0.01 * (number % 3))
        # Who is disturbed is also measured wrongly: ten times too slow.
        yield turn(engine.HASH, number, ours / (10 if number in spoiled else 1), foreign)
        yield turn(engine.HASH + engine.BATCH, number, ours * 2, foreign)
        yield turn("lmdb-batch", number, ours * 2 / 3, foreign)
        for name, times in TIMES.items():
            yield turn(name, number, 1e7 / times * (1 + 0.01 * (number % 2)), foreign)


def goals(race: engine.Race) -> dict[str, engine.Row]:
    """The rows with a goal, by rival."""
    return {row.rival: row for row in engine.ycsb_rows(race) if row.goal}


def test_a_goal_is_met_only_when_the_lower_end_of_the_ratio_is_above_it():
    """Four ratios of known size against the goals of reads."""
    found = goals(engine.read(lines()))
    for name, times in TIMES.items():
        assert found[name].ratio == pytest.approx(times, rel=0.02)
        assert found[name].low <= found[name].ratio <= found[name].high
    assert {name: row.met for name, row in found.items()} == {
        "dashmap": False, "lmdb": True, "sqlite": True, "redb": True,
    }  # fmt: skip


def test_a_ratio_near_its_goal_but_unsure_misses_it():
    """The estimate is above the goal, the interval's lower end is not."""
    race = engine.read(lines())
    cell = engine.Cell(100, "c", 1)
    rates = race.rates[cell]
    lmdb = {number: rate / 4.0 for number, rate in rates[engine.HASH].items()}
    rates["lmdb"] = {number: rate * (1 + 0.3 * (number % 2)) for number, rate in lmdb.items()}
    row = goals(race)["lmdb"]
    assert row.ratio > 3.5 > row.low
    assert not row.met


def test_who_is_told_sixteen_operations_is_compared_with_who_is_told_sixteen():
    """Two columns; a rival that cannot be told has nothing in the second."""
    rows = list(engine.ycsb_rows(engine.read(lines())))
    pairs = {(row.metric.rsplit(", ")[-1], row.rival) for row in rows if row.rival}
    assert pairs == {
        (engine.HASH + engine.BATCH, "lmdb-batch"),
        *((engine.HASH, it) for it in TIMES),
    }
    lines_of = engine.ratio_table(rows).splitlines()
    lmdb, dashmap = (next(it for it in lines_of if name in it) for name in ("lmdb", "dashmap"))
    assert re.search(r" [45]\.\d+x \[.*\] +[23]\.\d+x \[", lmdb)
    assert dashmap.endswith(" -")


def test_disturbed_rounds_do_not_count():
    """Rounds in which others had the CPU change no ratio, and are counted."""
    race = engine.read(lines(rounds=15, spoiled=(2, 5, 7, 8)))
    cell = engine.Cell(100, "c", 1)
    assert sorted(race.rates[cell]["lmdb"]) == [0, 1, 3, 4, 6, 9, 10, 11, 12, 13, 14]
    assert race.disturbed[cell] == 4
    assert goals(race)["lmdb"].ratio == pytest.approx(5, rel=0.02)
    assert "4 left out" in engine.disturbance(race)


def test_too_few_rounds_meet_no_goal():
    """Without an interval there is nothing to meet a goal with."""
    found = goals(engine.read(lines(rounds=3)))
    assert found["redb"].low is None
    assert not any(row.met for row in found.values())
    assert "open: too few rounds" in engine.goal_line(found["redb"])


def test_a_race_that_was_always_disturbed_meets_nothing():
    """Goals without a single round are named, not forgotten."""
    race = engine.read(lines(rounds=4, spoiled=(0, 1, 2, 3)))
    assert goals(race) == {}
    assert len(engine.unmeasured(race)) == len(engine.GOALS["c", 1])
    assert engine.unmeasured(engine.read(lines(rounds=4, spoiled=(0,)))) == []
    assert "every round was disturbed" in engine.text(race, [], [], [])


def test_maps_and_stores_stand_in_different_tables():
    """The engine is in both, each rival in one."""
    race = engine.read(lines())
    stores = engine.table(race, 100, ("transactional", "atomic"), "stores")
    maps = engine.table(race, 100, ("map",), "maps")
    assert "lmdb" in stores
    assert "lmdb" not in maps
    assert "dashmap" in maps
    assert "dashmap" not in stores
    assert engine.HASH in stores
    assert engine.HASH in maps


@pytest.mark.parametrize(("rate", "is_met"), [(41_000, True), (39_000, False)])
def test_the_rate_of_tpc_c_has_a_goal_of_its_own(rate: float, is_met: bool):
    """40,000 transactions a second on two threads, and ten times SQLite."""
    cell = {"value_bytes": 0, "workload": "tpcc", "threads": 2}
    turns = [
        turn(name, number, speed * (1 + 0.001 * (number % 3)), GOOD, **cell)
        for number in range(15)
        for name, speed in ((engine.HASH, rate), ("sqlite", 3_000))
    ]
    rows = list(engine.tpcc_rows(engine.read([*heads(), *turns])))
    assert [row.goal for row in rows] == [">= 40000 txn/s", ">= 10x"]
    assert [row.met for row in rows] == [is_met, True]
    assert rows[0].low == pytest.approx(rate, rel=0.01)


def test_the_text_names_goals_hopes_and_disturbance():
    """Everything for people in one go."""
    race = engine.read(lines())
    text = engine.text(race, list(engine.ycsb_rows(race)), list(engine.hope_rows(race)), [])
    assert "YCSB-C, 1 thread, 100 bytes" in text
    assert ">= 0.9x MISSED" in text
    assert "15 rounds counted (at least 15 of each kind), 0 left out" in text
