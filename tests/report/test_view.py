"""What the report says: answer, verdict rows, runs, latencies, CPUs, witnesses, plan and host."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hdrh.histogram import HdrHistogram
from report_samples import PLAIN, Made, failing, made

from assay.core.errors import AlteredError
from assay.core.histograms import merge
from assay.plan.plan import PlannedCounters
from assay.record import Bundle, statuses
from assay.report.html.latency import BEYOND, quantiles
from assay.report.html.samples import CpuBusy, axis_scale
from assay.report.html.view import Banner, ReportView, banners, view
from assay.report.words import particulars
from fakes import FakeTarget, histogram

# verdict rows and effects


def test_a_verdict_row_is_complete(samples: Made) -> None:
    """Word, interval, estimate, blocks, effort, dose with its unit, witness, reason."""
    (group,) = samples.view("plain").verdicts.groups
    changes, check = group.sections
    assert [r.label for r in changes.rows] == ["hint", "cache", "padding"]
    assert [r.label for r in check.rows] == ["aa-control"]
    row = next(r for r in changes.rows if r.label == "hint")
    assert row.against == "baseline"
    assert row.word == "hurts"
    assert row.interval.startswith("[-")
    assert row.effort == "A"
    assert row.effort_text.startswith("trivial")
    assert row.dose == ["0.2 spins per operation"]
    assert row.witness == "witness held"
    assert row.evidence[0].startswith("hint: ")
    assert "the interval lies below zero" in row.reason


def test_cases_get_a_group_each_and_the_suite_comes_first(samples: Made) -> None:
    """Grouped in the verdict table and in the forest plot."""
    said = samples.view("cases")
    expected = ["Both cases together", "Case few threads", "Case many threads"]
    assert [g.heading for g in said.verdicts.groups] == expected
    headed = [f"{case}: {of}" for case in expected for of in ("Changes", "Self-check")]
    assert [g.heading for g in said.forest.groups] == headed


def test_the_axis_of_effects_holds_all_there_is_to_see(samples: Made) -> None:
    """Intervals, margin and smallest effect, with room; beyond a doubling it is logarithmic."""
    plain = samples.view("plain").forest
    low, high = plain.domain
    ends = [e for g in plain.groups for r in g.rows for e in (r.low, r.high)]
    assert low < min(*ends, -plain.margin)
    assert high > max(*ends, plain.margin)
    assert not plain.logarithmic
    great = samples.view("wide").forest
    assert great.logarithmic
    assert great.domain[0] > -1


def test_leads_are_apart_and_as_measured(samples: Made) -> None:
    """A change that helps lowers the cost of an operation; nothing of it is a verdict."""
    said = samples.view("plain")
    leads, shown_once = said.metrics.leads.stand_out, ["hint", "cache", "padding", "aa-control"]
    cost = next(r for r in leads if (r.label, r.metric) == ("cache", "cpu_per_operation"))
    assert cost.estimate.startswith("-2")
    assert cost.reading == "suggests better"
    sections = [s for g in said.verdicts.groups for s in g.sections]
    assert [r.label for s in sections for r in s.rows] == shown_once


def test_what_could_not_be_counted_is_said_with_the_reason(samples: Made) -> None:
    """The first thing that a reader of counters must know."""
    bundle = samples.bundle("plain")
    counters = PlannedCounters(groups=["psi"], absent={"energy": "no RAPL and no hwmon here"})
    plan = bundle.plan.model_copy(update={"counters": counters})
    (told,) = (b for b in banners(plan, bundle.verdicts(), True) if "energy" in b.title)
    assert told == Banner("absent", "Not counted: energy", "no RAPL and no hwmon here")
    assert not any("Not counted" in b.title for b in banners(bundle.plan, bundle.verdicts(), True))


# runs


def test_medians_are_of_the_runs_that_count(samples: Made) -> None:
    """With their units, for the primary and the watched metrics."""
    (group,) = samples.view("plain").metrics.medians
    assert group.metrics[:2] == ["throughput", "latency_p99"]
    cells = {r.arm: r.cells for r in group.rows}
    assert cells["cache"][0] == "1.31 Mop/s"
    assert cells["cache"][3] == "0 %"


def test_a_void_run_sets_its_whole_block_aside(samples: Made) -> None:
    """Good runs of a block that was run again do not count, and are shown as such."""
    runs = samples.bundle("voids").runs()
    blocks = samples.bundle("voids").verdicts().blocks
    found = statuses(runs, blocks)
    assert found.count("void") == 2
    for run, status in zip(runs, found, strict=True):
        spoiled = any(
            r.status == "void" and (r.block, r.attempt) == (run.block, run.attempt) for r in runs
        )
        assert (status == "counts") == (not spoiled)


def test_runs_of_a_block_that_was_not_completed_do_not_count(samples: Made) -> None:
    """A stopped study's last block is set aside."""
    said = samples.view("stopped")
    asides = [p for g in said.runs.groups for p in g.points if p.status == "aside"]
    assert asides
    assert all("does not count" in p.title for p in asides)


def test_failed_runs_have_no_value_and_a_reason(samples: Made) -> None:
    """They are dots all the same, and stand in the list of what went wrong."""
    said = samples.view("failures").runs
    failed = [p for g in said.groups for p in g.points if p.status == "failed"]
    assert failed
    assert all(p.value is None and "did not start" in p.title for p in failed)
    assert len(said.not_counted) == len(failed)


def test_the_tally_adds_up(samples: Made) -> None:
    """Every run of an arm is in exactly one column."""
    for name in ("plain", "voids", "failures", "stopped", "cases"):
        rows_ = samples.view(name).plan.tally
        for row in rows_:
            parts = row.counts + row.aside + row.void + row.failed
            assert row.made == parts
        assert sum(r.made for r in rows_) == len(samples.bundle(name).runs())


@pytest.mark.parametrize(
    ("largest", "unit", "scale"),
    [
        (1.3e6, "op/s", (1e6, "Mop/s")),
        (40.0, "op/s", (1.0, "op/s")),
        (2e3, "ns", (1e3, "µs")),
        (0.0, "op/s", (1.0, "op/s")),
        (0.2, "fraction", (0.01, "%")),
    ],
)
def test_an_axis_has_the_unit_that_a_text_has(
    largest: float, unit: str, scale: tuple[float, str]
) -> None:
    """Prefixes as in `format_quantity`."""
    assert axis_scale(largest, unit) == scale


# latencies


def test_quantiles_are_of_the_merged_histogram() -> None:
    """Merging is not averaging: one slow run in two is the upper half of the curve."""
    merged, unreadable = merge([histogram(1000), histogram(1_000_000)])
    assert merged is not None
    assert unreadable == 0
    assert merged.get_total_count() == 2000
    assert merged.get_value_at_percentile(40) < 2000
    assert merged.get_value_at_percentile(60) > 500_000


def test_histograms_of_different_ranges_merge() -> None:
    """They grow with what they hold, and no value is lost or moved."""
    small, large = HdrHistogram(1, 100_000, 3), HdrHistogram(1, 10**10, 3)
    small.record_value(500, 30)
    large.record_value(4 * 10**9, 10)
    merged, _ = merge([small.encode().decode(), large.encode().decode()])
    assert merged is not None
    assert merged.get_total_count() == 40
    assert merged.get_value_at_percentile(50) == 500
    assert merged.get_max_value() == pytest.approx(4 * 10**9, rel=0.002)


def test_a_histogram_that_cannot_be_read_is_counted_not_guessed() -> None:
    """The others are merged."""
    merged, unreadable = merge(["not a histogram", histogram(1000), "HISTFAAAA"])
    assert merged is not None
    assert (merged.get_total_count(), unreadable) == (1000, 2)
    assert merge([]) == (None, 0)


def test_a_curve_ends_where_operations_end() -> None:
    """Ten operations lie beyond its last point."""
    merged, _ = merge([histogram(1000)] * 10)
    assert merged is not None
    points = quantiles(merged)
    last = points[-1][0]
    assert (1 - last) * 10_000 == pytest.approx(BEYOND)
    assert [q for q, _ in points] == sorted(q for q, _ in points)
    assert [ns for _, ns in points] == sorted(ns for _, ns in points)


# CPUs and witnesses


def test_evenness_is_the_mean_over_runs_with_its_range(samples: Made) -> None:
    """The idlest and the busiest CPU are named."""
    (group,) = samples.view("wide").cpus.groups
    arm = group.arms[0]
    assert len(arm.cpus) == 64
    assert arm.cpus[1] == CpuBusy(1, *[pytest.approx(0.499)] * 3)
    assert arm.least == "CPU 63: 43.7 %"
    assert arm.most == "CPU 0: 90 %"


def test_witnesses_count_runs_by_level(samples: Made) -> None:
    """Every level of every factor: held in how many of how many runs, and what was seen."""
    said = samples.view("plain").witnesses
    found = {(w.factor, w.level): w for w in said}
    assert found["hint", "pause"].held == found["hint", "pause"].seen == 8
    assert found["hint", "none"].seen == 32
    assert "1 pause" in found["hint", "pause"].evidence[0].text


def test_a_witness_that_does_not_hold_comes_first(samples: Made) -> None:
    """What spoke against a level is never hidden behind what spoke for it."""
    said = samples.view("invalid").witnesses
    lied = next(w for w in said if (w.factor, w.level) == ("padding", "128"))
    assert lied.held == 0 < lied.seen
    assert not lied.evidence[0].held


# banners, plan, host


def test_banners_say_what_must_be_known_first(samples: Made) -> None:
    """Stopped, unfinished, stand-ins; a plain study has none."""
    kinds = {n: [b.kind for b in samples.view(n).banners] for n in
             ("plain", "stopped", "empty", "evil", "cases")}  # fmt: skip
    assert kinds["plain"] == []
    assert "stopped" in kinds["stopped"]
    assert kinds["empty"] == ["unfinished"]
    assert kinds["evil"].count("stand-in") == 1
    assert kinds["cases"].count("stand-in") == 2


def test_what_the_host_could_not_do_is_a_banner(tmp_path) -> None:
    """A level left out is named with its reason."""
    text = PLAIN.replace('on = "pause"', 'levels = ["none", "pause", "isb"]\nabsent = "skip"', 1)
    (banner,) = view(made(tmp_path / "b", text, runs=True)).banners
    assert banner.title == "Left out: hint = isb"
    assert "aarch64" in banner.text


def test_plan_and_rule_are_told(samples: Made) -> None:
    """Seed, design, blocks of planned, smallest, margin, alpha."""
    said = samples.view("plain").plan
    pairs, rule = dict(said.pairs), dict(said.rule)
    assert pairs["seed"] == "7"
    assert pairs["design"].startswith("one at a time")
    assert pairs["blocks"].startswith("8 complete of ")
    assert rule["smallest effect worth having"] == "5 %"
    assert rule["chance of any false helps or hurts"] == "at most 5 % over the whole study"


def test_any_host_facts_will_do() -> None:
    """Only scalars are shown; what is missing or of another shape is left out."""
    host = {
        "cpus": 2,
        "memory_bytes": 3 << 30,
        "virtual": True,
        "thp": None,
        "hints": [],
        "can": {
            "pmu": {"ok": False, "why": "not permitted"},
            "numa": {"ok": True, "why": ""},
            "htm": {"state": "usable", "why": ""},
            "odd": "text",
        },
    }
    expected = [("CPUs", "2"), ("memory", "3 GiB"), ("virtual", "yes")]
    assert particulars.host_pairs(host) == expected
    assert particulars.host_cannot(host) == [("pmu", "not permitted")]
    assert particulars.host_pairs({}) == particulars.host_cannot({}) == []


def test_a_report_names_what_checks_it(samples: Made) -> None:
    """The command, and the digest that ends the chain."""
    bundle = samples.bundle("plain")
    said = samples.view("plain").check
    assert said.verify == "assay verify plain"
    assert dict(said.pairs)["digest of the last run"] == bundle.runs()[-1].digest


def test_an_altered_run_makes_no_report(tmp_path) -> None:
    """The chain of digests is followed before anything is said."""
    bundle = made(tmp_path / "b", PLAIN)
    path = bundle.folder / "runs.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"operations":', b'"operations":1', 1))
    with pytest.raises(AlteredError, match="run 0"):
        view(Bundle.open(bundle.folder))


def test_an_unfinished_study_is_judged_from_its_runs(samples: Made, tmp_path) -> None:
    """Without verdicts.json the blocks that are complete are judged, and the page says so."""
    bundle = made(tmp_path / "b", PLAIN, FakeTarget(broken=failing))
    said = view(bundle)
    (bundle.folder / "verdicts.json").unlink()
    again = view(Bundle.open(bundle.folder))
    assert again.verdicts == said.verdicts
    assert again.banners[0].kind == "unfinished"


def test_a_view_is_made_of_records() -> None:
    """What the page takes has a declared type, down to numbers and texts."""
    seen: set[Any] = set()

    def follow(kind: Any) -> None:
        if kind in seen:
            return
        seen.add(kind)
        for part in get_args(kind):
            follow(part)
        if is_dataclass(kind):
            assert kind.__dataclass_params__.frozen, kind
            for part in get_type_hints(kind).values():
                follow(part)

    follow(ReportView)
    plain = {str, int, float, bool, type(None)}
    others = {k for k in seen if not is_dataclass(k) and not get_args(k)}
    assert others <= plain
    assert {get_origin(k) for k in seen if get_args(k)} <= {list, tuple, dict, UnionType}
    assert len(seen) > 60


def test_every_number_of_a_view_can_be_written(samples: Made) -> None:
    """Nothing is infinite or not a number, however little there was to measure."""

    def numbers(value: Any) -> list[float]:
        if isinstance(value, dict):
            return [n for v in value.values() for n in numbers(v)]
        if isinstance(value, list | tuple):
            return [n for v in value for n in numbers(v)]
        return [value] if isinstance(value, float) else []

    for name in ("plain", "empty", "unmeasured", "wide", "stopped", "race", "fraction", "refused"):
        assert all(math.isfinite(n) for n in numbers(asdict(samples.view(name))))
