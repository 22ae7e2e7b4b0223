"""An inspection: what was named, what each file was found to be, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.core.cache import scratch
from assay.core.errors import InputError
from assay.readiness import binary
from assay.readiness.ask import exported_functions, survey
from assay.readiness.census import Image, image
from assay.readiness.finding import ORDER, ReadinessFinding, in_order
from assay.readiness.inputs import Binary, Inputs, RefusedInput, SourceTree, gather
from assay.readiness.machine import Machine

_TRIPLETS = re.compile(r"aarch64-linux-gnu|x86_64-linux-gnu|lib64|aarch64|x86_64|amd64|arm64")


@dataclass(frozen=True)
class Report:
    """One file: an ELF image, or a source in which something was found."""

    shown: str
    name: str
    findings: tuple[ReadinessFinding, ...] = ()
    image: Image | None = None
    lines: int = 0


@dataclass
class Inspection:
    """All files, those that were not inspected, and what could not be judged."""

    reports: list[Report] = field(default_factory=list)
    refused: list[RefusedInput] = field(default_factory=list)
    not_judged: list[str] = field(default_factory=list)
    sources: int = 0
    source_lines: int = 0

    @property
    def findings(self) -> list[ReadinessFinding]:
        """Of all files, the gravest first."""
        every = (f for report in self.reports for f in report.findings)
        return sorted(every, key=lambda f: (ORDER.index(f.severity), f.accepted))

    @property
    def is_grave(self) -> bool:
        """Whether anything of severity S1 or S2 is left that was not accepted."""
        return any(f.is_grave for f in self.findings)

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be inspected."""
        return not self.reports and not self.sources


def inspect(
    paths: Sequence[Path], against: Sequence[Path] = (), machine: Machine | None = None
) -> Inspection:
    """Inspect files, folders and packages; `against` are the same for x86-64."""
    with scratch("inspect") as own, scratch("inspect") as other:
        inputs = gather(paths, own)
        found = Inspection(refused=list(inputs.refused))
        images = _images(inputs, found.refused)
        twins = _twins(against, other, found.refused)
        pairs = [(*of, _twin_of(*of, twins, len(images))) for of in images]
        compared = [here.path for here, about, twin in pairs if twin and not about.member]
        exports = exported_functions(compared)
        for here, about, twin in pairs:
            about = replace(about, exports=exports.get(str(here.path), frozenset()))
            judged = binary.judge(about, twin, machine)
            found.reports.append(_report(about.shown, here.name, judged, about))
        for tree in inputs.trees:
            _judge_tree(tree, machine, found)
        if images:
            seen = [about for _, about in images]
            found.not_judged = binary.not_judged(seen, bool(twins), machine)
        return found


def _images(inputs: Inputs, refused: list[RefusedInput]) -> list[tuple[Binary, Image]]:
    """The ELF images, in the order in which the files were named."""
    by_path = {str(named.path): named for named in inputs.binaries}
    found = []
    for kind, data in survey([named.path for named in inputs.binaries]):
        here = by_path[str(data["path"])]
        if kind == "refused":
            refused.append(RefusedInput(here.shown, str(data["why"])))
        else:
            found.append((here, image(data, here.shown)))
    return found


def _twins(
    against: Sequence[Path], scratch: Path, refused: list[RefusedInput]
) -> dict[tuple[str, str], Image]:
    """The images to compare with, by name without the architecture."""
    if not against:
        return {}
    inputs = gather(against, scratch)
    refused += inputs.refused
    twins = {
        (plain_name(here.name), about.member): about
        for here, about in _images(inputs, refused)
        if about.arch == "x86_64"
    }
    if not twins:
        named = ", ".join(map(str, against))
        raise InputError(
            f"--against {named}: no x86-64 file is there",
            next_step="name the amd64 build of the same package",
        )
    return twins


def plain_name(name: str) -> str:
    """A file's name without what names an architecture."""
    return _TRIPLETS.sub("*", name)


def _twin_of(
    here: Binary, about: Image, twins: Mapping[tuple[str, str], Image], images: int
) -> Image | None:
    if about.arch != "aarch64":
        return None
    exact = twins.get((plain_name(here.name), about.member))
    if exact is not None:
        return exact
    base = plain_name(here.name).rsplit("/", 1)[-1]
    alike = [
        twin
        for (name, member), twin in twins.items()
        if member == about.member and name.rsplit("/", 1)[-1] == base
    ]
    only = len(twins) == 1 and images == 1
    return alike[0] if len(alike) == 1 else next(iter(twins.values())) if only else None


def _report(shown: str, name: str, judged: Sequence[ReadinessFinding], about: Image) -> Report:
    member = f"({about.member})" if about.member else ""
    findings = tuple(replace(f, path=shown, name=name + member) for f in judged)
    return Report(shown, name + member, findings, about)


def _judge_tree(tree: SourceTree, machine: Machine | None, found: Inspection) -> None:
    # Here, because the rules of sources are a hundred patterns to compile.
    from assay.readiness import source

    project = source.read(tree)
    found.sources += len(project.files)
    lines = {file.name: file.text.lines for file in project.files}
    found.source_lines += sum(lines.values())
    by_file: dict[str, list[ReadinessFinding]] = {}
    for finding in in_order(source.judge(project, machine)):
        by_file.setdefault(finding.path, []).append(finding)
    for name, findings in sorted(by_file.items()):
        shown = tree.shown_of(name)
        told = tuple(replace(f, path=shown, name=name) for f in findings)
        found.reports.append(Report(shown, name, told, None, lines.get(name, 0)))
