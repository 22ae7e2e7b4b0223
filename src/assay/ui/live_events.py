"""What the live view sends: the parts of the page that changed, and the runs that are new.

Parts are HTML from the page's own templates, where all text is escaped. Runs are data of the
report's chart. A viewer that comes back gets everything again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from threading import Event
from typing import Any

from starlette.concurrency import run_in_threadpool

from assay.core.errors import AssayError
from assay.core.printable import printable
from assay.core.unforeseen import unforeseen
from assay.report.html.samples import RunGroup
from assay.ui.following import LiveLook
from assay.ui.pages import part

POLL_S = 0.5
"""How often a bundle is looked at while somebody watches."""
ALIVE_S = 15.0
"""After so long without news a comment is sent, so that a lost connection is seen."""
PARTS = ("progress", "actions", "banners", "verdicts", "effects", "narrowing", "voids", "runs")
"""Macros of `live_parts.html`, and the places of the page that they fill."""
DRAWN = frozenset({"effects", "narrowing", "runs"})
"""Those with pictures, for which the page has no data before the first event."""


def parts_of(look: LiveLook, around: dict[str, Any]) -> dict[str, str]:
    """Every part of the live view as HTML; `around` is what its forms need."""
    return {name: part("live_parts.html", name, look=look, around=around) for name in PARTS}


class Viewer:
    """What one viewer has got so far."""

    def __init__(self, around: Callable[[LiveLook], dict[str, Any]]) -> None:
        self.around = around
        self.number = 0
        self._parts: dict[str, str] = {}
        self._charts: dict[str, object] = {}
        self._open_run = 0
        """The first run of which the viewer may not know yet what became of it."""
        self._said: tuple[str, int, int] | None = None

    def news(self, look: LiveLook) -> dict[str, Any]:
        """What the viewer has not got yet."""
        self.number = look.number
        parts = parts_of(look, self.around(look))
        found: dict[str, Any] = {
            "parts": {n: html for n, html in parts.items() if html != self._parts.get(n)},
            "say": printable(self._sentence(look)),
            "share": look.share,
        }
        self._parts = parts
        if look.view is not None:
            charts = look.view.charts()
            found["charts"] = {n: c for n, c in charts.items() if c != self._charts.get(n)}
            self._charts = charts
            found["runs"] = self._runs(look.view.every_run.groups, look.view.blocks)
        return found

    def _runs(self, groups: list[RunGroup], blocks: int) -> dict[str, Any]:
        """Runs from the first that is new, or whose status may be another now."""
        first = self._open_run
        sent = [
            {
                "case": group.case,
                "heading": group.heading,
                "unit": group.unit,
                "divisor": group.divisor,
                "arms": group.arms,
                "baseline": group.baseline,
                "points": [asdict(p) for p in group.points if p.run >= first],
                "blocks": [asdict(b) for b in group.blocks if b.last >= first],
                "phases": [asdict(p) for p in group.phases],
                "medians": group.medians,
            }
            for group in groups
        ]
        stripes = groups[0].blocks if groups else []
        made = stripes[-1].last + 1 if stripes else 0
        self._open_run = min([made, *(s.first for s in stripes if s.block >= blocks)])
        return {"from": first, "groups": sent}

    def _sentence(self, look: LiveLook) -> str:
        """What is said aloud: a change of the state, a complete block, a void run."""
        view, before = look.view, self._said
        lost = view.every_run.not_counted if view is not None else []
        blocks = view.blocks if view is not None else 0
        if view is None and before is not None:
            blocks = before[1]
        self._said = (look.state.phase, blocks, len(lost))
        if before is None:
            return ""
        said = [look.state.sentence] if look.state.phase != before[0] else []
        if view is not None and blocks > before[1]:
            said.append(f"{blocks} blocks are complete. {view.left}")
        if len(lost) > before[2]:
            said.append(f"Run {lost[-1].run} is {lost[-1].status}: {lost[-1].reason}.")
        return " ".join(said)


async def stream(
    look: Callable[[], LiveLook], viewer: Viewer, ending: Event
) -> AsyncIterator[bytes]:
    """Server-sent events for as long as somebody reads them, and the page does not end."""
    yield b"retry: 2000\n\n"
    quiet_s = 0.0
    while not ending.is_set():
        try:
            found = await run_in_threadpool(look)
            news = None
            if found.number != viewer.number:
                news = await run_in_threadpool(viewer.news, found)
        except AssayError as error:
            yield event("failed", {"message": printable(f"{error.message} {error.next_step}")})
            return
        except Exception as error:  # whatever a damaged file can lead to
            yield event("failed", {"message": printable(unforeseen(error)[0])})
            return
        if news is not None:
            quiet_s = 0.0
            yield event("look", news)
            if found.share < 1.0:
                continue
        elif quiet_s >= ALIVE_S:
            quiet_s = 0.0
            yield b": alive\n\n"
        await asyncio.sleep(POLL_S)
        quiet_s += POLL_S


def event(name: str, data: object) -> bytes:
    """One event, its data as JSON in a line."""
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode()
