"""H28-H30: who wins where several write the same, and limits of a container."""

from __future__ import annotations

from collections.abc import Iterator

from assay.host.rules.finding import HostFinding, HostRule
from assay.host.view import View

FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
"""Of two files of one name the first folder's counts; all are then read by name."""

LAST = "/etc/sysctl.conf"
CGROUP = "/sys/fs/cgroup"
DOC = "sysctl.d(5)"


def settings(view: View) -> dict[str, list[tuple[str, str]]]:
    """By key of sysctl the files that set it and to what, in the order in which they are read."""
    files: dict[str, str] = {}
    for folder in reversed(FOLDERS):
        for name in view.names(folder):
            if name.endswith(".conf"):
                files[name] = f"{folder}/{name}"
    ordered = [files[name] for name in sorted(files)]
    # systemd reads /etc/sysctl.conf by a link in sysctl.d; procps reads it last.
    if not any(path.endswith("-sysctl.conf") for path in ordered):
        ordered.append(LAST)
    found: dict[str, list[tuple[str, str]]] = {}
    for path in ordered:
        for line in (view.read(path) or "").splitlines():
            key, equals, value = line.strip().lstrip("-").partition("=")
            if equals and not line.strip().startswith(("#", ";")):
                key = key.strip().replace("/", ".")
                found.setdefault(key, []).append((path, " ".join(value.split())))
    return found


def _shadowed(view: View) -> Iterator[HostFinding]:
    for key, places in settings(view).items():
        (winner, value) = places[-1]
        for loser, other in places[:-1]:
            if other != value:
                yield HostFinding(
                    "H29",
                    "S1",
                    f"{loser} sets {key} = {other}, and {winner} sets it to {value} after it",
                    "the last one read wins; the other looks as if it were in force",
                    DOC,
                    f"say it once: in {winner}, or in a file whose name comes after it",
                )


def _two_managers(view: View) -> Iterator[HostFinding]:
    profile = view.read("/etc/tuned/active_profile")
    daemon = any(
        (view.read(f"/proc/{p}/comm") or "") == "tuned" for p in view.names("/proc") if p.isdigit()
    )
    ours = [p for places in settings(view).values() for p, _ in places if "assay" in p]
    if profile and daemon and ours:
        yield HostFinding(
            "H30",
            "S1",
            f"TuneD runs with profile {profile}, and {ours[0]} sets values too",
            "TuneD writes its own again whenever it starts",
            "TuneD documentation, profiles",
            f"a profile of your own that includes {profile}",
        )


def _container(view: View) -> Iterator[HostFinding]:
    limit = view.read(f"{CGROUP}/memory.max")
    total = view.memory.get("MemTotal", 0)
    if limit and limit.isdigit() and int(limit) < total:
        yield HostFinding(
            "H28",
            "info",
            f"memory.max is {int(limit) / 2**30:.1f} GiB of the machine's {total / 2**30:.1f} GiB",
            "what counts here is the limit, not the machine",
            "Linux, admin-guide/cgroup-v2.rst",
            "size servers by it",
        )
    for pool in view.pools:
        name = f"{CGROUP}/hugetlb.{_label(pool.page_bytes)}.max"
        most = view.read(name)
        if most and most.isdigit() and int(most) < pool.total * pool.page_bytes:
            yield HostFinding(
                "H28",
                "S1",
                f"{name} is {most}, though the pool has {pool.total * pool.page_bytes} bytes",
                "a process in here that touches more is killed by SIGBUS",
                "Linux, admin-guide/cgroup-v2.rst",
                "raise the limit, or have the server ask for less",
            )


def _label(page_bytes: int) -> str:
    return f"{page_bytes >> 30}GB" if page_bytes >= 1 << 30 else f"{page_bytes >> 20}MB"


RULES = (
    HostRule("H28", "limits of a container", "cgroup-v2.rst", _container),
    HostRule("H29", "a setting that a later file overrides", DOC, _shadowed),
    HostRule("H30", "two managers of the same values", "TuneD", _two_managers),
)
