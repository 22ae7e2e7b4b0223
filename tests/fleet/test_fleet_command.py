"""`assay fleet` as a user meets it: what is printed, as JSON, and each exit code."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.cli import _fleet
from assay.fleet import nodes
from assay.fleet.agent import Agent
from assay.fleet.keys import FILES
from assay.fleet.local import LocalHosts
from cli_kit import assay
from fakes import STUDY, FakeTarget
from fleet_kit import LOOPBACK, agent, inventory, local, measuring, two

ARCH = platform.machine()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory of two hosts with keys; hosts that join are agents of this process."""
    made = two(tmp_path)
    assert made.keys is not None
    made.keys.mkdir()
    for name in FILES:
        (made.keys / name).write_text("x")
        (made.keys / name).chmod(0o600)
    return tmp_path / "lab.toml"


def join(monkeypatch: pytest.MonkeyPatch, folder: Path, **agents: Agent) -> dict[str, object]:
    """Let agents of this process be the hosts; what the connection was made with."""
    seen: dict[str, object] = {}

    @contextmanager
    def connected(
        address: str, environment: Mapping[str, str], own: str | None = None
    ) -> Iterator[LocalHosts]:
        seen.update(address=address, environment=dict(environment), own=own)
        yield local(two(folder), **agents)

    monkeypatch.setattr(_fleet, "connected", connected)
    return seen


def test_status_says_which_hosts_are_there(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1 while one is absent, with the command that joins it."""
    seen = join(monkeypatch, lab.parent, x86=agent(arch=ARCH))
    done = assay("fleet", "status", lab)
    assert done.returncode == 1
    first, second, *rest = done.stdout.splitlines()
    assert first.split() == [
        *("x86", "here", "198.18.0.1", "server,load,upstream"),
        *("arch=x86_64", "type=big"),
    ]
    assert second.split()[:2] == ["arm", "absent"]
    assert rest[0] == "arm: absent: it has not joined"
    assert f"assay fleet up {lab} --as arm" in rest[1]
    assert seen["address"] == "198.18.0.1:6390"
    assert seen["own"] == "198.18.0.1"
    environment = seen["environment"]
    assert isinstance(environment, dict)
    assert environment["RAY_USE_TLS"] == "1"


def test_check_prints_what_it_found_as_text_and_as_json(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts, clocks, what differs; an emulated host is labelled."""
    join(monkeypatch, lab.parent, x86=agent(arch=ARCH), arm=agent(arch="riscv64"))
    done = assay("fleet", "check", lab, "--as", "arm")
    assert done.returncode == 1
    assert f"    {ARCH}, a fake CPU, 2 CPUs, 16.0 GiB, Linux 6.1" in done.stdout
    assert done.stdout.count("emulated: behaviour only") == 1
    assert "arm: label: its label says arch = x86_64, but it is riscv64" in done.stdout
    assert "x86 arm: unequal: hosts of the type big differ in arch" in done.stdout
    assert "asking x86" in done.stderr
    told = json.loads(assay("fleet", "check", lab, "--json").stdout)
    assert {"name", "hosts", "findings", "differences"} == told.keys()
    assert [host["is_emulated"] for host in told["hosts"]] == [False, True]


def test_a_cluster_of_somebody_s_needs_token_and_tls(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3 before anything is connected."""
    seen = join(monkeypatch, lab.parent, x86=agent(arch=ARCH))
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    done = assay("fleet", "status", "--address", "198.18.0.1:6379")
    assert done.returncode == 3
    assert "without RAY_AUTH_MODE and RAY_USE_TLS" in done.stderr
    assert seen == {}
    assert assay("fleet", "status", "--address", "127.0.0.1:6379").returncode == 0
    assert seen["address"] == "127.0.0.1:6379"


@pytest.mark.parametrize("words", [(), ("lab.toml", "--address", "127.0.0.1:1")])
def test_one_of_inventory_and_address_is_named(words: tuple[str, ...]) -> None:
    """Exit 2."""
    done = assay("fleet", "status", *words)
    assert done.returncode == 2
    assert "name an inventory, or a cluster with --address" in done.stderr


def test_up_starts_the_head_and_names_what_follows(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One command for each other host."""
    monkeypatch.setattr(nodes, "start", lambda inventory, host, secure: Path("/log"))
    done = assay("fleet", "up", lab)
    assert done.stdout.splitlines() == [
        "x86 is up at 198.18.0.1",
        f"next, on arm: assay fleet up {lab} --as arm",
    ]
    assert assay("fleet", "up", lab, "--as", "arm").stdout == "arm is up at 198.18.0.2\n"
    done = assay("fleet", "up", lab, "--as", "ram")
    assert done.returncode == 2
    assert "did you mean 'arm'?" in done.stderr


def test_up_is_refused_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off loopback nothing begins without token and TLS."""
    two(tmp_path)
    monkeypatch.setattr(nodes, "start", lambda *given: pytest.fail("it was started"))
    done = assay("fleet", "up", tmp_path / "lab.toml")
    assert done.returncode == 3
    assert f"assay fleet keys {tmp_path}/lab.toml" in done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_are_made_by_a_command(tmp_path: Path) -> None:
    """It says what to copy; a second time it is refused."""
    two(tmp_path)
    done = assay("fleet", "keys", tmp_path / "lab.toml")
    assert done.returncode == 0
    assert "has a token and certificates for x86, arm" in done.stdout
    assert assay("fleet", "keys", tmp_path / "lab.toml").returncode == 2


def test_down_says_whether_anything_ran(tmp_path: Path) -> None:
    """Here nothing did."""
    inventory(tmp_path, LOOPBACK)
    done = assay("fleet", "down", tmp_path / "lab.toml")
    assert (done.returncode, done.stdout) == (0, "here did not run here\n")


def test_studies_run_on_the_hosts_that_have_the_labels(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line and a report for each; as JSON too; a second time nothing is run again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(lab.parent / "state"))
    fake = FakeTarget()
    join(monkeypatch, lab.parent, x86=measuring(fake), arm=measuring(FakeTarget()))
    for name in ("one", "two"):
        (lab.parent / f"{name}.toml").write_text(STUDY)
    asked = ("fleet", "run", lab, lab.parent / "one.toml", lab.parent / "two.toml")
    where = ("--where", "type=big", "--out", lab.parent / "bundles", "--seed", "7")
    done = assay(*asked, *where)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["one", "finished"],
        ["two", "finished"],
    ]
    assert (lab.parent / "bundles" / "one" / "report.html").exists()
    assert "one begins" in done.stderr
    started = fake.started
    told = json.loads(assay(*asked, *where, "--json").stdout)
    assert [outcome["state"] for outcome in told] == ["finished", "finished"]
    assert fake.started == started


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("quickstart", "--where", "type=small"), 2, "no host that has joined has these labels"),
        (("quickstart", "--where", "type"), 2, "write LABEL=VALUE"),
        (("quickstart", "quickstart"), 2, "two studies would have the bundle"),
        (("quick",), 2, "neither a file nor a shipped study"),
    ],
)
def test_what_cannot_be_queued_is_refused(
    lab: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, said: str
) -> None:
    """Before anything runs."""
    join(monkeypatch, lab.parent, x86=agent(arch=ARCH))
    done = assay("fleet", "run", lab, *words, "--out", lab.parent / "bundles")
    assert done.returncode == code
    assert said in done.stderr
    assert not (lab.parent / "bundles").exists()


def test_a_study_that_failed_makes_the_exit_code(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong, and what to do next."""
    monkeypatch.setenv("XDG_STATE_HOME", str(lab.parent / "state"))
    join(monkeypatch, lab.parent, x86=measuring(FakeTarget()))
    (lab.parent / "bad.toml").write_text("name = 3")
    done = assay("fleet", "run", lab, lab.parent / "bad.toml", "--out", lab.parent / "bundles")
    assert done.returncode == 2
    assert done.stdout.split()[:2] == ["bad", "failed"]
    assert "x86: " in done.stdout
