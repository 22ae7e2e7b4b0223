"""A study whose runs are made on a host of a fleet: the same runs, the same verdicts."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.bench import run
from assay.bench.commands import CommandJournal, pending
from assay.changes import Command
from assay.core.errors import BundleError, FleetError, InputError, LostError, MissingError
from assay.fleet.agent import Agent
from assay.fleet.host_study import BUNDLE, abandoned, studies_folder
from assay.fleet.local import LocalLink
from assay.fleet.placed_study import PlacedRuns, key_of, prepare_placed, require_same_host
from assay.record import Bundle, differences
from assay.study import read
from assay.undo.recovery import recover
from fakes import COMMAND, FACTS, STUDY, FakeTarget, run_fake
from fleet_kit import measuring

ARCH = platform.machine()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where agents of this test have their folders."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def faster() -> FakeTarget:
    return FakeTarget(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0
    )


def placed(folder: Path, fake: FakeTarget, text: str = STUDY, host: str = "arm") -> Bundle:
    """The study, run to its end on a host."""
    link = LocalLink(host, measuring(fake))
    bundle = prepare_placed(link, folder, "fake.toml", text, seed=7)
    run(bundle, maker=PlacedRuns(link, bundle))
    return bundle


def told(bundle: Bundle) -> list[dict[str, Any]]:
    """Its runs, without the chain."""
    return [run.model_dump(exclude={"digest"}) for run in bundle.runs()]


@pytest.mark.parametrize("design", ["runs", "calibrated"])
def test_a_fleet_of_one_gives_the_runs_and_verdicts_of_one_machine(
    tmp_path: Path, design: str
) -> None:
    """Each to the last digit, whichever way arms are measured; and the bundle verifies."""
    text = STUDY.replace("[measure]", f'[measure]\ndesign = "{design}"')
    fake = faster()
    study = read("fake.toml", text, Path("."), targets={"engine": fake})
    here = run_fake(tmp_path / "here", fake, study, facts={**FACTS, "arch": ARCH})
    there = placed(tmp_path / "there", faster(), text)
    assert here.plan.measuring == there.plan.measuring == design
    assert told(there) == told(here)
    end = {"end"}  # follows the facts of the host, which name it
    assert there.verdicts().model_dump(exclude=end) == here.verdicts().model_dump(exclude=end)
    assert differences(there) == []
    assert there.host["fleet"]["host"] == "arm"


def test_arms_that_live_side_by_side_do_so_on_the_host(tmp_path: Path) -> None:
    """All arms of a block come home at once, and are taken in one by one."""
    text = STUDY.replace("[measure]", '[measure]\ndesign = "slices"\nslice = "50ms"')
    fake = faster()
    fake.takes_turns = True
    bundle = placed(tmp_path / "bundle", fake, text)
    assert bundle.plan.measuring == "slices"
    assert all(run.intervals[0].slice is not None for run in bundle.runs())
    assert differences(bundle) == []


def test_what_the_host_lacks_is_said_of_the_host(tmp_path: Path) -> None:
    """Nothing was begun, and there is no bundle."""
    fake = replace(faster(), lacking=lambda launch: "no huge pages")
    link = LocalLink("arm", measuring(fake))
    with pytest.raises(MissingError, match=r"arm: .*no huge pages"):
        prepare_placed(link, tmp_path / "bundle", "fake.toml", STUDY)
    assert not (tmp_path / "bundle").exists()
    with pytest.raises(InputError, match="arm: "):
        prepare_placed(link, tmp_path / "bundle", "fake.toml", "name = 3")


def test_no_time_of_an_emulated_host_is_a_result(tmp_path: Path) -> None:
    """It is refused before anything is planned."""
    link = LocalLink("arm", measuring(faster(), arch="riscv64"))
    with pytest.raises(FleetError, match="arm is emulated: it shows behaviour only"):
        prepare_placed(link, tmp_path / "bundle", "fake.toml", STUDY)
    assert link.calls == ["hello"]


def test_a_window_that_ray_cannot_be_stopped_for_is_refused(tmp_path: Path) -> None:
    """Before the first run."""
    text = (
        STUDY.replace('window = "300ms"', 'window = "50s"')
        .replace('"60s"', '"2h"')
        .replace("[measure]", '[measure]\ndesign = "runs"')
    )
    link = LocalLink("arm", measuring(faster()))
    with pytest.raises(FleetError, match="Ray may be stopped for 45 s at most"):
        prepare_placed(link, tmp_path / "bundle", "fake.toml", text)


class Dying(Agent):
    """An agent that is gone after some runs."""

    def __init__(self, fake: FakeTarget, after: int) -> None:
        self._inner, self._left = measuring(fake), after

    def answer(self, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if verb == "runs":
            self._left -= 1
        if self._left < 0:
            raise LostError("the agent has ended")
        return self._inner.answer(verb, request)

    def end(self) -> None:
        self._inner.end()


@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_study_whose_host_was_lost_goes_on_as_if_it_had_not_been(
    tmp_path: Path, after: int
) -> None:
    """On the same host, with a new agent; what was made is kept."""
    whole = placed(tmp_path / "whole", faster())
    fake = faster()
    link = LocalLink("arm", Dying(fake, after))
    bundle = prepare_placed(link, tmp_path / "bundle", "fake.toml", STUDY, seed=7)
    with pytest.raises(LostError, match="arm: the agent has ended"):
        run(bundle, maker=PlacedRuns(link, bundle))
    link.lose()
    assert len(bundle.runs()) < len(whole.runs())
    again, bundle = LocalLink("arm", measuring(fake)), Bundle.open(tmp_path / "bundle")
    require_same_host(again, bundle)
    run(bundle, maker=PlacedRuns(again, bundle))
    times = {"run": ..., "started": ..., "took_s": ...}.keys()
    plain = [
        [{k: v for k, v in r.items() if k not in times} for r in told(b)] for b in (bundle, whole)
    ]
    assert plain[0] == plain[1]
    assert bundle.verdicts().verdicts == whole.verdicts().verdicts


def test_a_study_does_not_go_on_on_another_host_or_another_boot(tmp_path: Path) -> None:
    """It may be another machine by now."""
    bundle = placed(tmp_path / "bundle", faster())
    require_same_host(LocalLink("arm", measuring(faster())), bundle)
    with pytest.raises(BundleError, match="was begun on arm, not on x86"):
        require_same_host(LocalLink("x86", measuring(faster())), bundle)
    with pytest.raises(BundleError, match="begun on another machine"):
        require_same_host(LocalLink("arm", measuring(faster(), cpus=64)), bundle)
    host = tmp_path / "bundle" / "host.json"
    facts = json.loads(host.read_text())
    facts["fleet"]["boot"] = "another"
    host.write_text(json.dumps(facts))
    with pytest.raises(BundleError, match="arm has started anew"):
        require_same_host(LocalLink("arm", measuring(faster())), Bundle.open(tmp_path / "bundle"))


def test_a_bundle_of_one_machine_is_not_gone_on_with_on_a_fleet(finished: Bundle) -> None:
    """Its runs are of this machine."""
    with pytest.raises(BundleError, match="was begun on this machine, without a fleet"):
        require_same_host(LocalLink("arm", measuring(faster())), finished)


def test_the_ends_of_logs_come_home(tmp_path: Path) -> None:
    """Where the head's bundle has logs; nothing stays on the host."""
    fake = faster()

    class Writing(FakeTarget):
        def start(self, launch: Any, log: Path) -> Any:
            log.write_text("hello\n")
            return fake.start(launch, log)

    writing = Writing(clock=fake.clock, effect=fake.effect)
    bundle = placed(tmp_path / "bundle", writing)
    logs = sorted((tmp_path / "bundle" / "logs").iterdir())
    assert len(logs) == len(bundle.runs())
    assert logs[0].read_text() == "hello\n"
    assert list((studies_folder() / key_of(bundle.folder) / "logs").iterdir()) == []


def test_a_study_leaves_nothing_on_its_host_when_it_is_closed(tmp_path: Path) -> None:
    """Neither its folder nor that of its pilot."""
    link = LocalLink("arm", measuring(faster()))
    bundle = prepare_placed(link, tmp_path / "bundle", "fake.toml", STUDY, seed=7)
    folder = studies_folder() / key_of(bundle.folder)
    assert (folder / BUNDLE).exists()
    run(bundle, maker=PlacedRuns(link, bundle))
    link.call("close")
    assert not folder.exists()


def test_commands_of_a_killed_agent_are_undone(tmp_path: Path) -> None:
    """By its keeper, or whoever looks next: those that the study itself names."""
    changed = COMMAND.format(d=tmp_path)
    text = STUDY.split("[[factor]]")[0] + f'[[factor]]\nname = "x"\n{changed}\n'
    text += '[design]\nkind = "one-at-a-time"\n'
    fake = faster()
    link = LocalLink("arm", measuring(fake))
    bundle = prepare_placed(link, tmp_path / "bundle", "fake.toml", text, seed=7)
    PlacedRuns(link, bundle).undo()
    folder = studies_folder() / key_of(bundle.folder)
    journal = folder / "journal.jsonl"

    words = ("rm", f"{tmp_path}/on")
    command = Command(("touch", f"{tmp_path}/on"), words, ("ls", f"{tmp_path}/on"), "on")
    CommandJournal(journal, [words]).apply("x", command)
    assert len(pending(journal)) == 1
    assert list(abandoned()) == []
    (folder / "owner").write_text("0:0")
    assert recover(abandoned).done == [f"commands of the study {folder.name}"]
    assert not (tmp_path / "on").exists()
    assert not folder.exists()


def test_a_study_is_of_one_agent_at_a_time(tmp_path: Path) -> None:
    """Another one is refused while the first lives."""
    first, second = (LocalLink("arm", measuring(faster())) for _ in range(2))
    bundle = prepare_placed(first, tmp_path / "bundle", "fake.toml", STUDY, seed=7)
    with pytest.raises(InputError, match="arm: another agent has the study bundle-"):
        PlacedRuns(second, bundle).undo()
    with pytest.raises(InputError, match="arm: no study is open"):
        second.call("runs", {"steps": [], "first": 0, "as_it_is": False})


@pytest.mark.parametrize("key", ["../x", "", "A", "a/b", ".x"])
def test_a_key_leads_to_no_other_folder(key: str) -> None:
    """It comes from the head, and is a name."""
    asked = {"key": key, "name": "x", "text": STUDY}
    with pytest.raises(InputError, match="is no name of a study's folder"):
        LocalLink("arm", measuring(faster())).call("prepare", asked)


def test_two_folders_have_two_keys_whatever_their_names(tmp_path: Path) -> None:
    """Long and odd ones too."""
    names = ("A b", "a-b", "-", "x" * 200, "ä")
    keys = [key_of(tmp_path / name) for name in names]
    assert len(set(keys)) == len(names)
    assert all(len(key) <= 60 for key in keys)
