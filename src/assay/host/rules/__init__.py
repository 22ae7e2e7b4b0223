"""`assay host check`: rules about a host, each with what it saw, why it matters, and its cure."""

from __future__ import annotations

from collections.abc import Iterator

from assay.host.rules import fragments, huge_pages, network, policies
from assay.host.rules.finding import HostFinding, HostRule
from assay.host.view import View

RULES: tuple[HostRule, ...] = tuple(
    sorted(
        (*huge_pages.RULES, *policies.RULES, *network.RULES, *fragments.RULES),
        key=lambda rule: rule.id,
    )
)

ORDER = ("S1", "S2", "S3", "info")


def findings(view: View) -> list[HostFinding]:
    """All that is found, the gravest first."""
    found = [f for rule in RULES if rule.cannot(view) is None for f in rule.look(view)]
    return sorted(found, key=lambda f: (ORDER.index(f.severity), f.rule))


def not_judged(view: View) -> Iterator[tuple[HostRule, str]]:
    """The rules that cannot be judged here, and why."""
    for rule in RULES:
        why = rule.cannot(view)
        if why is not None:
            yield rule, why


__all__ = ["RULES", "HostFinding", "HostRule", "View", "findings", "not_judged"]
