"""What throughput is worth, from two numbers, from a study's arms, and from two bundles."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.core.errors import CatalogueError, InputError
from assay.price import (
    Price,
    Priced,
    Ratio,
    find_price,
    of_arms,
    of_bundles,
    prices,
    read_prices,
    shipped_prices,
)
from assay.price.measured import welch
from assay.record import counted_runs
from assay.targets import Measured
from fakes import STUDY, FakeTarget, run_fake

ARM = Price("arm", 100.0, "USD", "month", vcpu=16, memory_gb=64.0, ghz=2.6, date="2026-01-01")
X86 = replace(ARM, machine="x86", price=150.0, ghz=3.0)


def test_the_money_of_the_mariadb_slides_by_calculation() -> None:
    """A gain of 142.8 %, which is a saving of 58.8 % at equal work, and not of 145 %."""
    shipped = shipped_prices()
    found = assay.worth((96137, 39596), shipped["bare-kunpeng-64"], shipped["bare-xeon-28"])
    assert found.gain.value == pytest.approx(1.428, abs=5e-4)
    assert found.saving.value == pytest.approx(0.588, abs=5e-4)
    assert found.break_even.value == pytest.approx(800 * 96137 / 39596)
    assert found.per_price_a == pytest.approx(96137 / 800)
    assert found.per_core is not None
    assert found.per_core.value == pytest.approx(96137 / 64 / (39596 / 28) - 1)
    assert found.per_ghz is not None
    assert found.per_ghz.value == pytest.approx(96137 / 64 / 2.6 / (39596 / 28 / 3.0) - 1)
    assert any("one price" in warning for warning in found.warnings)
    assert any("unequal CPUs: 64 and 28" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("arm", "x86", "saving"),
    [
        ("huawei-kunpeng-16", "huawei-xeon-16", 0.414),
        ("aws-graviton2-16", "aws-xeon-16", 0.202),
        ("packet-emag-32", "packet-epyc-32", 0.5),
    ],
)
def test_the_yearly_prices_of_the_slides_at_equal_throughput(
    arm: str, x86: str, saving: float
) -> None:
    """What the slide calls saving is one if the work is equal."""
    known = shipped_prices()
    found = assay.worth(Ratio(1.0), known[arm], known[x86])
    assert found.saving.value == pytest.approx(saving, abs=5e-4)


def test_a_machine_that_costs_less_for_the_same_work() -> None:
    """Two thirds of the price: half as much again for the money, a third saved."""
    found = assay.worth(Ratio(1.0), ARM, X86)
    assert found.gain.value == pytest.approx(0.5)
    assert found.saving.value == pytest.approx(1 / 3)
    assert found.break_even.value == pytest.approx(150.0)
    assert found.gain.low is None


@pytest.mark.parametrize("seed", range(20))
def test_the_figures_agree_with_each_other_at_every_end(seed: int) -> None:
    """The saving is 1 - 1 / (1 + gain), never above 100 %; at the break-even price nothing is
    gained; the machines exchanged give the inverse."""
    draw = random.Random(seed)
    low, value, high = sorted(draw.lognormvariate(0, 2) for _ in range(3))
    a, b = (
        replace(p, price=draw.uniform(1, 99), period=draw.choice(["hour", "month", "year"]))
        for p in (ARM, X86)
    )
    found = assay.worth(Ratio(value, low, high), a, b)
    back = assay.worth(Ratio(1 / value, 1 / high, 1 / low), b, a)
    for end in ("low", "value", "high"):
        gain, saving = getattr(found.gain, end), getattr(found.saving, end)
        assert saving == pytest.approx(1 - 1 / (1 + gain))
        assert saving < 1
        even = replace(a, price=getattr(found.break_even, end))
        again = assay.worth(Ratio(getattr(found.ratio, end)), even, b)
        assert again.gain.value == pytest.approx(0, abs=1e-9)
    assert (1 + found.gain.low) * (1 + back.gain.high) == pytest.approx(1)
    assert found.gain.low <= found.gain.value <= found.gain.high


def test_periods_are_brought_to_one_hour() -> None:
    """A year of 365 days, a month a twelfth of it; that it was done is said."""
    yearly = replace(ARM, price=1200.0, period="year")
    found = assay.worth(Ratio(1.0), yearly, replace(ARM, machine="b"))
    assert found.gain.value == pytest.approx(0)
    assert any("priced by the year" in warning for warning in found.warnings)
    hourly = replace(ARM, price=0.1, period="hour")
    assert hourly.per_hour == pytest.approx(replace(ARM, price=73.0).per_hour)


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"date": None}, "no date"),
        ({"date": "2020-01-01"}, "different dates: 2020-01-01 and 2026-01-01"),
        ({"memory_gb": 128.0}, "unequal memory: 128 GB and 64 GB"),
        ({"memory_gb": None}, "memory of a machine is not known"),
        ({"vcpu": 32}, "unequal CPUs"),
        ({"vcpu": None}, "CPUs of a machine are not known"),
        ({"price": 150.0}, "one price"),
    ],
)
def test_what_is_missing_or_unequal_is_told(change: dict, warning: str) -> None:
    """A warning for each."""
    found = assay.worth(Ratio(1.0), replace(ARM, **change), X86)
    assert any(warning in said for said in found.warnings), found.warnings
    assert not any(warning in said for said in assay.worth(Ratio(1.0), ARM, X86).warnings)


def test_two_currencies_are_refused() -> None:
    """There is no exchange rate in Assay."""
    with pytest.raises(InputError, match="priced in EUR, x86 in USD"):
        assay.worth(Ratio(1.0), replace(ARM, currency="EUR"), X86)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_throughput_that_is_none_is_refused(bad: float) -> None:
    """Of either machine, and as a ratio."""
    with pytest.raises(InputError, match="above 0"):
        assay.worth((bad, 1.0), ARM, X86)
    with pytest.raises(InputError, match="above 0"):
        Ratio(bad)


ROW = """[[price]]
machine = "mine"
price = 0.35
currency = "EUR"
period = "hour"
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "said"),
    [
        ("0.35", "-0.35", 3, 1, "price should be a number above 0"),
        ("0.35", '"cheap"', 3, 1, "price should be a number above 0"),
        ('"EUR"', '"euro"', 4, 1, "no currency"),
        ('currency = "EUR"', "", 1, 3, "'currency' is missing"),
        ('"hour"', '"hours"', 5, 1, "did you mean 'hour'"),
        ('machine = "mine"', "machine = 5", 2, 1, "should be a text"),
        ('period = "hour"', 'period = "hour"\nvcpus = 4', 6, 1, "unknown key 'vcpus'"),
        ('period = "hour"', 'period = "hour"\nvcpu = 0', 6, 1, "at least 1"),
        ("[[price]]", "[[prices]]", 1, 3, "unknown key 'prices'"),
        ('period = "hour"\n', 'period = "hour"\n' + ROW, 7, 1, "stands here twice"),
    ],
)
def test_a_mistake_in_a_catalogue_has_its_place(
    old: str, new: str, line: int, column: int, said: str
) -> None:
    """Line, column, what is wrong and what to do."""
    with pytest.raises(CatalogueError) as caught:
        read_prices("mine.toml", ROW.replace(old, new, 1))
    found = [(p.line, p.column, p.message) for p in caught.value.problems]
    assert any((at, c) == (line, column) and said in text for at, c, text in found), found


def test_rows_of_a_user_go_before_those_that_ship(tmp_path: Path) -> None:
    """And a machine without a price is answered with the nearest name."""
    mine = tmp_path / "mine.toml"
    mine.write_text(ROW.replace("mine", "bare-xeon-28"))
    known = prices([mine])
    assert known["bare-xeon-28"].currency == "EUR"
    assert known["bare-kunpeng-64"].currency == "USD"
    with pytest.raises(InputError, match="did you mean 'bare-xeon-28'"):
        find_price("bare-xeon-29", known)
    with pytest.raises(InputError, match="cannot be read"):
        prices([tmp_path / "none.toml"])


def test_an_arm_is_priced_by_its_verdict(finished) -> None:
    """The interval of the verdict is that of the ratio, and is carried to each figure."""
    (row,) = [
        r
        for r in finished.verdicts().verdicts
        if r.arm == "cache" and r.metric == "throughput" and r.contrast.kind == "change"
    ]
    found = of_arms(finished, "cache")
    assert found.ratio == Ratio(1 + row.estimate, 1 + row.low, 1 + row.high)
    answer = assay.worth(found.ratio, ARM, X86)
    assert answer.gain.low == pytest.approx((1 + row.low) * 1.5 - 1)
    assert answer.saving.high == pytest.approx(1 - 1 / (1.5 * (1 + row.high)))


def test_several_arms_ask_which(finished) -> None:
    """And an arm that is none is answered."""
    with pytest.raises(InputError, match="arms with a verdict"):
        of_arms(finished)
    with pytest.raises(InputError, match="has no verdict on throughput"):
        of_arms(finished, "cash")


def test_a_latency_has_no_price(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """Money buys work for a time."""
    bundle = run_fake(
        tmp_path / "b", fake, read_study(measure__primary="latency_p99", measure__also="[]")
    )
    with pytest.raises(InputError, match="not work for a time"):
        of_arms(bundle, "cache")


def test_two_bundles_are_compared_by_their_runs(tmp_path: Path, read_study) -> None:
    """The second host is 20 % slower; the interval holds that, and a warning is given."""
    fast, slow = FakeTarget(), FakeTarget(effect=lambda settings, env: 1 / 1.2)
    one = run_fake(tmp_path / "a", fast, read_study(), seed=1)
    two = run_fake(tmp_path / "b", slow, read_study(), seed=2)
    found = of_bundles(one, two)
    assert found.ratio.low < 1.2 < found.ratio.high
    assert found.ratio.high / found.ratio.low < 1.05
    assert "not run in the same random blocks" in found.warnings[0]


def test_two_bundles_are_compared_by_the_runs_of_their_verdicts(tmp_path: Path, read_study) -> None:
    """A good run whose case was run again in its block does not count, however fast it was."""
    quiet, stolen = FakeTarget(noise=0.0), FakeTarget(noise=0.0)

    def disturbed(number: int, measured: Measured) -> Measured:
        metrics, health = dict(measured.metrics), measured.health
        if number < 2:
            metrics["throughput"] *= 10
            health = health.model_copy(update={"steal": 0.5 if number == 1 else 0.0})
        return replace(measured, metrics=metrics, health=health)

    stolen.script = disturbed
    one = run_fake(tmp_path / "a", quiet, read_study(), seed=1)
    two = run_fake(tmp_path / "b", stolen, read_study(), seed=1)
    aside = next(run for run in two.runs() if run.run == 0)
    assert (aside.status, aside.attempt) == ("ok", 0)
    found = of_bundles(one, two, aside.arm)
    assert found.ratio.value == pytest.approx(1.0)
    assert f"{len([r for r in counted_runs(two) if r.arm == aside.arm])} runs" in found.title


def test_bundles_of_several_cases_are_compared_over_all_or_in_one(
    tmp_path: Path, read_study
) -> None:
    """Each case has equal weight: slower by 1.2 in one and by 1.5 in the other is sqrt(1.8)."""

    def slower(settings, env) -> float:
        return 1 / (1.2 if settings["threads"] == 1 else 1.5)

    whole_target = '[target]\nkind = "engine"\n\n[workload]\nkind = "ycsb"\n'
    assert whole_target in STUDY
    study = read_study(
        STUDY.replace(whole_target, "")
        + "".join(
            f'\n[[case]]\nname = "{name}"\ntarget = {{kind = "engine", threads = {threads}}}\n'
            'workload = {kind = "ycsb"}\n'
            for name, threads in (("one", 1), ("two", 2))
        )
    )
    one = run_fake(tmp_path / "a", FakeTarget(), study, seed=1)
    two = run_fake(tmp_path / "b", FakeTarget(effect=slower), study, seed=2)
    whole, part = of_bundles(one, two), of_bundles(one, two, case="two")
    assert whole.ratio.low < math.sqrt(1.8) < whole.ratio.high
    assert whole.ratio.high / whole.ratio.low < 1.05
    assert "mean of the logs of 2 cases" in whole.title
    assert part.ratio.low < 1.5 < part.ratio.high
    with pytest.raises(InputError, match="has the cases one, two") as caught:
        of_bundles(one, two, case="three")
    assert caught.value.next_step == "use --case one or two"


def test_the_interval_over_cases_holds_the_truth_as_often_as_is_said() -> None:
    """2,000 pairs of bundles of two cases, which differ in level and in noise."""
    draw, held = random.Random(6), 0
    for _ in range(2000):
        a, b = (
            [[draw.gauss(m + at, s) for _ in range(n)] for m, s, n in ((0, 0.02, 6), (3, 0.05, 8))]
            for at in (0.3, 0.0)
        )
        found = welch(a, b)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= math.exp(0.3) <= found.high
    assert 0.935 <= held / 2000 <= 0.965


def test_the_interval_of_two_bundles_holds_the_truth_as_often_as_is_said() -> None:
    """The slow twin: 2,000 pairs of bundles with unequal noise and numbers of runs."""
    draw, held = random.Random(5), 0
    for _ in range(2000):
        a = [draw.gauss(0.3, 0.02) for _ in range(6)]
        b = [draw.gauss(0.0, 0.06) for _ in range(10)]
        found = welch([a], [b])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= math.exp(0.3) <= found.high
    assert 0.935 <= held / 2000 <= 0.965


def test_the_command_prints_figures_and_warnings(finished) -> None:
    """As lines, and as JSON."""
    options = ("--machine", "huawei-kunpeng-16", "--against", "huawei-xeon-16", "--arm", "cache")
    command = ["price", str(finished.folder), *options]
    shown = CliRunner().invoke(app, command).stdout
    assert "saving at equal work" in shown
    assert "warning: no date is known" in shown
    listed = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert listed["saving"]["low"] <= listed["saving"]["value"] <= listed["saving"]["high"] < 1
    assert listed["currency"] == "USD"
    TypeAdapter(Priced).validate_json(json.dumps(listed), strict=True)
    unknown = CliRunner().invoke(app, [*command[:2], "--machine", "bare-xeon-29"])
    assert (unknown.exit_code, "did you mean 'bare-xeon-28'" in unknown.stderr) == (2, True)
