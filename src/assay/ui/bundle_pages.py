"""Pages of bundles: the list, one of them while it runs and after, its report, two compared."""

from __future__ import annotations

import os
import shlex
from collections import OrderedDict
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from assay.bench.resumption import uses
from assay.bisection import SearchBundle
from assay.core.errors import BundleError, InputError
from assay.ledger import LedgerEntry, compare_entries, entry_of, words
from assay.record import Bundle
from assay.record.files import require_own
from assay.report.html.bisection import search_html
from assay.report.html.page import report_html
from assay.ui.asking import AskedPage, problem
from assay.ui.children import Children
from assay.ui.following import Followers, LiveLook, looked
from assay.ui.guarding import Access
from assay.ui.ledger_pages import LedgerPages
from assay.ui.live_events import DRAWN, Viewer, parts_of, stream
from assay.ui.pages import framed, page
from assay.ui.shelf import Shelf, name_of
from assay.ui.state import BundleState, interrupt, is_of_search, result_name, state_of, written
from assay.ui.summaries import lines_of

SHOWN = 200
"""Bundles in the list."""
AT_FIRST_S = 0.2
"""So long a page is held up by what of its bundle was not read yet."""
REPORTS = 4
"""Reports that are kept: a large one takes seconds to make."""


class BundlePages:
    """They share a folder, followers and what was started."""

    def __init__(
        self,
        shelf: Shelf,
        children: Children,
        access: Access,
        ledger: LedgerPages,
        ending: Event,
    ) -> None:
        self.shelf, self.children, self.access, self.ledger = shelf, children, access, ledger
        self.ending = ending
        self.followers = Followers()
        self._reports: OrderedDict[tuple[Path, int, int], str] = OrderedDict()
        self._lock = Lock()

    def listed(self, asked: AskedPage) -> Response:
        """The bundles of the folder."""
        lines = lines_of(self.shelf)
        return page(
            "bundles.html",
            here="/",
            root=str(self.shelf.root),
            lines=lines[:SHOWN],
            more=max(0, len(lines) - SHOWN),
            is_cut=self.shelf.contents().is_cut,
        )

    def one(self, asked: AskedPage) -> Response:
        """A bundle: what its study says now, and what may be done with it."""
        name, folder = self._named(asked)
        if is_of_search(folder):
            state = state_of(folder)
            bundle = SearchBundle.open(folder)
            shown: dict[str, Any] = {
                "study": bundle.plan.study,
                "question": bundle.plan.question,
                "parts": {},
            }
        else:
            look = looked(self.followers, folder, AT_FIRST_S)
            state, parts = look.state, parts_of(look, self._around(name, look))
            written_out = {n: Markup(html) for n, html in parts.items() if n not in DRAWN}
            shown = {"study": look.study, "question": look.question, "parts": written_out}
        others = [
            line
            for line in lines_of(self.shelf)
            if line.study == shown["study"] and line.name != name and line.phase
        ]
        return page(
            "bundle.html",
            here="/",
            name=name,
            folder=str(folder),
            state=state,
            stop=_stop_of(state),
            form=self.access.form,
            others=others,
            **shown,
        )

    def report(self, asked: AskedPage) -> Response:
        """The report, made anew from the runs: what a bundle calls its report is not shown."""
        _, folder = self._named(asked)
        search = is_of_search(folder)
        key = folder, written(folder / "runs.jsonl"), written(folder / result_name(search))
        with self._lock:
            made = self._reports.get(key)
        if made is None:
            if search:
                made = search_html(SearchBundle.open(folder))
            else:
                made = report_html(Bundle.open(folder))
            with self._lock:
                self._reports[key] = made
                while len(self._reports) > REPORTS:
                    self._reports.popitem(last=False)
        return framed(made)

    async def events(self, request: Request) -> Response:
        """The live view, as events."""
        try:
            folder = await run_in_threadpool(self.shelf.bundle, request.path_params["bundle"])
        except InputError as error:
            return problem(error.message, error.next_step, 400)
        viewer = Viewer(partial(self._around, name_of(folder)))
        events = stream(partial(looked, self.followers, folder), viewer, self.ending)
        return StreamingResponse(events, media_type="text/event-stream")

    def stop(self, asked: AskedPage) -> Response:
        """Stop the study as Ctrl-C does."""
        name, folder = self._named(asked)
        interrupt(folder, asked.fields.get("process", ""))
        return RedirectResponse(f"/bundles/{name}", 303)

    def ask_to_extend(self, asked: AskedPage) -> Response:
        """What extending runs here: asked before it is done."""
        name, folder = self._named(asked)
        bundle = self._extendable(folder)
        return page(
            "extend.html",
            here="/",
            name=name,
            folder=str(folder),
            study=bundle.plan.study,
            command=f"assay run --extend {shlex.quote(str(folder))}",
            uses=uses(bundle),
            form=self.access.form,
        )

    def extend(self, asked: AskedPage) -> Response:
        """Start `assay run --extend`."""
        name, folder = self._named(asked)
        self._extendable(folder)
        self.children.start(name, ["run", "--extend", str(folder)])
        return RedirectResponse(f"/bundles/{name}", 303)

    def compared(self, asked: AskedPage) -> Response:
        """Two bundles of a study, each recomputed or from the ledger."""
        first, second = (self._entry(asked.query.get(key, "")) for key in ("first", "second"))
        return page("compare.html", here="/", found=compare_entries(first, second), say=words)

    def _named(self, asked: AskedPage) -> tuple[str, Path]:
        name = asked.names["bundle"]
        return name, self.shelf.bundle(name)

    def _entry(self, given: str) -> LedgerEntry:
        """A bundle of the folder by its name, or one of the ledger by its number."""
        if given.startswith("ledger-"):
            return self.ledger.entry(given.removeprefix("ledger-"))
        return entry_of(self.shelf.bundle(given))

    def _extendable(self, folder: Path) -> Bundle:
        """BundleError where the study cannot be extended here."""
        require_own(folder, f"`assay run --adopt {folder}` makes a copy of your own")
        look = looked(self.followers, folder, float("inf"))
        if not look.can_extend:
            raise BundleError(
                f"{folder} cannot be extended: {look.state.sentence.lower().rstrip('.:')}, "
                "or nothing is left undecided",
                next_step="look at its page",
            )
        return Bundle.open(folder)

    def _around(self, name: str, look: LiveLook) -> dict[str, Any]:
        """What the forms of a bundle's page need."""
        return {
            "name": name,
            "stop": _stop_of(look.state),
            "form": self.access.form,
            "started": self.children.is_running(name),
            "complaint": self.children.complaint(name),
        }


def _stop_of(state: BundleState) -> str:
    """The process that a button may stop; empty where there is none, or it is not ours."""
    pid = state.process.partition(":")[0]
    if not pid:
        return ""
    try:
        is_ours = os.geteuid() in (0, os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        return ""
    return state.process if is_ours else ""
