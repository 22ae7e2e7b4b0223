"""The studies of candidates, run: what was measured beside the bound that doctor gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InputError
from assay.core.toml import toml_text, toml_value
from assay.diagnosis.records import Candidate, Diagnosis, Trial
from assay.verdict.rows import Row, Verdicts

OWN_SETTINGS = ("kind", "connections")
"""Lines of a written target that hold for the examined server too; the others it has already."""


@dataclass(frozen=True)
class Examined:
    """The examined server as what a study measures: its address without a password, the words
    that start it again, and a file of its configuration that is Assay's to write; both may be
    empty (docs/servers.md)."""

    url: str
    restart: Sequence[str] = ()
    settings_file: str = ""


def tried(found: Diagnosis, most: int) -> list[Candidate]:
    """The first candidates that have a study, so many at most. InputError if there are none."""
    have = [c for c in found.candidates if c.study]
    if not have:
        raise InputError(
            "no candidate has a study that could be run",
            next_step="each candidate says why it has none",
        )
    return have[:most]


def text_on(candidate: Candidate, examined: Examined | None) -> str:
    """The study of a candidate: on a server of Assay's own, or on the examined one."""
    if examined is None:
        return candidate.study
    if candidate.kind == "build":
        raise InputError(
            f"{candidate.name} is another build: it is measured on a server of Assay's own only",
            next_step="leave out --on attached",
        )
    return "\n".join(_attached(candidate.study.splitlines(), examined)) + "\n"


def _attached(lines: list[str], examined: Examined) -> list[str]:
    """The lines with another target: the examined server, as it is set now."""
    begin = lines.index("[target]") + 1
    end = lines.index("", begin)
    kept = [n for n in lines[begin:end] if n.partition(" = ")[0] in OWN_SETTINGS]
    said = [f"attach = {toml_text(examined.url)}"]
    if examined.restart:
        said.append(f"restart = {toml_value(list(examined.restart))}")
    if examined.settings_file:
        said.append(f"settings_file = {toml_text(examined.settings_file)}")
    return [*lines[:begin], *kept, *said, *lines[end:]]


def trial_of(candidate: Candidate, bundle: Path, verdicts: Verdicts) -> Trial:
    """What a study found of the best of a candidate's levels."""
    rows = [r for r in verdicts.verdicts if _counts(r, verdicts.primary)]
    measured = [r for r in rows if r.estimate is not None]
    if not measured:
        return Trial(candidate.name, str(bundle), why="no run of it counts")
    best = max(measured, key=lambda row: row.estimate or 0.0)
    bound = candidate.most.high if candidate.most else None
    holds = None if bound is None or best.low is None else best.low <= bound
    return Trial(
        candidate.name, str(bundle), best.arm, best.word, best.estimate, best.low, best.high,
        bound, holds,
    )  # fmt: skip


def _counts(row: Row, primary: str) -> bool:
    return (
        row.metric == primary
        and bool(row.arm)
        and row.strength == "confirmed"
        and row.scope == "case"
    )
