"""Changes of the machine rather than of a server: pages, policies, and which CPU does what.

What a level becomes on a machine of so many CPUs is worked out there (`assay.host.steering`);
here it is a word, or a list of CPUs as the kernel writes it. In force while a run lasts.
Sources: Linux, admin-guide/mm/transhuge.rst and hugetlbpage.rst, networking/scaling.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from assay.changes import engine, mariadb, postgresql, rocksdb
from assay.changes.declaration import NUMA, Application, Change, Dose, Level, LevelError, Signature
from assay.changes.pages import PAGE_KINDS, POLICIES, POOLED, THP, PagesOf
from assay.changes.signature import counted, falls, rises, stays
from assay.changes.witness import Environ, Every, HostShows, OfKeys, PageKinds, ReadBack
from assay.core.metrics import INSTRUCTIONS

SWAPPINESS = "vm.swappiness"
POOL = "pool"
"""The word for a pool of huge pages, which is grown for the run."""
ROOM = "room"
"""The word for memory in such pieces, which the kernel gathers before the run."""

RECEIVED = Dose("softnet_received_rps", "packets given to another CPU per operation")

_LIST = r"\d+(-\d+)?(,\d+(-\d+)?)*"
_CPUS = rf"({_LIST}|0x[0-9a-f]+)"


def _steered(key: str, name: str) -> Level:
    return Level(name, Application(steer={key: name}))


def _named(key: str, *names: str) -> MappingProxyType[str, Level]:
    return MappingProxyType({name: _steered(key, name) for name in names})


def _lists(key: str, form: str, like: str) -> Callable[[str], Level]:
    """Makes levels of lists of CPUs in a form."""

    def written(text: str) -> Level:
        if not re.fullmatch(form, text):
            raise LevelError(f"{text!r} is not a level of host.{key}: {like}", text)
        return _steered(key, text)

    return written


def _host(
    key: str,
    text: str,
    levels: MappingProxyType[str, Level],
    *,
    scope: Literal["servers", "all"] = "all",
    dose: Dose | None = None,
    written: Callable[[str], Level] | None = None,
    signature: Signature = (),
) -> Change:
    """A change whose first level is off and whose second is on."""
    off, on, *_ = levels
    name = f"host.{key}"
    witness = HostShows()
    return Change(
        name, text, frozenset(), levels, off, on, witness, "B", dose,
        written=written, signature=signature, scope=scope,
    )  # fmt: skip


def _values(key: str, *values: str) -> MappingProxyType[str, Level]:
    """Levels that are values of one of the kernel's files."""
    return MappingProxyType({v: Level(v, Application(host={key: v})) for v in values})


def _swappiness(text: str) -> Level:
    if not text.isdigit() or int(text) > 200:
        message = f"{text!r} is not a level of host.swappiness: a number from 0 to 200"
        raise LevelError(message, text)
    return Level(text, Application(host={SWAPPINESS: text}))


PAGES_OF: Mapping[str, PagesOf] = MappingProxyType(
    {
        "engine": engine.pages,
        "micro": engine.pages,
        "mariadb": mariadb.pages,
        "postgresql": postgresql.pages,
        "rocksdb": rocksdb.pages,
    }
)
"""How each target that can have them is told of its pages."""


def _pages(kind: str) -> Level:
    """What is made of memory before a server has pages of a kind, and how each is told of them."""
    made = {ROOM: "2m"} if kind == "thp" else {POOL: kind} if kind in POOLED else {}
    return Level(kind, Application(steer=made, of_target={t: f(kind) for t, f in PAGES_OF.items()}))


_ENV_KEYS = frozenset({rocksdb.TUNABLES, *rocksdb.HEAPS})
_PAGES_SEEN = Every(
    (
        OfKeys(POLICIES, HostShows()),
        OfKeys(_ENV_KEYS, Environ()),
        OfKeys(POLICIES | _ENV_KEYS | {POOL, ROOM}, ReadBack(), others=True),
        PageKinds(POOLED, frozenset({"thp"})),
    )
)

HOST_CHANGES = (
    Change(
        "host.pages",
        "memory of a server in base pages, transparent huge pages, or pages of a pool of 2 MiB or "
        "1 GiB, which is grown before it starts and given back after",
        frozenset(PAGES_OF),
        MappingProxyType({kind: _pages(kind) for kind in PAGE_KINDS}),
        "4k",
        "2m",
        _PAGES_SEEN,
        "C",
        signature=falls("dtlb_walks_per_1000_instructions", "page_table_bytes", "cpu_per_operation")
        + stays(INSTRUCTIONS),
        mechanism="walk_cycles_per_cycle",
    ),
    _host(
        "thp",
        "which processes get transparent huge pages: none, those that ask, all",
        _values(THP, "never", "always", "madvise"),
        signature=rises("resident_bytes") + falls("dtlb_walks_per_1000_instructions"),
    ),
    _host(
        "swappiness",
        "how readily the kernel swaps a server's memory out rather than dropping pages of files",
        _values(SWAPPINESS, "60", "1"),
        written=_swappiness,
        signature=falls("latency_p999"),
    ),
    _host(
        "governor",
        "what chooses the clock of each CPU, where this machine has a say in it",
        _named("governor", "powersave", "performance", "schedutil", "ondemand", "conservative"),
        signature=rises("throughput"),
    ),
    _host(
        "pin",
        "CPUs of server and client: any, a half each (split), the same one (same), or two lists "
        '"0-3/4-7"; of an embedded target the first list',
        _named("pin", "none", "split", "same"),
        written=_lists("pin", rf"{_LIST}(/{_LIST})?", 'none, split, same, or lists such as "0/1"'),
        signature=falls("latency_p99"),
    ),
    Change(
        "host.numa",
        "CPUs of a server's node 0 with memory of the same node, of another, or of all by turns",
        frozenset(),
        MappingProxyType(
            {
                "none": _steered("numa", "none"),
                **{
                    name: Level(name, Application(steer={"numa": name}), NUMA)
                    for name in ("local", "remote", "interleave")
                },
            }
        ),
        "none",
        "local",
        HostShows(),
        "B",
        signature=falls("cpu_per_operation"),
        scope="all",
    ),
    _host(
        "rps",
        "which CPUs handle what a network device has received: the one that took it (off), all, "
        "a queue's share of them but those of its interrupts (others), each flow where its "
        'reader runs (flow), or lists "1" or masks "0x2", one for all queues or by queue '
        '"0x2/0x1"; seed is fe/fe00, of 16 CPUs',
        _named("rps", "off", "others", "all", "flow", "seed"),
        scope="servers",
        dose=RECEIVED,
        written=_lists(
            "rps", rf"{_CPUS}(/{_CPUS})*", 'off, all, others, flow, seed, or CPUs such as "1"'
        ),
        signature=rises(counted("softnet_received_rps")),
    ),
    _host(
        "xps",
        "which CPUs send by which queue of a network device: any (off), a share each (own), or "
        'lists by queue "0/1"',
        _named("xps", "off", "own"),
        scope="servers",
        written=_lists("xps", rf"{_CPUS}(/{_CPUS})*", 'off, own, or CPUs such as "0/1"'),
        signature=falls("latency_p99"),
    ),
    _host(
        "irq",
        "which CPUs serve a device's interrupts: all on the first (first), one after the other on "
        'each (spread), or a list "0-1"; the factor names the device',
        _named("irq", "first", "spread"),
        scope="servers",
        written=_lists("irq", _LIST, 'first, spread, or CPUs such as "0-1"'),
        signature=falls("latency_p99"),
    ),
)
