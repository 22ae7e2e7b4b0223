"""The axis of a study: which points it has, what each of them is, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import StudyError
from assay.plan import Plan
from assay.record import Bundle
from assay.study import Study, arms, make_plan, read, shipped
from assay.study.derivation import other_arms, planned_study, underived
from fakes import STUDY

THREADS = """
[[axis]]
name = "threads"
points = [1, 2, 4]
"""


def with_axis(text: str = THREADS, study: str = STUDY) -> str:
    return study.replace("[design]", f"{text}\n[design]", 1)


def plan_of(study: Study) -> Plan:
    return make_plan(
        study, version="0", seed=3, study_sha256="", base="", overrides={},
        stand_ins={"engine": None}, full=False, cpus=4,
    )  # fmt: skip


def values(study: Study, name: str) -> list[object]:
    return [{**c.settings, **c.parameters}[name] for c in study.cases]


def test_each_point_is_a_case(read_study) -> None:
    """With its name, its setting, and all arms."""
    study = read_study(with_axis())
    assert [c.name for c in study.cases] == ["threads=1", "threads=2", "threads=4"]
    assert values(study, "threads") == [1, 2, 4]
    assert study.axis is not None
    assert (study.axis.varies, study.axis.logarithmic) == ("target.threads", True)
    assert study.opening == study.cases
    assert len(arms(study)) == 3


def test_a_parameter_of_the_workload_is_varied_too(read_study) -> None:
    """Such as how many rows there are."""
    study = read_study(with_axis(
        '[[axis]]\nname = "rows"\nvaries = "workload.records"\npoints = [2000, 3000]'
    ))  # fmt: skip
    assert [c.name for c in study.cases] == ["rows=2000", "rows=3000"]
    assert values(study, "records") == [2000, 3000]
    assert study.axis is not None
    assert not study.axis.logarithmic, "they span less than a factor of four"


def test_points_between_two_ends_are_spaced_by_their_logarithm(read_study) -> None:
    """Or by their value, where the study says so; whole numbers stay whole."""
    ends = '[[axis]]\nname = "threads"\nfrom = 1\nto = 16\nsteps = {}\n{}'
    study = read_study(with_axis(ends.format(5, "")))
    assert values(study, "threads") == [1, 2, 4, 8, 16]
    study = read_study(with_axis(ends.format(4, 'spacing = "linear"')))
    assert values(study, "threads") == [1, 6, 11, 16]


def test_points_that_coincide_are_one(read_study) -> None:
    """From 1 to 3 there are three whole numbers."""
    axis = '[[axis]]\nname = "threads"\nfrom = 1\nto = 3\nsteps = 8'
    assert values(read_study(with_axis(axis)), "threads") == [1, 2, 3]


def test_a_refined_axis_opens_with_a_few_points_of_a_grid(read_study) -> None:
    """The others are in the plan, and may be added."""
    axis = '[[axis]]\nname = "threads"\npoints = "auto"\nfrom = 1\nto = 256'
    study = read_study(with_axis(axis))
    assert [c.name for c in study.opening] == [f"threads={n}" for n in (1, 4, 16, 64, 256)]
    assert study.axis is not None
    later = {p.value for p in study.axis.points if p.later}
    assert {2, 3, 6, 8, 11, 23, 32, 128} <= later
    assert study.axis.extra == 4
    assert len(study.cases) == len(study.axis.points) <= 17


def test_several_cases_have_a_curve_each(read_study) -> None:
    """A point is named after its case."""
    case = '\n[[case]]\nname = "{0}"\ntarget = {{ kind = "engine" }}\n'
    case += 'workload = {{ kind = "ycsb", mix = "{0}" }}\n'
    head = STUDY.replace('[target]\nkind = "engine"\n', "").replace(
        '[workload]\nkind = "ycsb"\n', case.format("a") + case.format("b")
    )
    study = read_study(with_axis(study=head))
    assert study.axis is not None
    assert study.axis.curves == ["a", "b"]
    assert [p.case for p in study.axis.points_of("b")] == [f"b, threads={n}" for n in (1, 2, 4)]
    assert [c.parameters["mix"] for c in study.cases] == ["a"] * 3 + ["b"] * 3


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (THREADS + THREADS, "a study has one axis, not 2"),
        ('[[axis]]\nname = "thraeds"\npoints = [1, 2]', "did you mean 'threads'"),
        ('[[axis]]\nname = "x"\nvaries = "workload.record"\npoints = [1, 2]', "mean 'records'"),
        ('[[axis]]\nname = "threads"', "an axis needs its points"),
        ('[[axis]]\nname = "threads"\npoints = [1]', "points are a list of 2 to 32"),
        ('[[axis]]\nname = "threads"\npoints = [4, 2]', "points go up"),
        ('[[axis]]\nname = "threads"\npoints = [1, 2]\nsteps = 4', "steps belongs to points"),
        ('[[axis]]\nname = "threads"\npoints = [1, "two"]', "is not allowed for threads"),
        ('[[axis]]\nname = "threads"\nfrom = 8\nto = 2\nsteps = 3', "an axis goes up"),
        ('[[axis]]\nname = "threads"\npoints = "auto"\nfrom = 8', "'to' is missing"),
        ('[[axis]]\nname = "lock"\npoints = ["ttas", "mcs"]', "is no number"),
        ('[[axis]]\nname = "hint"\npoints = ["none", "pause"]', "axis hint and by factor hint"),
    ],
)  # fmt: skip
def test_what_is_no_axis_is_refused_with_a_next_step(axis: str, message: str, read_study) -> None:
    """Before anything starts, at its line."""
    with pytest.raises(StudyError) as caught:
        read_study(with_axis(axis))
    (problem,) = [p for p in caught.value.problems if message in p.message]
    assert problem.next_step
    assert problem.line > 1


def test_a_setting_is_given_once(read_study) -> None:
    """By the axis, and not under [target] too."""
    fixed = STUDY.replace('kind = "engine"', 'kind = "engine"\nthreads = 2', 1)
    with pytest.raises(StudyError, match=r"varied by axis threads and set under \[target\]"):
        read_study(with_axis(study=fixed))


@pytest.mark.parametrize("kind", ["screen", "race", "scaling"])
def test_designs_that_decide_about_a_whole_have_no_axis(kind: str, read_study) -> None:
    """Each with its reason."""
    text = STUDY.replace(
        '"one-at-a-time"', f'"{kind}"' + '\nfactor = "cache"' * (kind == "scaling")
    )
    with pytest.raises(StudyError, match=f"a {kind} has no axis"):
        read_study(with_axis(text=THREADS, study=text))


def test_the_law_is_fitted_to_throughput_alone(read_study) -> None:
    """A latency has no peak."""
    text = STUDY.replace('["latency_p99"]', "[]").replace('"throughput"', '"latency_p99"')
    with pytest.raises(StudyError, match="usl fits throughput over threads"):
        read_study(with_axis(THREADS + "usl = true\n", text))


def test_the_budget_is_that_of_the_points_it_opens_with(read_study) -> None:
    """Three arms at five points for eight blocks of 0.4 s are 48 s."""
    axis = '[[axis]]\nname = "threads"\npoints = "auto"\nfrom = 1\nto = 256'
    read_study(with_axis(axis), decide__budget="60s")
    with pytest.raises(StudyError, match="the 120 runs before anything can be decided"):
        read_study(with_axis(axis), decide__budget="40s")


def test_the_arms_of_a_point_stand_together_in_a_random_order(read_study) -> None:
    """And the points are visited in a random order, another in each block."""
    plan = plan_of(read_study(with_axis()))
    orders = set()
    for block in plan.schedule:
        visited = [slot.case for slot in block]
        assert [len(set(visited[k : k + 3])) for k in (0, 3, 6)] == [1, 1, 1]
        orders.add(tuple(visited[::3]))
    assert len(orders) == 6
    assert len({tuple(s.arm for s in block[:3]) for block in plan.schedule}) == 6


def test_a_plan_is_what_its_study_gives(read_study, finished: Bundle) -> None:
    """Points that somebody altered are found."""
    text = with_axis(study=STUDY.replace('"60s"', '"600s"'))
    plan = plan_of(read_study(text))
    assert plan.axis is not None
    assert plan.axis.cpus == 4
    study = planned_study(plan, text)
    assert not other_arms(plan, study)
    assert not underived(plan, text)
    moved = plan.axis.model_copy(update={"extra": 3})
    (said,) = other_arms(plan.model_copy(update={"axis": moved}), study)
    assert said.startswith("plan.json.axis says")


def test_a_plan_from_before_axes_has_none(finished: Bundle) -> None:
    """It is read, and verifies, as it was."""
    written = finished.plan.model_dump(exclude={"axis"})
    assert Plan.model_validate(written).axis is None
    assert Plan.model_validate(written).by_case is False


def test_the_curves_that_ship_have_an_axis() -> None:
    """Over connections, and over rates."""
    texts = {name: text for name, text in shipped().items() if "[[axis]]" in text}
    found = {name: read(name, text, Path()) for name, text in texts.items()}
    varied = {name: study.axis.varies for name, study in found.items() if study.axis}
    assert varied == {
        "mariadb-sysbench-connections": "target.connections",
        "redis-io-threads-latency": "target.rate",
    }
