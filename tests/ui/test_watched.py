"""Real studies that are watched: killed, stopped, extended. Processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.core.errors import BundleError
from assay.linux.locks import lock_holder
from assay.linux.processes import identity
from assay.record import Bundle, differences
from assay.ui import Access
from assay.ui.children import Children
from assay.ui.state import StudyPhase, interrupt, state_of
from ui_kit import Visitor, seen_until, served

LOOSE = (sys.executable, str(Path(__file__).parent.parent / "loose.py"))
"""The command on a machine where other tests may be running."""

STUDY = """
name = "watched"
question = "Is an equal arm equal?"

[target]
kind = "engine"

[workload]
kind = "ycsb"
records = 2000
fields = 1

[measure]
primary = "throughput"
warmup = "10ms"
window = "40ms"
design = "runs"

[[factor]]
name = "cache"
change = "engine.data_cache"

[[arm]]
name = "cache"
levels = { cache = "optimistic" }

[[arm]]
name = "again"
placebo = true

[design]
kind = "arms"

[decide]
smallest = "0.1%"
margin = "0.1%"
budget = "{budget}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the page, with the study."""
    made = tmp_path / "shown"
    made.mkdir()
    return made


@pytest.fixture
def visitor(folder: Path) -> Iterator[Visitor]:
    """Somebody who has entered."""
    with served(folder, command=LOOSE) as found:
        yield found.enter()


@contextmanager
def started(*words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """`assay run`, in a session of its own; killed if it still runs in the end."""
    process = subprocess.Popen(
        [*LOOSE, "run", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def study_of(folder: Path, budget: str) -> Path:
    """The study's file."""
    path = folder / "watched.toml"
    path.write_text(STUDY.replace("{budget}", budget))
    return path


def until_runs(bundle: Path, least: int) -> None:
    """Wait until so many runs are made."""
    for _ in range(600):
        runs = bundle / "runs.jsonl"
        if runs.exists() and runs.read_bytes().count(b"\n") >= least:
            return
        time.sleep(0.05)
    raise AssertionError("the study made no runs")


def test_killed_while_it_is_watched_it_goes_on_as_the_page_says(
    folder: Path, visitor: Visitor
) -> None:
    """kill -9: the view says that it ended without saying goodbye, and how to go on. Gone on with,
    it runs, and the same viewer sees it stopped by the page."""
    bundle = folder / "bundle"
    with started(study_of(folder, "60s"), "--out", bundle) as process:
        until_runs(bundle, 3)
        (address,) = visitor.bundles()
        with visitor.watching(address) as news:
            running = seen_until(news, lambda n: "actions" in n["parts"])
            assert f"as process {process.pid}." in running["parts"]["actions"]
            process.kill()
            process.wait()
            ended = seen_until(news, lambda n: "goodbye" in n["parts"].get("actions", ""))
            assert f"assay run --resume {bundle}" in ended["parts"]["actions"]
            assert "Stop the study" not in ended["parts"]["actions"]
            assert "goodbye" in ended["say"]
            made = len(Bundle.open(bundle).runs())
            with started("--resume", bundle) as again:
                until_runs(bundle, made + 2)
                seen_until(news, lambda n: f"process {again.pid}." in n["parts"].get("actions", ""))
                sent = visitor.send(f"{address}/stop", process=identity(again.pid))
                assert (sent.status, sent.headers["location"]) == (303, address)
                assert again.wait(30) == 130
                stopped = seen_until(news, lambda n: "Stopped:" in n["parts"].get("actions", ""))
                assert "you stopped it" in stopped["parts"]["actions"]
    assert differences(Bundle.open(bundle)) == []


def test_only_the_process_that_runs_the_study_is_stopped(folder: Path, visitor: Visitor) -> None:
    """Not another one, however it is named, and not one that has the file open only."""
    bundle = folder / "bundle"
    with started(study_of(folder, "60s"), "--out", bundle) as process:
        until_runs(bundle, 1)
        (address,) = visitor.bundles()
        own = identity(process.pid)
        ticks = own.partition(":")[2]
        with (bundle / "runs.jsonl").open("rb"):
            for name in ("", "0", "-1", "1", "1:0", "x", f"{process.pid}:{int(ticks) + 1}",
                         f"{process.pid}", identity(os.getpid()), "9" * 30):  # fmt: skip
                assert visitor.send(f"{address}/stop", process=name).status == 400
        (folder / "link").hardlink_to(bundle / "runs.jsonl")
        assert "another name too" in visitor.send(f"{address}/stop", process=own).text
        (folder / "link").unlink()
        assert process.poll() is None
        assert lock_holder(bundle / "runs.jsonl") is not None
        interrupt(bundle, own)
        assert process.wait(30) == 130
    with pytest.raises(BundleError, match="not run by that process any more"):
        interrupt(bundle, own)
    assert state_of(bundle).phase is StudyPhase.STOPPED


def test_a_study_in_the_background_of_a_shell_is_stopped_too(folder: Path) -> None:
    """There SIGINT is ignored, and so SIGTERM is sent."""
    bundle = folder / "bundle"
    command = [*LOOSE, "run", str(study_of(folder, "60s")), "--out", str(bundle)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        until_runs(bundle, 1)
        interrupt(bundle, identity(process.pid))
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()


def test_an_undecided_study_is_extended_from_the_page(folder: Path) -> None:
    """After it said what that runs; the study that was started is the command's, and is followed
    as any other."""
    bundle = folder / "bundle"
    with started(study_of(folder, "10s"), "--out", bundle) as process:
        assert process.wait(120) == 0
    before = Bundle.open(bundle).verdicts()
    assert {r.word for r in before.verdicts if r.arm == "again"} >= {"undecided"}
    with served(folder, command=LOOSE) as visitor:
        (address,) = visitor.enter().bundles()
        assert f'href="{address}/extend"' in visitor.page(address)
        asked = visitor.page(f"{address}/extend")
        assert f"assay run --extend {bundle}" in asked
        with visitor.watching(address) as news:
            assert visitor.send(f"{address}/extend").status == 303
            seen_until(news, lambda n: "Runs now" in n["parts"].get("actions", ""))
            seen_until(news, lambda n: "Finished." in n["parts"].get("actions", ""))
        for _ in range(300):
            if "This page started it" not in visitor.page(address):
                break
            time.sleep(0.1)
    after = Bundle.open(bundle).verdicts()
    assert after.extensions == before.extensions + 1
    assert after.blocks > before.blocks


def test_what_cannot_be_extended_is_not(folder: Path, visitor: Visitor) -> None:
    """A study that runs, and one of another user's or everybody's folder."""
    bundle = folder / "bundle"
    with started(study_of(folder, "60s"), "--out", bundle):
        until_runs(bundle, 1)
        (address,) = visitor.bundles()
        assert "/extend" not in visitor.page(address)
        for found in (visitor.ask(f"{address}/extend"), visitor.send(f"{address}/extend")):
            assert found.status == 400
            assert "cannot be extended" in found.text
    bundle.chmod(0o777)
    assert "open to everybody" in visitor.send(f"{address}/extend").text


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    """Its last words and its code; the file that it was to write goes."""
    children = Children(LOOSE)
    out = tmp_path / "out.json"
    children.start("one", ["doctor", "--json", "--for", "1s", "--", "--no-such-server"], out)
    with pytest.raises(BundleError, match="started it already"):
        children.start("one", ["list"])
    children._last["one"].process.wait(60)
    said = children.complaint("one")
    assert "`assay doctor` ended with exit code" in said
    assert "--no-such-server" in said
    assert not out.exists()
    children.start("one", ["list", "studies", "--json"], out)
    children.wait(60)
    assert children.complaint("one") == ""
    assert json.loads(out.read_text())
    assert out.stat().st_mode & 0o077 == 0


def test_the_command_prints_a_link_and_ends_with_ctrl_c(folder: Path) -> None:
    """The link opens the page; Ctrl-C is its proper end, also while somebody watches."""
    bundle = folder / "bundle"
    with started(study_of(folder, "60s"), "--out", bundle):
        until_runs(bundle, 1)
        process = subprocess.Popen(
            [*LOOSE, "ui", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{20,})", link)
        assert found is not None, link
        name = f"assay-ui-{found[1]}"
        visitor = Visitor(int(found[1]), Access(token=found[2], name=name)).enter()
        (address,) = visitor.bundles()
        with visitor.watching(address) as news:
            seen_until(news, lambda n: n["share"] == 1.0)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert found[2] not in said
