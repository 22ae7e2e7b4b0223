"""Studies of two hosts and of steering: what is understood, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import StudyError
from assay.study import Network, Study, arms, make_plan, read
from study_kit import study_text

REDIS = {
    "target": "redis",
    "factor": "steering",
    "workload": "redis-get",
    "network": 'hosts = "two"\nqueues = 2',
    "change": "host.rps",
    "levels": 'levels = ["off", "others", "0"]',
}


def text_of(**changed: str) -> str:
    given = {**REDIS, **changed}
    return study_text(parameters=f"[network]\n{given.pop('network')}", **given)


def study(**changed: str) -> Study:
    return read("s.toml", text_of(**changed), Path("."))


def test_two_hosts_are_part_of_the_question_and_of_the_plan() -> None:
    """With the queues between them."""
    found = study()
    assert found.network == Network(2)
    options = {"version": "0", "seed": 1, "study_sha256": "", "base": "", "overrides": {}}
    plan = make_plan(found, **options, stand_ins={"redis": None}, full=False, cpus=2)
    assert plan.network is not None
    assert plan.network.queues == 2
    assert study(network='hosts = "one"').network is None
    assert study(network="").network == Network(1)


def test_levels_of_steering_reach_the_arms_by_their_words() -> None:
    """What they become is for the machine of the run to say."""
    found = study(levels='levels = { none = "off", mine = "0-1/1" }')
    steers = [found.application(arm, "redis").steer for arm in arms(found)]
    assert steers == [{"rps": "off"}, {"rps": "0-1/1"}]
    named = study(levels='device = "eth0"\nlevels = ["off", "all"]')
    assert named.application(arms(named)[1], "redis").steer == {"rps@eth0": "all"}


def test_one_factor_is_another_setting_for_each_case() -> None:
    """Each case gets its own, and none of the other's."""
    text = text_of(change="host.pages", levels="")
    cases = "".join(
        f'[[case]]\nname = "{kind}"\n[case.target]\nkind = "{kind}"\n'
        f'[case.workload]\nkind = "ycsb"\n'
        for kind in ("engine", "mariadb")
    )
    head, tail = text.index("[target]"), text.index("[measure]")
    found = read("s.toml", text[:head] + cases + text[tail:], Path("."))
    on = arms(found)[1]
    engine, mariadb = (found.launch(case, on, seed=1).settings for case in found.cases)
    assert engine["pages"] == "hugetlb-2m"
    assert mariadb["large_pages"] == "ON"
    assert "large_pages" not in engine
    assert "pages" not in mariadb


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"network": 'hosts = "three"'}, "hosts"),
        ({"network": "queues = 0"}, "queues"),
        ({"network": "cues = 1"}, "did you mean 'queues'"),
        ({"target": "mariadb", "workload": "ycsb", "change": "host.pin", "levels": ""},
         "mariadb cannot answer from a network host of its own"),
        ({"settings": 'attach = "redis://localhost:1"'}, "that already runs is not moved"),
        ({"levels": 'levels = ["off", "fe"]'}, "'fe' is not a level of host.rps"),
        ({"levels": 'device = "no/device"'}, "no name of a network device"),
        ({"change": "host.pin", "levels": 'device = "eth0"'}, "is of no network device"),
        ({"change": "setting", "levels": 'setting = "maxmemory"\ndevice = "lo"\noff = 1\non = 2'},
         "device belongs to"),
        ({"target": "engine", "workload": "ycsb"}, "is a change of"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(changed: dict[str, str], why: str) -> None:
    """With what can."""
    with pytest.raises(StudyError, match=r"s\.toml:") as caught:
        study(**changed)
    assert why in str(caught.value)
