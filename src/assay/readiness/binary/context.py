"""What a rule of binaries is given, and what several of them do.

A file of rules has `LOOKS`: each rule with the function that looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from assay.readiness.census import Image, Site
from assay.readiness.finding import ReadinessFinding, ReadinessRule, Severity
from assay.readiness.machine import Machine

PLACES_SHOWN = 4


@dataclass(frozen=True)
class Context:
    """An image, its twin on x86-64 if one was named, and the host if one was and it fits."""

    image: Image
    twin: Image | None = None
    machine: Machine | None = None


Look = Callable[[Context], Iterable[ReadinessFinding]]


def by_function(sites: Iterable[Site]) -> Iterator[list[Site]]:
    """Sites of one function together; those of no known function each alone."""

    def owner(site: Site) -> tuple[str, int]:
        return site.function, 0 if site.function else site.address

    for _, held in groupby(sorted(sites, key=owner), key=owner):
        yield sorted(held, key=lambda site: site.address)


def places(sites: Iterable[Site]) -> str:
    """Where: the first few addresses, and how many more."""
    found = [f"{site.address:#x}" for site in sites]
    more = len(found) - PLACES_SHOWN
    return ", ".join(found[:PLACES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def number(count: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shape(site: Site) -> str:
    """A site without its addresses: its mnemonics. The same when code elsewhere grows."""
    words = [line.split(":", 1)[-1].split() for line in site.listing]
    return " ".join(word[1] for word in words if len(word) > 1)


def key(function: str, site: Site) -> str:
    """What identifies a finding at a site when addresses move."""
    return f"{function or '?'}|{site.kind}|{'' if function else shape(site)}"


def found_at(
    rule: ReadinessRule,
    image: Image,
    sites: Sequence[Site],
    evidence: str,
    *,
    severity: Severity | None = None,
    study: str = "",
) -> ReadinessFinding:
    """A finding at sites of one function, as `by_function` has them: the first is shown."""
    first = sites[0]
    return rule.at(
        image.shown,
        evidence,
        severity=severity,
        function=first.function,
        address=first.address,
        listing=first.listing,
        key=key(first.function, first),
        study=study,
    )
