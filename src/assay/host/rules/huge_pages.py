"""H01-H07: huge pages that were asked for, and those that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.host.rules.finding import HostFinding, HostRule
from assay.host.view import View
from assay.linux.pools import Pool

DOC = "Linux, admin-guide/mm/hugetlbpage.rst"

SPARE_SHARE, SPARE_PAGES = 0.05, 64
"""Free pages that are nobody's: more than both of these are a waste."""


def _size(page_bytes: int) -> str:
    return f"{page_bytes >> 30} GiB" if page_bytes >= 1 << 30 else f"{page_bytes >> 20} MiB"


def _asks(view: View) -> str | None:
    """Where the server asks for huge pages; None if it does not."""
    server = view.server
    wants = view.traits.asks_huge
    if server is None or wants is None:
        return None
    words = "\n".join(word.removeprefix("--") for word in server.command)
    if wants.search(words):
        return "its command line"
    for path in _configurations(view):
        if wants.search(_effective(view.read(path) or "")):
            return path
    return None


def _configurations(view: View) -> list[str]:
    assert view.server is not None, "asked of a server's process only"
    found = []
    for one, other in zip(view.server.command, [*view.server.command[1:], ""], strict=True):
        if one in view.traits.data_options:
            found += [f"{other}/{name}" for name in view.traits.configurations]
        if one.startswith(("config_file=", "--config_file=")):
            found.append(one.partition("=")[2])
        if one.startswith("--defaults-file="):
            found.append(one.partition("=")[2])
    return found


def _effective(text: str) -> str:
    """A configuration without its comments."""
    return "\n".join(line.partition("#")[0] for line in text.splitlines())


def _unused(view: View) -> Iterator[HostFinding]:
    server, asks = view.server, _asks(view)
    if server is None or asks is None or server.huge_bytes:
        return
    yield HostFinding(
        "H01",
        "S1",
        f"{view.kind} ({server.pid}) asks for huge pages in {asks}, and maps none of them",
        "it fell back to small pages without a word: what was reserved for it is lost",
        "PostgreSQL documentation, huge_pages = try; MariaDB documentation, large_pages",
        "reserve enough pages (`assay host size`), then start the server anew",
    )


def _short(view: View) -> Iterator[HostFinding]:
    """A pool that promised more than it has."""
    for pool in view.pools:
        if pool.reserved > pool.free:
            yield _too_small(pool, pool.reserved - pool.free)


def _too_small(pool: Pool, missing: int) -> HostFinding:
    return HostFinding(
        "H02",
        "S1",
        f"{pool.path}: {pool.reserved} pages are promised and {pool.free} are free",
        "a process that touches a promised page which is not there is killed by SIGBUS",
        DOC,
        "enlarge the pool",
        ((f"{pool.path}/nr_hugepages", str(pool.total + missing)),),
    )


def _wasted(view: View) -> Iterator[HostFinding]:
    for pool in view.pools:
        spare = pool.available
        if spare > max(SPARE_PAGES * (2 << 20) / pool.page_bytes, SPARE_SHARE * pool.total):
            used = pool.total - spare
            yield HostFinding(
                "H03",
                "S2",
                f"{spare} of {pool.total} pages of {_size(pool.page_bytes)} are unused: "
                f"{spare * pool.page_bytes / 2**30:.1f} GiB",
                "memory in a pool is of no use to anything else, and is never swapped",
                DOC,
                f"shrink the pool to what is in use, {used} pages, once its server runs",
                ((f"{pool.path}/nr_hugepages", str(used)),),
            )


def _not_obtained(view: View) -> Iterator[HostFinding]:
    for asked, page_bytes in _asked_at_boot(view):
        pool = next((p for p in view.pools if p.page_bytes == page_bytes), None)
        if pool is not None and pool.total < asked:
            yield HostFinding(
                "H04",
                "S1",
                f"{asked} pages of {_size(page_bytes)} were asked for when the machine started, "
                f"and there are {pool.total}",
                "what is not granted is skipped in silence",
                DOC,
                "ask for fewer, or on each node what it can give",
            )


def _unknown_size(view: View) -> Iterator[HostFinding]:
    sizes = {p.page_bytes for p in view.pools}
    for asked, page_bytes in _asked_at_boot(view):
        if page_bytes not in sizes:
            have = ", ".join(_size(s) for s in sorted(sizes)) or "none"
            yield HostFinding(
                "H05",
                "S1",
                f"the kernel's command line asks for {asked} pages of {_size(page_bytes)}; "
                f"this kernel has {have}",
                "a size that the kernel has not gives no pages and no error",
                "Linux, admin-guide/kernel-parameters.txt, hugepagesz",
                "take a size that is listed under /sys/kernel/mm/hugepages",
            )


def _asked_at_boot(view: View) -> Iterator[tuple[int, int]]:
    """Pages and their size, as the kernel's command line has them in pairs."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    default = view.memory.get("Hugepagesize", 2 << 20)
    size = default
    for word in (view.read("/proc/cmdline") or "").split():
        name, _, value = word.partition("=")
        if name == "default_hugepagesz":
            default = size = _bytes(value, units, default)
        elif name == "hugepagesz":
            size = _bytes(value, units, default)
        elif name == "hugepages" and value.isdigit():
            yield int(value), size
            size = default


def _bytes(text: str, units: dict[str, int], otherwise: int) -> int:
    found = re.fullmatch(r"(\d+)([KMG])", text)
    return int(found[1]) * units[found[2]] if found else otherwise


def _uneven(view: View) -> Iterator[HostFinding]:
    if len(view.nodes) < 2:
        return
    for pool in view.pools:
        shares = {
            node: p.total
            for node in view.nodes
            for p in view.pools_of(node)
            if p.page_bytes == pool.page_bytes
        }
        if shares and min(shares.values()) < 0.8 * max(shares.values()):
            by_node = ", ".join(f"{node} {n}" for node, n in shares.items())
            yield HostFinding(
                "H06",
                "S2",
                f"pages of {_size(pool.page_bytes)} by node: {by_node}",
                "a server that uses all nodes reaches for far memory on those that have none",
                DOC,
                "write nr_hugepages of each node",
            )


def _memlock(view: View) -> Iterator[HostFinding]:
    """Locked memory and huge pages of SysV shared memory need the right; MAP_HUGETLB does not."""
    server = view.server
    if server is None or server.has_ipc_lock or server.memlock is None:
        return
    group = view.number("/proc/sys/vm/hugetlb_shm_group")
    wants = max((p.total - p.available) * p.page_bytes for p in view.pools) if view.pools else 0
    if _asks(view) is None or group in server.groups:
        return
    pool = view.default_pool
    needs = max(wants, 0 if pool is None else pool.total * pool.page_bytes)
    if server.memlock < needs:
        yield HostFinding(
            "H07",
            "S1",
            f"process {server.pid} may lock {server.memlock // 1024} kB; "
            f"its huge pages are {needs // 1024} kB",
            "without the right, huge pages of shared memory are refused; a service of systemd's "
            "takes its limit from the unit, not from limits.d",
            "MDEV-33301; systemd.exec(5), LimitMEMLOCK=",
            f"LimitMEMLOCK={needs} in a drop-in of its unit; for a start by a login, "
            f"memlock {needs // 1024} in limits.d",
        )


def _no_pools(view: View) -> str | None:
    return None if view.pools else "this kernel has no pools of huge pages"


def _unseen(view: View) -> str | None:
    if view.server is not None and view.server.huge_bytes is None:
        return f"the memory of process {view.server.pid} is not shown to this user: run as root"
    return _no_server(view)


def _no_server(view: View) -> str | None:
    return None if view.server else "name the server and its process: --for KIND --pid N"


RULES = (
    HostRule("H01", "huge pages asked for and not used", "PostgreSQL, MariaDB", _unused, _unseen),
    HostRule("H02", "pool smaller than what it promised", DOC, _short, _no_pools),
    HostRule("H03", "pool larger than what is used", DOC, _wasted, _no_pools),
    HostRule("H04", "pages asked for at boot and not obtained", DOC, _not_obtained, _no_pools),
    HostRule("H05", "a page size that the kernel has not", DOC, _unknown_size),
    HostRule(
        "H06",
        "pool uneven over nodes",
        DOC,
        _uneven,
        lambda view: None if len(view.nodes) > 1 else "one NUMA node",
    ),
    HostRule("H07", "right to lock memory too small", "MDEV-33301", _memlock, _no_server),
)
