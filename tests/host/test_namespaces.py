"""Two network namespaces of this machine: they reach each other, nobody else, and go with us."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.core.errors import MissingError
from assay.host import namespaces
from assay.host.namespaces import CLIENT_ADDRESS, OWNER, SERVER_ADDRESS, SERVER_DEVICE, made
from assay.host.transaction import RefusedError

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
QUEUES = f"/sys/class/net/{SERVER_DEVICE}/queues"

HOLD = """
import sys, time
from assay.host.namespaces import made
with made(1) as pair:
    print(pair.server.holder, pair.client.holder, flush=True)
    time.sleep(600)
"""

REFUSED = """
from assay.core.errors import MissingError
from assay.host.namespaces import made
try:
    with made(1):
        pass
except MissingError as error:
    print(error.message, "|", error.next_step)
"""


def holders(owner: int) -> list[int]:
    """Processes that hold a namespace of an owner's."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if f"{OWNER}=server of process {owner}\0".encode() in environment or (
            f"{OWNER}=client of process {owner}\0".encode() in environment
        ):
            found.append(int(entry.name))
    return found


def until(is_so: Callable[[], bool]) -> bool:
    """Whether it comes to be so in a while."""
    end = time.monotonic() + 20
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


def links(*before: str) -> list[dict]:
    """The network devices that a command sees."""
    told = subprocess.run([*before, "ip", "-json", "link"], capture_output=True, check=True)
    return json.loads(told.stdout)


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No device of ours is ever outside, and no holder stays."""
    names = {link["ifname"] for link in links()}
    yield
    assert {link["ifname"] for link in links()} == names
    assert until(lambda: not holders(os.getpid()))


@ROOT
@pytest.mark.parametrize("queues", [1, 2])
def test_each_has_its_end_of_a_pair_with_so_many_queues(nothing_left, queues: int) -> None:
    """And nothing but loopback beside it."""
    with made(queues) as pair:
        for side in (pair.server, pair.client):
            names = [link["ifname"] for link in links(*side.enter)]
            assert sorted(names) == sorted(["lo", side.device])
        tree = pair.server.tree
        kept = sorted(p.name for p in tree.place(QUEUES).iterdir())
        assert kept == sorted(f"{way}-{n}" for way in ("rx", "tx") for n in range(queues))
        alias = next(n for n in links(*pair.server.enter) if n["ifname"] == SERVER_DEVICE)
        assert alias["ifalias"] == f"assay-{os.getpid()}"
        assert pair.server.namespace != pair.client.namespace != os.readlink("/proc/self/ns/net")


@ROOT
def test_the_client_reaches_the_server_and_we_do_not(nothing_left) -> None:
    """What listens in one is seen from the other only; loopback is each one's own."""
    listen = (
        "import socket; s = socket.create_server(('', 4567)); print('on', flush=True); "
        "c, who = s.accept(); c.sendall(who[0].encode())"
    )
    ask = f"import socket; print(socket.create_connection(('{SERVER_ADDRESS}', 4567), 5).recv(99))"
    with made(1) as pair:
        command = [*pair.server.enter, sys.executable, "-c", listen]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"on\n"
            for words in ((), pair.client.enter):
                local = ask.replace(SERVER_ADDRESS, "127.0.0.1")
                done = subprocess.run([*words, sys.executable, "-c", local], capture_output=True)
                assert b"refused" in done.stderr
            done = subprocess.run(
                [*pair.client.enter, sys.executable, "-c", ask], capture_output=True, text=True
            )
            assert CLIENT_ADDRESS in done.stdout, done.stderr


@ROOT
def test_masks_of_its_device_are_set_and_refused_by_the_kernel_itself(nothing_left) -> None:
    """A CPU that is not here cannot be named."""
    path, beyond = f"{QUEUES}/rx-0/rps_cpus", 1 << os.sysconf("SC_NPROCESSORS_CONF")
    with made(1) as pair:
        pair.put({path: "1"})
        assert int(pair.server.tree.read(path) or "0", 16) == 1
        with pytest.raises(RefusedError, match=r"EOVERFLOW"):
            pair.put({path: f"{beyond:x}"})
        assert int(pair.server.tree.read(path) or "0", 16) == 1


@ROOT
def test_they_go_with_whoever_made_them_however_that_ends() -> None:
    """kill -9: the pipe closes, the holders end, and with them the namespaces."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()]
        assert sorted(holders(owner.pid)) == sorted(pids)
        owner.kill()
    assert until(lambda: not any(Path(f"/proc/{pid}/ns/net").exists() for pid in pids))


@ROOT
def test_another_user_is_told_which_right_is_missing() -> None:
    """By name, before anything is made."""
    nobody = pwd.getpwnam("nobody")
    as_nobody = ["setpriv", f"--reuid={nobody.pw_uid}", "--clear-groups", "--inh-caps=-all", "--"]
    done = subprocess.run(
        [*as_nobody, sys.executable, "-c", REFUSED],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert "CAP_SYS_ADMIN and CAP_NET_ADMIN" in done.stdout, done.stderr
    assert "as root" in done.stdout


def test_a_machine_without_the_programs_is_told_which_package_has_them(monkeypatch) -> None:
    """Such as a minimal container's."""
    monkeypatch.setattr(namespaces, "CAPABILITIES", ())
    monkeypatch.setattr(namespaces.shutil, "which", lambda name, path=None: None)
    with pytest.raises(MissingError, match="ip is not here") as told, made(1):
        raise AssertionError("not reached")
    assert "iproute2" in told.value.next_step
