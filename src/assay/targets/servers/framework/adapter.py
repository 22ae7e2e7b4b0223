"""What a real server's file says of it: how to make its data, start it, and ask it.

An adapter knows one server and no change, no study and no load. It runs nothing
by itself but short programs that make data or say what settings there are: the
life of the server is `framework.server`'s. Adapters inherit from `Adapter`, of which
whatever has a body below need not be said again.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from assay.core.parameters import Parameter
from assay.host.traits import UNKNOWN, ServerTraits
from assay.native import Rows
from assay.targets.servers.framework.attachment import Asks, Attachable
from assay.targets.servers.framework.secret import Secrets, draw

DAEMONS = "/usr/local/sbin:/usr/sbin:/sbin"
"""Folders of servers that a user's path may lack."""


LOOPBACK = "127.0.0.1"


def _version(path: Path) -> list[int]:
    return [int(n) for n in re.findall(r"[0-9]+", str(path))]


@dataclass(frozen=True)
class Program:
    """A program that is needed, and the one command that gets it."""

    name: str
    package: str
    """Debian's package."""
    folders: tuple[str, ...] = ()
    """Patterns of further folders, such as those that carry a version in their name."""

    def find(self) -> Path | None:
        """Where it is: on the path, in a folder for daemons, or in the newest version's own."""
        found = shutil.which(self.name) or shutil.which(self.name, path=DAEMONS)
        if found:
            return Path(found)
        root = Path("/")
        own = [p for f in self.folders for p in root.glob(f"{f.lstrip('/')}/{self.name}")]
        return max(own, key=_version, default=None)

    def next_step(self) -> str:
        """The one command."""
        return f"sudo apt-get install {self.package}"


@dataclass(frozen=True)
class Place:
    """Where one server lives: a folder of its own, a port of its own, a Unix socket in the folder.

    What is kept of prepared data is `folder / "data"`. `binary` is the server's
    executable, of a library the folder of its package: the one found, or the one that the arm
    names.
    """

    folder: Path
    port: int
    binary: Path
    host: str = LOOPBACK
    """The address to listen on."""
    enter: tuple[str, ...] = ()
    """Words before the command of what runs beside it, so that it has the server's network."""
    user: int | None = None
    """Whom the server runs as; None is ourselves."""
    secrets: Secrets = field(default_factory=draw, repr=False)


class Ask(Protocol):
    """Asks the running server: statements or commands, and their rows as texts (None is NULL)."""

    place: Place
    pid: int
    """The server's first process."""

    def __call__(self, *asks: str) -> list[Rows]: ...


class Watch(Protocol):
    """Looks at a server meanwhile."""

    def stop(self) -> dict[str, float]:
        """Counters of what was seen, once it has ended. Safe to call twice, and in any state."""
        ...


class Adapter(Protocol):
    """One kind of server."""

    kind: str
    text: str
    protocol: str
    """What the load speaks to it, as in the scheme of an address."""
    programs: tuple[Program, ...]
    """All that are needed; the first is the server."""
    workloads: tuple[str, ...]
    shaping: frozenset[str] = frozenset()
    """Settings that shape stored data: prepared data are of no use with other values."""
    takes_secret: bool = False
    """Whether who comes needs a password; else none is known to its protocol."""
    becomes_user: bool = False
    """Whether its program, where it is started by root, becomes the place's user by itself: before
    it opens any data and before it listens."""
    ping: str = ""
    """An ask that is answered only when it is ready; empty where accepting is enough."""
    settle: tuple[str, ...] = ()
    """Asks after which prepared data lie on the disk; none where an orderly end sees to it."""
    loads: Mapping[str, str] = {}
    """What `assay load` calls a workload, where that is another name."""
    lock_classes: tuple[str, ...] = ()
    """What is waited for: members of the families of metrics that `waits` gives."""
    keeps_data: bool = True
    """Whether data outlive an orderly end, so that they are made once and copied; else each run
    loads them before its window."""
    through_page_cache: bool = False
    """Whether what it writes waits in the kernel, which writes it out when it likes."""
    on_socket: str = ""
    """The Unix socket in its folder that it listens on instead of its port; empty where it has a
    port."""
    is_movable: bool = False
    """Whether it can listen on an address other than loopback's, in a network of its own."""
    attachable: Attachable | None = None
    """What can be done to one that already runs; None if Assay must start it."""
    traits: ServerTraits = UNKNOWN
    """What the rules of a host know of it."""
    functions: Mapping[str, tuple[str, ...]] = {}
    """Functions of the executable whose census is evidence, by the role in which witnesses know
    them."""
    compound: tuple[Parameter, ...] = ()
    """Settings of our own, each of which stands for some of the server's."""
    since_start: frozenset[str] = frozenset()
    """Counters of which a run keeps what they are at its end, not what they rose by in the window:
    what is made once and kept, such as compiled functions."""
    stop_signal: signal.Signals = signal.SIGTERM
    """What ends it in order, whoever is still connected."""
    orphan_signal: signal.Signals = signal.SIGKILL
    """What it gets when its parent dies, and when its data are thrown away: it must end at once and
    leave nothing behind."""

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        """Every setting that this executable has, as it says itself; empty if it is not here.

        A default of None is whatever the server does by itself.
        """
        ...

    def version(self, binary: Path) -> str:
        """What it says of itself in one line."""
        ...

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """What this machine lacks for these settings, and the next step; None if nothing."""
        return None

    def huge_bytes(self, settings: Mapping[str, Any], page_bytes: int) -> int | None:
        """What these settings have it put into huge pages of a size, in bytes; None if it can use
        none, MissingError if not of this size."""
        return None

    def refuses(self, binary: Path, settings: Mapping[str, Any]) -> str:
        """What this very build says against these settings; empty if nothing, or if asking it is
        left to its start."""
        return ""

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        """Commands that make an empty `place.folder / "data"`, run as the server's user."""
        ...

    def adjust(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        """Commands that change the stopped copy of the data, before each start; mostly none."""
        return []

    def beside(
        self, place: Place, settings: Mapping[str, Any]
    ) -> AbstractContextManager[Sequence[int]]:
        """Files of this start and what runs beside the server, from before it starts until it has
        ended; the PIDs of what runs."""
        return nullcontext(())

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        """The server in the foreground, on its port of loopback and its socket, so set."""
        ...

    def url(self, place: Place) -> str:
        """For the load: its user, which has rights on its own data only, without the password,
        and a database."""
        ...

    def admin_url(self, place: Place) -> str:
        """For Assay's own asks: a user who may do everything; the load's where there is one."""
        return self.url(place)

    def files(self, place: Place) -> Mapping[str, str]:
        """Files of the server's folder, by name, that its user alone may read: who may come."""
        return {}

    def greeting(self, place: Place) -> list[str]:
        """Asks of each start, as soon as it answers and before anybody else comes."""
        return [self.ping] if self.ping else []

    def welcome(self, place: Place) -> list[str]:
        """Asks made once of the first started server, before its data are loaded."""
        return []

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What the server reports for each of these settings: the value given where it means the
        same ("80MB" and 83886080), what was reported where it does not. One that is not reported is
        left out. Facts that are no settings may stand beside them (`pool_bytes`)."""
        ...

    def counters(self, ask: Ask) -> dict[str, float]:
        """Counters since its start, by name; differences of a window are taken by the caller, for
        whom one that was not there before the window was 0."""
        ...

    def moment(self, ask: Ask) -> dict[str, float]:
        """Counters and states of `assay.core.timeline`, now; asked once an interval, so it is to be
        cheap. Empty where it has none."""
        return {}

    def program(self, binary: Path) -> str:
        """What it is called when it does not start."""
        return binary.name

    def image(self, place: Place) -> Path | None:
        """The file whose contents tell one build from another, where that is not the executable:
        a library that the process must have mapped."""
        return None

    def watch(self, place: Place, settings: Mapping[str, Any]) -> Watch | None:
        """What looks at the server as a window goes on, from now; None if nothing does."""
        return None

    def look(self, ask: Asks, seconds: float) -> Mapping[str, float]:
        """Looks for so long at a server that Assay did not start: what its statements wait for
        (`wait_ns.EVENT`), what they do not (`running_ns`), and `wait_samples`; empty at once where
        only the server itself can count it."""
        return {}

    def waits(self, counted: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
        """Totals of a window by family of metrics and member, which are told per operation; empty
        where waiting is not counted. `counted` are its counters, and what a watch has seen."""
        return {}

    def tidy(self, place: Place) -> None:
        """Removes what a server that has ended, however, may leave outside its folder."""
        return None

    def is_fatal(self, log: str) -> str:
        """The line of its log that says why it will never be ready; empty while it may be."""
        return ""
