"""One conformance test over every change of the catalogue."""

from __future__ import annotations

import pytest

from assay.changes import CATALOGUE, Change, find
from assay.core.metrics import OF_LOCKS, metric
from assay.core.terms import EFFORTS
from assay.targets import TARGETS, Target, targets_of
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.stores.framework.library import HARNESS
from assay.targets.stores.framework.target import StoreTarget
from witness_kit import showing

EVERY = pytest.mark.parametrize("change", CATALOGUE.values(), ids=lambda c: c.name)


def typed(change: Change, name: str) -> object:
    """A level as a study writes it: a number, a size or a name."""
    return int(name) if change.numeric_setting and not change.sized else name


@EVERY
def test_every_level_is_a_setting_that_its_targets_allow(change: Change) -> None:
    """What a change sets, each of its targets has, with that value."""
    levels = [change.level(typed(change, name)) for name in (change.off, change.on)]
    for target in targets_of(change):
        for level in (*change.levels.values(), *levels):
            for setting, value in level.application.settings.items():
                assert TARGETS[target].settings[setting].read(value) == value


@EVERY
def test_every_level_is_judged_and_can_be_found_out(change: Change) -> None:
    """With no evidence at all, no witness holds: a witness must be able to say no."""
    names = list(change.levels) or [change.off, change.on]
    for name in names:
        level = change.level(typed(change, name))
        held = change.witness.judge(level.name, level.application.settings, showing())
        assert not held.held
        assert held.evidence


@EVERY
def test_every_change_says_what_it_is_and_costs(change: Change) -> None:
    """Text, effort, and a signature of metrics that exist."""
    assert change.text
    assert change.effort in EFFORTS
    named = [p.metric for p in change.signature]
    assert named
    for name in [*named, *([change.mechanism] if change.mechanism else [])]:
        assert name in OF_LOCKS or metric(name)
    assert len(set(named)) == len(named)


def test_an_unknown_change_is_answered_with_the_nearest() -> None:
    """And with those that fit the target."""
    with pytest.raises(ValueError, match=r"did you mean 'engine\.spin_hint'"):
        find("engine.spinhint", TARGETS["engine"])


def test_a_change_on_the_wrong_target_is_refused() -> None:
    """The message says which target it belongs to."""
    with pytest.raises(ValueError, match="is a change of engine, not of micro"):
        find("engine.data_cache", TARGETS["micro"])


def test_an_unknown_level_is_answered_with_those_there_are() -> None:
    """For named levels and for numbers."""
    with pytest.raises(ValueError, match="did you mean 'pause'"):
        CATALOGUE["engine.spin_hint"].level("pauze")
    with pytest.raises(ValueError, match="whole number"):
        CATALOGUE["engine.threads"].level("many")


@pytest.mark.parametrize(
    "change", [c for c in CATALOGUE.values() if c.name.endswith(".placebo")], ids=lambda c: c.name
)
def test_the_arms_of_a_placebo_share_one_data_set(change: Change) -> None:
    """Data sets that were made apart would be a difference of their own."""
    levels = [change.level(typed(change, name)) for name in (change.off, change.on)]
    given = {n for level in levels for n in level.application.settings}
    assert given
    for name in change.targets:
        target = TARGETS[name]
        store, adapter = getattr(target, "store", None), getattr(target, "adapter", None)
        if store is not None:
            assert given <= store.passing
        elif adapter is not None:
            assert not given & adapter.shaping


@EVERY
def test_a_change_says_whether_its_levels_can_share_prepared_data(change: Change) -> None:
    """As its targets have it: a setting that one side forgets would be measured on wrong data."""
    levels = [change.level(typed(change, name)) for name in {*change.levels, change.off, change.on}]
    for kind in change.targets:
        given = [level.application.of(kind).settings for level in levels]
        names = {n for settings in given for n in settings}
        varied = {n for n in names if len({str(settings.get(n)) for settings in given}) > 1}
        assert bool(shaping(TARGETS[kind], varied)) == change.remakes_data, varied


def shaping(target: Target, names: set[str]) -> set[str]:
    """Of settings, those that shape what a target stores."""
    if isinstance(target, StoreTarget):
        return names - target.store.passing - HARNESS
    return names & target.adapter.shaping if isinstance(target, ServerTarget) else set()
