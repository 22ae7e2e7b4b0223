"""Pages of studies: those that ship and those of the folder, as their text says."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from assay.core.errors import InputError
from assay.study import shipped
from assay.ui.asking import AskedPage
from assay.ui.pages import page
from assay.ui.shelf import Shelf, ShelvedStudy, study_in


@dataclass(frozen=True)
class StudyLine:
    """A study in a list."""

    address: str
    name: str
    question: str


class StudyPages:
    """Pages of the studies of a folder."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def listed(self, asked: AskedPage) -> Response:
        """All of them."""
        own = [
            StudyLine(f"/studies/of/{name}", self.shelf.shown(path), study.said("question"))
            for name, path in self.shelf.contents().studies.items()
            if (study := study_in(path)) is not None
        ]
        ships = [
            StudyLine(f"/studies/shipped/{name}", name, _shipped(name, text).said("question"))
            for name, text in shipped().items()
        ]
        return page("studies.html", here="/studies", own=own, ships=ships)

    def one_shipped(self, asked: AskedPage) -> Response:
        """A study that ships."""
        name = asked.names["study"]
        texts = shipped()
        if name not in texts:
            raise InputError("no study of that name ships", next_step="go back to the list of them")
        return self._page(_shipped(name, texts[name]), name)

    def one_of_folder(self, asked: AskedPage) -> Response:
        """A study of the folder."""
        name = asked.names["study"]
        study = self.shelf.study(name)
        return self._page(study, str(self.shelf.contents().studies[name]))

    def _page(self, study: ShelvedStudy, given: str) -> Response:
        return page(
            "study.html",
            here="/studies",
            study=study,
            command=f"assay run {shlex.quote(given)}",
            facts=list(_facts(study)),
        )


def _shipped(name: str, text: str) -> ShelvedStudy:
    return ShelvedStudy(name, text, tomllib.loads(text))


def _facts(study: ShelvedStudy) -> Iterable[tuple[str, str]]:
    yield "from", study.said("source")
    for target, workload in _cases(study):
        yield "measures", f"{workload} on {target}"
    yield "metric", study.said("measure", "primary")
    yield "design", study.said("design", "kind")
    for factor in _tables(study.values.get("factor")):
        yield f"factor {factor.get('name', '')}", str(factor.get("change", ""))
    yield "budget", study.said("decide", "budget")


def _cases(study: ShelvedStudy) -> Iterable[tuple[str, str]]:
    for case in [study.values, *_tables(study.values.get("case"))]:
        target, workload = (_table(case.get(part)) for part in ("target", "workload"))
        if target:
            yield str(target.get("kind", "")), str(workload.get("kind", ""))


def _tables(found: Any) -> list[dict[str, Any]]:
    return [t for t in found if isinstance(t, dict)] if isinstance(found, list) else []


def _table(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
