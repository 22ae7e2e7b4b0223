"""Two hosts on one machine: two network namespaces, joined by a pair of virtual devices.

Each namespace is held by a process of ours that reads a pipe and does nothing (`cat`). It has no
other name: when we end, however, the pipe closes, the holder ends, and the kernel takes away
the namespace with its devices as soon as nothing runs in it. There is nothing to tidy up, and
nothing of it is ever seen outside: addresses, queues and masks are the namespace's own.
`ASSAY_NETWORK` in a holder's environment says which it is, and whose.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import MissingError
from assay.host.transaction import HostTree, value_item
from assay.host.transaction.steps import put
from assay.linux.rights import lacking

SERVER_DEVICE, CLIENT_DEVICE = "assay-server", "assay-client"
SERVER_ADDRESS, CLIENT_ADDRESS = "198.18.0.1", "198.18.0.2"
"""Of the range that is set aside for measuring (RFC 2544); nobody outside the pair sees them."""
PREFIX = 30

CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_NET_ADMIN")
PROGRAMS = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}
PATIENCE_S = 30.0
OWNER = "ASSAY_NETWORK"


@dataclass(frozen=True)
class Side:
    """One of the two: the process that holds it, its device and address."""

    holder: int
    device: str
    address: str

    @property
    def enter(self) -> tuple[str, ...]:
        """Words before a command that has this network and all else as before."""
        return (_program("nsenter"), f"--net=/proc/{self.holder}/ns/net", "--")

    @property
    def tree(self) -> HostTree:
        """The host's files with this network's devices below /sys/class/net."""
        return HostTree(Path(f"/proc/{self.holder}/root"))

    @property
    def namespace(self) -> str:
        """The kernel's name of it."""
        return os.readlink(f"/proc/{self.holder}/ns/net")


@dataclass(frozen=True)
class Pair:
    """Both, and how many queues each device has each way."""

    server: Side
    client: Side
    queues: int

    def put(self, values: Mapping[str, str]) -> None:
        """Give files of the server's device their values; RefusedError if one is not taken.

        They go with the device: there is nothing to bring back.
        """
        tree = self.server.tree
        for path, value in values.items():
            item = value_item(tree, path, value)
            if item is not None:
                put(tree, item)


@contextmanager
def made(queues: int) -> Iterator[Pair]:
    """Two namespaces for as long as the block runs. MissingError names the right that is missing,
    or what else this machine lacks."""
    require_rights()
    with ExitStack() as left:
        server = Side(left.enter_context(_holder("server")), SERVER_DEVICE, SERVER_ADDRESS)
        client = Side(left.enter_context(_holder("client")), CLIENT_DEVICE, CLIENT_ADDRESS)
        _join(server, client, queues)
        # At once, rather than when the kernel comes to it.
        left.callback(_unjoin, server)
        yield Pair(server, client, queues)


def require_rights() -> None:
    """MissingError if this process may not make namespaces and devices, or has not the programs."""
    absent = lacking(*CAPABILITIES)
    if absent:
        raise MissingError(
            f"two network hosts need {' and '.join(absent)}, which this process has not",
            next_step="run the study as root, on the host itself",
        )
    for name in PROGRAMS:
        _program(name)


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        raise MissingError(
            f"{name} is not here", next_step=f"sudo apt-get install {PROGRAMS[name]}"
        )
    return found


@contextmanager
def _holder(role: str) -> Iterator[int]:
    """A process in a network namespace of its own, in which /sys shows that network."""
    command = [_program("unshare"), "--net", "--mount", "--propagation", "private", "--", "cat"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, OWNER: f"{role} of process {os.getpid()}"},
        start_new_session=True,
    )
    try:
        _await(process)
        own = [f"--net=/proc/{process.pid}/ns/net", f"--mount=/proc/{process.pid}/ns/mnt", "--"]
        _run([_program("nsenter"), *own, _program("mount"), "-t", "sysfs", "assay", "/sys"])
        yield process.pid
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        process.wait()


def _await(process: subprocess.Popen[bytes]) -> None:
    """It answers once it is where it should be: what is sent to `cat` comes back."""
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    assert process.stderr is not None, "it is a pipe"
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"\n")
        process.stdin.flush()
    if process.stdout.readline() != b"\n":
        output = process.stderr.read().decode("utf-8", "replace").strip()
        raise MissingError(
            f"no network namespace can be made: {output or 'unshare ended'}",
            next_step="run the study as root, on the host itself",
        )


def _join(server: Side, client: Side, queues: int) -> None:
    count = f"numrxqueues {queues} numtxqueues {queues}"
    _batch(
        server,
        [
            f"link add name {server.device} {count} type veth "
            f"peer name {client.device} {count} netns {client.holder}",
            f"link set dev {server.device} alias assay-{os.getpid()}",
            *_up(server),
        ],
    )
    _batch(client, _up(client))


def _up(side: Side) -> list[str]:
    return [
        f"address add {side.address}/{PREFIX} dev {side.device}",
        f"link set dev {side.device} up",
        "link set dev lo up",
    ]


def _unjoin(server: Side) -> None:
    with contextlib.suppress(MissingError):
        _batch(server, [f"link delete dev {server.device}"])


def _batch(side: Side, lines: Sequence[str]) -> None:
    _run([*side.enter, _program("ip"), "-batch", "-"], "".join(f"{line}\n" for line in lines))


def _run(command: Sequence[str], given: str = "") -> None:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=PATIENCE_S, errors="replace"
    )
    if done.returncode:
        output = (done.stderr or done.stdout).strip().replace("\n", "; ")
        raise MissingError(
            f"two network hosts cannot be made: {output}",
            next_step="a kernel with veth (CONFIG_VETH), and root on the host itself",
        )
