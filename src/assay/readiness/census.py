"""What `assayer census` says of an ELF image, in the shape that rules read.

The lines are specified in `protocol.rs` and checked in `native/session.py`; here they
become plain values with the defaults that rules rely on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ImageKind = Literal["executable", "shared", "relocatable"]

HINTS = ("yield", "isb_in_loop", "wfe", "wfet", "sb")
"""Counts that are spin hints of aarch64; an isb outside a loop is not one."""


@dataclass(frozen=True)
class Helper:
    """A function that does one atomic operation by LSE or, where that is absent, by exclusives."""

    name: str
    address: int
    calls: int


@dataclass(frozen=True)
class Site:
    """One place in the code: its kind, where it is, and what is special of that kind."""

    kind: str
    function: str
    address: int
    length: int = 0
    listing: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Image:
    """One ELF image: a file, or a member of a static library.

    `shown` is how people call it, which for a file out of a package is not its path.
    """

    path: str
    shown: str
    arch: str
    kind: ImageKind
    member: str = ""
    build_id: str = ""
    stripped: bool = False
    language: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    unverified: Mapping[str, int] = field(default_factory=dict)
    helpers: tuple[Helper, ...] = ()
    coverage: Mapping[str, Any] = field(default_factory=dict)
    sites: tuple[Site, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    exports_hints: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    """Checksums whose tables are among its constants."""
    exports: frozenset[str] = frozenset()
    """Names of exported functions; read only where there is a twin to compare with."""

    @property
    def is_arm(self) -> bool:
        """Whether it is A64 code."""
        return self.arch == "aarch64"

    @property
    def is_linked(self) -> bool:
        """Whether it can be run or loaded, so that what is missing is missing for good."""
        return self.kind in ("executable", "shared")

    def count(self, *keys: str) -> int:
        """The sum of some counts."""
        return sum(self.counts.get(key, 0) for key in keys)

    def of(self, *kinds: str) -> list[Site]:
        """The sites of some kinds."""
        return [site for site in self.sites if site.kind in kinds]


def image(data: Mapping[str, Any], shown: str = "") -> Image:
    """The image that a message's data describe; `shown` is the file's name for people."""
    member = data.get("member") or ""
    name = shown or str(data["path"])
    facts = data.get("facts") or {}
    return Image(
        path=str(data["path"]),
        shown=f"{name}({member})" if member else name,
        arch=data["arch"],
        kind=data["kind"],
        member=member,
        build_id=data.get("build_id") or "",
        stripped=bool(data.get("stripped")),
        language=data.get("language") or "",
        counts=data.get("counts") or {},
        unverified=data.get("unverified") or {},
        helpers=tuple(
            Helper(h["name"], _number(h["address"]), h["calls"]) for h in data.get("helpers") or ()
        ),
        coverage=data.get("coverage") or {},
        sites=tuple(_site(s) for s in data.get("sites") or ()),
        facts=facts,
        exports_hints=data.get("exports_hints") or {},
        tables=frozenset(facts.get("checksum_tables") or ()),
    )


def _site(data: Mapping[str, Any]) -> Site:
    return Site(
        kind=data["kind"],
        function=data.get("function") or "",
        address=_number(data["address"]),
        length=data.get("length") or 0,
        listing=tuple(data.get("listing") or ()),
        facts=data.get("facts") or {},
    )


def _number(address: int | str) -> int:
    return int(address, 16) if isinstance(address, str) else address
