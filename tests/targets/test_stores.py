"""What is common to stores that are libraries: their runs against a process that pretends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay import native
from assay.changes import Evidence
from assay.changes.witness import Executable
from assay.core.digest import file_digest
from assay.core.errors import InputError, MissingError, RunError
from assay.targets.native.embedded import process_evidence
from assay.targets.servers.framework.target import AnySetting
from assay.targets.stores.framework import server as store_run
from server_kit import left_in, own_folders
from store_kit import Pretended, shared_library

__all__ = ["own_folders"]


@pytest.fixture
def pretended(tmp_path: Path, own_folders: Path, monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """The pretender in the place of `assayer store`."""
    return Pretended(tmp_path, monkeypatch)


def run(pretended: Pretended, launch, log: Path):
    """One run: what was read back, measured and seen."""
    server = pretended.target.start(launch, log)
    try:
        return server.read_back(), server.measure(lambda done, spent: None), server.evidence()
    finally:
        server.stop()


def test_a_run_is_asked_for_as_the_study_says(pretended: Pretended, tmp_path: Path) -> None:
    """Sizes as the library counts them, flags as flags, the harness's settings beside them."""
    launch = pretended.launch(block_size="16KiB", paranoid=True, ratio=0.5, threads=3)
    run(pretended, launch, tmp_path / "log")
    (asked,) = pretended.asked("run")
    assert asked["settings"] == {"block_size": "16384", "paranoid": True, "ratio": "0.5"}
    assert (asked["threads"], asked["pin"], asked["seed"]) == (3, False, 3)
    assert asked["library"] == str(pretended.library)
    assert asked["workload"]["kind"] == "ycsb"
    assert (asked["warmup_ms"], asked["window_ms"], asked["interval_ms"]) == (50, 300, 150)


def test_what_was_measured_is_the_whole_process(pretended: Pretended, tmp_path: Path) -> None:
    """CPU time of all its threads, its memory, and what resetting and starting took."""
    read, measured, evidence = run(pretended, pretended.launch(block_size=8192), tmp_path / "log")
    assert read["block_size"] == 8192
    assert measured.metrics["cpu_per_operation"] == pytest.approx(0.3 * 1e9 / 100)
    assert measured.metrics["resident_bytes"] == 4000
    assert measured.counters["block.cache.hit"] == 70
    assert measured.counters["reset_s"] > 0
    assert measured.counters["start_s"] > 0
    assert evidence.memory["private_hugetlb_bytes"] == 0
    assert evidence.log == {"Fast CRC32 supported": "Not supported on x86"}
    assert "assay: reset" in (tmp_path / "log").read_text()


def test_an_environment_that_was_looked_at_too_early_is_looked_at_again(
    pretended: Pretended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just after exec the kernel shows an empty one."""
    looks = []

    def look(pid: int, watched: tuple[str, ...]) -> Evidence:
        looks.append(pid)
        return process_evidence(pid, watched if len(looks) > 1 else ())

    monkeypatch.setattr(store_run, "process_evidence", look)
    launch = replace(pretended.launch(), env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"})
    _, _, evidence = run(pretended, launch, tmp_path / "log")
    assert evidence.environ == {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}


def test_the_library_is_told_by_what_the_process_has_loaded(
    pretended: Pretended, tmp_path: Path
) -> None:
    """Its digest is that of the file, and another's is not; its functions are counted."""
    _, _, evidence = run(pretended, pretended.launch(), tmp_path / "log")
    executable, digest = evidence.executable, file_digest(pretended.library)
    assert executable.sha256 == digest
    assert executable.build_id == native.census(pretended.library).build_id
    judge = Executable({"this": digest, "other": "0" * 64}).judge
    assert judge("this", {}, evidence).held
    assert judge("this", {}, evidence).evidence.startswith("running library ")
    assert not judge("other", {}, evidence).held
    assert {f.role: f.symbol for f in evidence.functions} == {
        "shelf_code": "libshelf.so.1, all of its code",
        "shelf": "shelf_put",
    }


def test_a_library_that_was_made_anew_meanwhile_fails_the_run(
    pretended: Pretended, tmp_path: Path
) -> None:
    """What was loaded is not what its path says now."""
    pretended.tell(sleep=60)
    server = pretended.target.start(pretended.launch(), tmp_path / "log")
    try:
        next(server._messages)
        pretended.library.unlink()
        shared_library(tmp_path, "int shelf_put(int x) { return x + 1; }")
        server._messages = iter([_ready(server, pretended)])
        with pytest.raises(RunError, match="is not loaded by the process"):
            server.read_back()
    finally:
        server.stop()


def _ready(server, pretended: Pretended) -> native.Ready:
    manifest = {"settings": {}, "version": "1.0", "library": str(pretended.library)}
    return native.Ready(
        verb="store", pid=server._session.process.pid, build_id="x", manifest=manifest
    )


@pytest.mark.parametrize(
    ("given", "told", "why"),
    [
        (
            {"block_size": "8KiB"},
            {"lies": {"block_size": "4096"}},
            r"block_size = '4096' in force, but was given '8KiB'",
        ),
        ({"paranoid": True}, {"lies": {"paranoid": "false"}}, r"paranoid = 'false' in force"),
        ({"name": "x"}, {"silent": ["name"]}, r"does not report name, set to 'x'"),
    ],
)
def test_a_setting_that_was_changed_or_ignored_fails_the_run(
    given, told, why: str, pretended: Pretended, tmp_path: Path
) -> None:
    """With both values."""
    pretended.tell(**told)
    server = pretended.target.start(pretended.launch(**given), tmp_path / "log")
    try:
        with pytest.raises(RunError, match=why):
            server.read_back()
    finally:
        server.stop()


def test_data_are_made_once_for_all_that_they_do_not_depend_on(
    pretended: Pretended, tmp_path: Path
) -> None:
    """What shapes them makes them anew: a setting, a version, the records. The rest does not."""
    log = tmp_path / "log"
    for given in ({}, {"paranoid": True}, {"threads": 1}):
        run(pretended, pretended.launch(**given), log)
    assert len(pretended.asked("prepare")) == 1
    assert pretended.asked("prepare")[0]["seed"] == 1
    run(pretended, pretended.launch(block_size=8192), log)
    assert pretended.asked("prepare")[-1]["settings"] == {"block_size": "8192"}
    launch = pretended.launch()
    run(pretended, replace(launch, parameters={**launch.parameters, "records": 2000}), log)
    assert len(pretended.asked("prepare")) == 3


def test_a_run_has_a_copy_and_leaves_the_data_as_they_were(
    pretended: Pretended, tmp_path: Path
) -> None:
    """The pretender refuses data that a run has changed."""
    for _ in range(2):
        run(pretended, pretended.launch(), tmp_path / "log")
    (made,) = (tmp_path / "cache" / "assay" / "data").glob("[!.]*")
    assert (made / "data" / "records").read_text() == "all"


def test_data_that_are_not_sound_are_not_kept(pretended: Pretended, tmp_path: Path) -> None:
    """They are made again when somebody asks again."""
    pretended.tell(unsound=["3 records are missing"])
    with pytest.raises(RunError, match="not loaded as they should: 3 records are missing"):
        pretended.target.start(pretended.launch(), tmp_path / "log")
    assert [p.name for p in (tmp_path / "cache" / "assay" / "data").iterdir()] == [".turn"]


def test_a_store_that_is_killed_fails_its_run(pretended: Pretended, tmp_path: Path) -> None:
    """And so does one whose data were wrong."""
    pretended.tell(dies=True)
    with pytest.raises(RunError, match="gave no result: it was killed by SIGKILL"):
        run(pretended, pretended.launch(), tmp_path / "log")
    state = {"records": 9, "checksum_ok": False, "faults": ["1 record is gone"]}
    pretended.tell(result={"state": state})
    with pytest.raises(RunError, match="wrong after the run: 1 record is gone"):
        run(pretended, pretended.launch(), tmp_path / "log")


def test_what_a_library_lacks_is_missing_before_the_study_and_fails_a_run_afterwards(
    pretended: Pretended, tmp_path: Path
) -> None:
    """With the symbol's name."""
    launch = pretended.launch()
    pretended.target.check(launch)
    assert pretended.asked("run")[-1]["check_only"]
    run(pretended, launch, tmp_path / "log")
    pretended.tell(missing="libshelf.so.1 has no shelf_fast")
    with pytest.raises(MissingError, match="has no shelf_fast"):
        pretended.target.check(launch)
    with pytest.raises(RunError, match="has no shelf_fast"):
        run(pretended, launch, tmp_path / "log")


def test_a_setting_that_the_library_has_not_is_refused_before_anything_starts(
    pretended: Pretended,
) -> None:
    """Names come from the library itself."""
    with pytest.raises(InputError, match=r"libshelf\.so\.1 has no setting blok_size"):
        pretended.target.check(pretended.launch(blok_size=1))


def test_settings_are_asked_for_once_for_each_contents_of_a_library(
    pretended: Pretended, tmp_path: Path
) -> None:
    """They are kept by its digest."""
    pretended.target.check(pretended.launch())
    pretended.target.check(pretended.launch(block_size=1))
    assert len(pretended.asked("options")) == 1
    pretended.library.unlink()
    shared_library(tmp_path, "int shelf_put(int x) { return x + 2; }")
    pretended.target.check(pretended.launch())
    assert len(pretended.asked("options")) == 2


def test_the_library_is_the_one_named_and_an_arm_may_name_another(
    pretended: Pretended, tmp_path: Path
) -> None:
    """The generic change of a binary switches the library."""
    target = pretended.target
    assert target.library(pretended.launch()) == pretended.library
    other = shared_library(_folder(tmp_path / "other"))
    assert target.library(replace(pretended.launch(), binary=str(other))) == other
    with pytest.raises(InputError, match="absent is not a file"):
        target.library(replace(pretended.launch(), binary=str(tmp_path / "absent")))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_without_the_library_a_study_can_be_read_and_the_list_has_the_command(
    pretended: Pretended,
) -> None:
    """Any plausible name is accepted until `check`."""
    target = pretended.target
    assert target.found() == "not here: sudo apt-get install libshelf-dev"
    assert isinstance(target.settings, AnySetting)
    assert "some_option" in target.settings
    assert target.settings["threads"].default == 2
    with pytest.raises(MissingError, match=r"no libshelf\.so is installed") as caught:
        target.check(replace(pretended.launch(), settings={}))
    assert "libshelf-dev" in caught.value.next_step


def test_a_setting_is_what_its_default_looks_like(pretended: Pretended) -> None:
    """Whole numbers take sizes, flags take flags; anything else is a text."""
    settings = pretended.target._opened(pretended.library).settings()
    assert settings["block_size"].read("64MiB") == "64MiB"
    assert settings["depth"].read(-5) == -5
    assert settings["paranoid"].read(True) is True
    for name, value in (("block_size", "large"), ("paranoid", "perhaps"), ("ratio", "half")):
        with pytest.raises(ValueError, match=name):
            settings[name].read(value)


KILLED = """
import sys, time
from dataclasses import replace
from pathlib import Path
from store_kit import Shelf, store_launch
from assay.targets.stores.framework.target import StoreTarget
server = StoreTarget(Shelf()).start(store_launch(library=sys.argv[1]), Path(sys.argv[2]))
server.read_back()
print(server._session.process.pid, flush=True)
time.sleep(60)
"""


def test_nothing_is_left_when_assay_is_killed(
    pretended: Pretended, tmp_path: Path, own_folders: Path
) -> None:
    """kill -9: the process of the store ends, its folder goes."""
    pretended.tell(sleep=60)
    parent = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(pretended.library), str(tmp_path / "log")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert left_in(own_folders)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 30
    while (Path(f"/proc/{pid}").exists() or left_in(own_folders)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()
    assert left_in(own_folders) == []
