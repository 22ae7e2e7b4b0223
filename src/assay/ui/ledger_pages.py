"""Pages of the ledger: the newest bundles, answers that are searched for, a question over time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from markupsafe import Markup
from starlette.responses import Response

from assay.core.errors import InputError
from assay.ledger import (
    FoundAnswer,
    Ledger,
    LedgerEntry,
    LedgerQuery,
    ListedBundle,
    QuestionHistory,
    histories,
    words,
)
from assay.ledger.places import LedgerPlace
from assay.ledger.store import whereabouts
from assay.report.html.page import embedded
from assay.report.html.rows import Forest, ForestEffect, ForestGroup, domain, known_ends
from assay.ui.asking import AskedPage
from assay.ui.pages import page
from assay.ui.shelf import Shelf

NEWEST = 40
ANSWERS_SHOWN = 500
POINTS_SHOWN = 40
"""Of a history, the last ones; the table has all."""
FIELDS = ("words", "study", "target", "workload", "metric", "word", "machine", "since")
WORDS = ("helps", "hurts", "no difference", "undecided", "invalid")


class LedgerPages:
    """Pages of one ledger; `place` is None where there is none. Bundles that are in the folder of
    the page lead to their own."""

    def __init__(self, place: LedgerPlace | None, shelf: Shelf) -> None:
        self.place, self.shelf = place, shelf

    @contextmanager
    def opened(self) -> Iterator[Ledger]:
        """The ledger; InputError where there is none."""
        if self.place is None:
            raise InputError(
                "there is no ledger: ASSAY_LEDGER is off",
                next_step="unset ASSAY_LEDGER, and start the page again",
            )
        ledger = Ledger.open(self.place)
        try:
            yield ledger
        finally:
            ledger.close()

    def entry(self, number: str) -> LedgerEntry:
        """The bundle of a number. InputError where there is none."""
        with self.opened() as ledger:
            is_number = number.isascii() and number.isdigit() and len(number) < 10
            found = ledger.entry(int(number)) if is_number else None
        if found is None:
            raise InputError(f"no bundle of the ledger has number {number[:20]}")
        return found

    def searched(self, asked: AskedPage) -> Response:
        """Answers that fit a search, or the newest bundles where nothing is searched for."""
        given = {name: asked.query.get(name, "").strip() for name in FIELDS}
        kinds, leads = "kinds" in asked.query, "leads" in asked.query
        found: list[FoundAnswer] = []
        listed: list[ListedBundle] = []
        with self.opened() as ledger:
            total = ledger.count()
            if any(given.values()):
                asked_of = {name: text for name, text in given.items() if name != "words"}
                words_ = given["words"].split()
                found = ledger.rows(LedgerQuery(words=words_, kinds=kinds, leads=leads, **asked_of))
            else:
                listed = [
                    ListedBundle(bundle=n, where=whereabouts(e.folder, e.node, e.identity), entry=e)
                    for n, e in ledger.entries(limit=NEWEST)
                ]
        return page(
            "ledger.html",
            here="/ledger",
            place=str(self.place),
            total=total,
            given=given,
            kinds=kinds,
            leads=leads,
            is_search=any(given.values()),
            found=found[:ANSWERS_SHOWN],
            more=max(0, len(found) - ANSWERS_SHOWN),
            listed=listed,
            known=WORDS,
            say=words,
            address=self.shelf.address,
        )

    def history(self, asked: AskedPage) -> Response:
        """One question over time, versions and machines."""
        given = {
            name: asked.query.get(name, "").strip()
            for name in ("study", "of", "case", "metric", "request")
        }
        level = "level" in asked.query
        with self.opened() as ledger:
            entries = ledger.entries(given["study"])
        if not given["study"] or not entries:
            raise InputError(
                f"the ledger has no bundle of study {given['study']!r}", next_step="see its list"
            )
        asked_of = {name: value for name, value in given.items() if name != "study"}
        found = histories(entries, **asked_of, level=level)
        pictures = _pictures(found)
        return page(
            "history.html",
            here="/ledger",
            given=given,
            level=level,
            found=found,
            pictures=pictures,
            data=Markup(embedded({"forest": asdict(pictures)})),
            say=words,
            address=self.shelf.address,
        )


def _pictures(found: list[QuestionHistory]) -> Forest:
    """A forest for each history of effects: its answers from the first to the last."""
    groups = [
        ForestGroup(history.case, words.history_title(history), _lines(history))
        for history in found
        if not history.is_level
    ]
    ends = known_ends(row for group in groups for row in group.rows)
    return Forest(
        groups=groups,
        margin=0.0,
        smallest=0.0,
        domain=domain([*ends, -0.01, 0.01], logarithmic=False),
        logarithmic=False,
        words=[],
        empty="",
    )


def _lines(history: QuestionHistory) -> list[ForestEffect]:
    return [
        ForestEffect(
            label=f"{words.date(point.started)[:10]}, {point.bundle}",
            word=point.word,
            estimate=point.value,
            low=point.low,
            high=point.high,
            interval=words.point_interval(point),
        )
        for point in history.points[-POINTS_SHOWN:]
    ]
