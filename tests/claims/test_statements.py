"""Every kind of statement: what makes it follow, what makes it not, and what is said."""

from __future__ import annotations

import pytest

from assay.claims import Result
from claim_kit import audited, only

MONEY = """
[value]
machine = { is = "800 USD", exact = true }
[table.money]
place = "page 7"
[table.money.columns]
arm = "TPS"
arm_per_usd = "TPS/USD"
x86 = "TPS"
x86_per_usd = "TPS/USD"
saving = "%"
[table.money.rows]
cpu = ["96137", "120", "39596", "49", "145"]
[[table.money.derived]]
cells = "arm_per_usd"
from = "arm / machine"
[[table.money.derived]]
cells = "x86_per_usd"
from = "x86 / machine"
[[table.money.derived]]
cells = "saving"
kind = "saving"
of = "1 / arm_per_usd"
over = "1 / x86_per_usd"
"""


def test_a_gain_called_a_saving_is_of_the_wrong_kind() -> None:
    """The saving that the cells give is named, and why the number printed was found at all."""
    first, second, third = audited(MONEY)
    assert first.result is second.result is Result.FOLLOWS
    assert third.result is Result.WRONG_KIND
    assert third.recomputed is not None
    assert third.recomputed == pytest.approx((58.81, 58.81), abs=0.01)
    assert "cannot exceed 100 %" in third.reason
    assert "gain in work per cost (142.8 %, from cells that were rounded before)" in third.reason
    assert third.place == "page 7"


def test_what_only_rounded_cells_give_does_not_follow() -> None:
    """120 / 49 is 2.45; but 96137 / 39596, from which they come, is 2.43."""
    text = """
[[statement]]
says = "2.45 times"
kind = "times"
stated = "2.45 times"
of = "money.cpu.arm_per_usd"
over = "money.cpu.x86_per_usd"
"""
    row = audited(MONEY + text)[-1]
    assert row.result is Result.NOT
    assert row.reason.startswith("as a ratio it is 2.428; 2.45 times follows only from cells")


def figure(kind: str, stated: str, of: str, over: str) -> str:
    new, old = (value if " " in value else f"{value} op/s" for value in (of, over))
    number = f'stated = "{stated}"' if stated else ""
    return f"""
[value]
new = {{ is = "{new}" }}
old = {{ is = "{old}" }}
[[statement]]
says = "so much"
place = "page 1"
kind = "{kind}"
{number}
of = "new"
over = "old"
"""


@pytest.mark.parametrize(
    ("kind", "stated", "of", "over", "result", "said"),
    [
        ("gain", "136 %", "230.1", "97.3", Result.FOLLOWS, "as an increase"),
        (
            "gain",
            "236 %",
            "230.1",
            "97.3",
            Result.WRONG_KIND,
            "the ratio of the two (236.3 to 236.7 %)",
        ),
        ("gain", "150 %", "230.1", "97.3", Result.NOT, "136.3 to 136.7 %"),
        ("gain", "136.4 %", "230.1", "97.3", Result.FOLLOWS, ""),
        ("gain", "45 %", "145", "100", Result.FOLLOWS, ""),
        ("gain", "31.0 %", "1450", "1000", Result.WRONG_KIND, "lower lies below the higher"),
        ("gain", "25 %", "6285.0", "4991.0", Result.NOT, "cut off, not rounded"),
        ("reduction", "31 %", "2569", "3725", Result.FOLLOWS, "as a reduction"),
        ("reduction", "45 %", "2569", "3725", Result.WRONG_KIND, "gain of the other over it"),
        ("saving", "41 %", "2745", "4687", Result.FOLLOWS, "saving at equal work"),
        ("saving", "120 %", "2745", "4687", Result.WRONG_KIND, "cannot exceed 100 %"),
        ("times", "2.4 times", "230.1", "97.3", Result.FOLLOWS, ""),
        ("times", "1.4 times", "230.1", "97.3", Result.WRONG_KIND, "one less than the ratio"),
        ("times", "at least 10 times", "230.1", "97.3", Result.NOT, "2.363 to 2.367"),
        ("percent", "~3.9 %", "41240", "42870", Result.FOLLOWS, "as a reduction"),
        ("percent", "~3.95 %", "41240", "42870", Result.FOLLOWS, "as an increase"),
        ("percent", "7 %", "41240", "42870", Result.NOT, "3.80"),
        # From 10 % to 15 % is 5 points, or 50 % more.
        ("points", "5 %", "15.0 % of x", "10.0 % of x", Result.FOLLOWS, ""),
        ("gain", "50 %", "15.0 % of x", "10.0 % of x", Result.FOLLOWS, ""),
        ("gain", "5 %", "15.0 % of x", "10.0 % of x", Result.WRONG_KIND, "points"),
        ("gain", "50 %", "?", "10", Result.UNCHECKED, "not printed: new"),
        # 0.00 may have been anything up to 0.005.
        ("gain", "50 %", "10", "0.00", Result.UNCHECKED, "a divisor can be zero"),
    ],
)
def test_a_percentage_is_held_against_its_kind(
    kind: str, stated: str, of: str, over: str, result: Result, said: str
) -> None:
    """The same two numbers, stated in different ways."""
    row = only(figure(kind, stated, of, over))
    assert (row.result, said in row.reason) == (result, True), row.reason
    assert (row.recomputed is None) == (result is Result.UNCHECKED)


RANGE = """
[table.uplift]
place = "page 2"
columns = { isb = "%" }
[table.uplift.rows]
two = ["2.03 - 2.22"]
four = ["2.70 - HIGH"]
[[statement]]
says = "2-5 %"
kind = "range"
stated = "2 - 5 %"
from = "uplift.isb"
"""


@pytest.mark.parametrize(
    ("high", "result"), [("4.90", Result.FOLLOWS), ("5.4", Result.FOLLOWS), ("10.75", Result.NOT)]
)
def test_a_range_holds_both_ends_of_every_value(high: str, result: Result) -> None:
    """Within the rounding of its own ends."""
    row = only(RANGE.replace("HIGH", high))
    assert row.result is result
    assert f"{float(high):g}"[:3] in row.reason


TABLE = """
[table.t]
place = "page 3"
[table.t.columns]
busy = "%"
xacts = "tx/s"
log = "%"
[table.t.better]
busy = "lower"
xacts = "higher"
log = "lower"
[table.t.rows]
none = ["89.4", "91.1", "4.1"]
better = ["86.3", "108.6", "3.1"]
mixed = ["86.3", "102.6", "10.7"]
same = ["86.3", "102.6", "10.7"]
[[statement]]
says = "of every measure"
"""


@pytest.mark.parametrize(
    ("kind", "keys", "result"),
    [
        ("compare", 'of = "t.better"\nover = "t.none"', Result.FOLLOWS),
        ("compare", 'of = "t.mixed"\nover = "t.none"', Result.NOT),
        ("compare", 'of = "t.mixed"\nover = "t.none"\nin = "most"', Result.FOLLOWS),
        ("compare", 'of = "t.mixed"\nover = "t.none"\nin = "almost every"', Result.NOT),
        ("compare", 'of = "t.mixed"\nover = "t.none"\nin = "some"', Result.FOLLOWS),
        ("compare", 'of = "t.mixed"\nover = "t.none"\nin = "none"', Result.NOT),
        (
            "compare",
            'of = "t.mixed"\nover = "t.none"\nmeasures = ["busy", "xacts"]',
            Result.FOLLOWS,
        ),
        ("compare", 'of = "t.mixed"\nover = "t.none"\nword = "mixed"', Result.FOLLOWS),
        ("compare", 'of = "t.better"\nover = "t.none"\nword = "mixed"', Result.NOT),
        ("compare", 'of = "t.same"\nover = "t.mixed"\nword = "equal"', Result.FOLLOWS),
        ("compare", 'of = "t.same"\nover = "t.mixed"\nword = "no better"', Result.FOLLOWS),
        ("compare", 'of = "t.same"\nover = "t.mixed"\nword = "better"\nin = "some"', Result.NOT),
        ("compare", 'of = "t.none"\nover = "t.better"\nword = "worse"', Result.FOLLOWS),
        ("compare", 'of = "t.none"\nover = "t.better"\nword = "no worse"', Result.NOT),
        (
            "compare",
            'of = ["t.better", "t.mixed"]\nover = "t.none"\nmeasures = ["xacts"]',
            Result.FOLLOWS,
        ),
        ("best", 'of = "t.better"\namong = ["t.none", "t.mixed"]', Result.FOLLOWS),
        ("best", 'of = "t.mixed"\namong = ["t.none", "t.better"]', Result.NOT),
        (
            "best",
            'of = "t.mixed"\namong = ["t.none", "t.same"]\nmeasures = ["xacts"]',
            Result.FOLLOWS,
        ),
        ("best", 'of = "t.none.busy"\namong = "t.mixed.busy"\nbetter = "higher"', Result.FOLLOWS),
    ],
)
def test_words_over_a_table_count_measure_by_measure(kind: str, keys: str, result: Result) -> None:
    """By the direction that each column has; a tie is no defeat of the best."""
    assert only(f'{TABLE}kind = "{kind}"\n{keys}').result is result


def test_numbers_whose_intervals_overlap_are_neither_more_nor_less() -> None:
    """Two ranges of runs that overlap decide nothing; quantifiers that do not hang on them do."""
    text = """
[table.u]
columns = { isb = "%", hint = "%" }
better = { isb = "higher", hint = "higher" }
[table.u.rows]
two = ["1.03 - 1.22", "0 - 0.51"]
eight = ["1.1 - 2.33", "1.05 - 2.31"]
[[statement]]
says = "ISB is better"
kind = "compare"
of = ["u.two.isb", "u.eight.isb"]
over = ["u.two.hint", "u.eight.hint"]
better = "higher"
"""
    assert only(text).result is Result.UNCHECKED
    assert "unclear" in only(text).reason
    assert only(text + 'in = "some"').result is Result.FOLLOWS


def test_shares_of_different_things_are_not_added() -> None:
    """Stacked percentages of three caches are a total of nothing."""
    text = """
[value]
a = { is = "66.0 % of data cache grabs" }
b = { is = "28.5 % of log cache grabs" }
c = { is = "12.0 % of log cache grabs" }
[[statement]]
says = "in total"
stated = "94.5 %"
from = "a + b"
[[statement]]
says = "of one cache"
stated = "40.5 %"
from = "b + c"
"""
    first, second = audited(text)
    assert first.result is Result.WRONG_KIND
    assert "data cache grabs and log cache grabs" in first.reason
    assert second.result is Result.FOLLOWS


@pytest.mark.parametrize(
    ("masks", "covers", "result"),
    [
        (["fe", "fe00"], [*range(1, 8), *range(9, 16)], Result.FOLLOWS),
        (["ff", "ff00"], [*range(1, 8), *range(9, 16)], Result.NOT),
        (["fe0000"], list(range(17, 24)), Result.NOT),
        (["00000000,00000002"], [1], Result.FOLLOWS),
    ],
)
def test_masks_name_cpus(masks: list[str], covers: list[int], result: Result) -> None:
    """Bit n is CPU n; a bit beyond the machine's CPUs is told."""
    text = f"""
[[statement]]
says = "all but 0 and 8"
kind = "mask"
masks = {masks}
cpus = 16
covers = {[str(c) for c in covers]}
"""
    assert only(text).result is result


def test_pages_are_counted_in_powers_of_two() -> None:
    """918,016 pages of 2 MiB are 1,880,096,768 KiB; the same number of MB is refused."""
    text = """
[value]
pages = { is = "918,016 times", exact = true }
size = { is = "2 MiB", exact = true }
[[statement]]
says = "memlock"
stated = "1,880,096,768 KiB"
from = "pages * size"
"""
    assert only(text).result is Result.FOLLOWS
    assert only(text.replace("1,880,096,768 KiB", "1,836,033 MiB")).result is Result.NOT


@pytest.mark.parametrize(
    ("limit", "result"),
    [
        ("", Result.FOLLOWS),
        ('within = "1%"', Result.NOT),
        ('within = "4.254%"', Result.UNCHECKED),
    ],
)
def test_about_the_same_has_a_limit(limit: str, result: Result) -> None:
    """5 % unless it is said; what straddles the limit is not decided."""
    assert only(figure("same", "", "3578 USD", "3432 USD") + limit).result is result


ORDERED = """
[table.t]
columns = ["a", "b", "c"]
[table.t.rows]
threads = {{ unit = "thread", exact = true, cells = ["1", "2", "3"] }}
work = {{ unit = "op/s", cells = [{cells}] }}
[[statement]]
says = "so it goes"
kind = "{kind}"
{of}
"""


@pytest.mark.parametrize(
    ("kind", "cells", "result"),
    [
        ("rising", "1.0 2.0 3.0", Result.FOLLOWS),
        ("rising", "1.0 2.0 2.0", Result.NOT),
        ("falling", "3.0 2.0 1.0", Result.FOLLOWS),
        ("falling", "3.0 1.0 2.0", Result.NOT),
        # Overlapping ranges decide nothing.
        ("rising", "1-3 2-4 5-6", Result.UNCHECKED),
        # Within rounding: 10, 20 and 31 are 10.2 times 1, 2 and 3; 10, 21 and 29 are nothing's.
        ("linear", "10 20 31", Result.FOLLOWS),
        ("linear", "10 21 29", Result.NOT),
        ("linear", "10 20 25", Result.NOT),
    ],
)
def test_an_order_is_held_step_by_step(kind: str, cells: str, result: Result) -> None:
    """Rising and falling from cell to cell; linear is one factor for every pair."""
    row = ", ".join(f'"{c}"' for c in cells.split())
    of = 'x = "t.threads"\ny = "t.work"' if kind == "linear" else 'values = "t.work"'
    assert only(ORDERED.format(kind=kind, cells=row, of=of)).result is result
