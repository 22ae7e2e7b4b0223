"""A bundle as it grows: each new line goes through the library's own chain and replay.

Viewers of one bundle share one follower. What was read is not read again, so a look costs what is
new; a study of thousands of runs is taken in by parts, and looks in between say how far it got.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from assay.core.errors import AlteredError
from assay.record import Bundle, ChainPlace, Replay
from assay.record.files import identity
from assay.report.html.live import LiveView, Narrowed, live_view
from assay.ui.state import BundleState, StudyPhase, state_of

PART = 50
"""Lines that are taken in at once."""
PATIENCE_S = 0.5
"""Time after which a look ends, whatever is still to be read."""
FOLLOWED = 8
"""Followers that are kept: the last ones asked for."""


@dataclass(frozen=True)
class LiveLook:
    """A bundle at one moment. `number` grows whenever anything is new; `share` of the lines that
    there are was read; `view` is None until all of them were."""

    number: int
    state: BundleState
    share: float
    view: LiveView | None
    study: str
    question: str
    can_extend: bool = False


class Follower:
    """One bundle. `look` may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()
        self._begin()
        self._last: LiveLook | None = None
        self._looks = 0

    def _begin(self) -> None:
        self.bundle = Bundle.open(self.folder)
        self.identity = identity(self.folder)
        self.replay = Replay(self.bundle.plan)
        self.narrowed = Narrowed()
        self.place = ChainPlace()

    def look(self, patience_s: float = PATIENCE_S) -> LiveLook:
        """The bundle now, of which no more is read than there is time for. AlteredError where its
        lines are not as they were written."""
        with self._lock:
            if self._is_another():
                self._begin()
                self._last = None
            state, before = state_of(self.folder), self.place
            share = self._advance(patience_s)
            last = self._last
            if last and (last.state, last.share) == (state, share) and before == self.place:
                return last
            self._last = self._looked(state, share, last if before == self.place else None)
            return self._last

    def _looked(self, state: BundleState, share: float, same: LiveLook | None) -> LiveLook:
        """A new look; `same` is the last one, where no line came since."""
        plan, view = self.bundle.plan, same.view if same is not None else None
        if share == 1.0 and view is None:
            view = live_view(self.replay, self.narrowed)
        self._looks += 1
        return LiveLook(
            number=self._looks,
            state=state,
            share=share,
            view=view,
            study=plan.study,
            question=plan.question,
            can_extend=view is not None
            and state.phase is StudyPhase.FINISHED
            and not self.replay.cannot_extend(),
        )

    def _is_another(self) -> bool:
        """Whether another bundle stands here now, or less of this one."""
        size = (self.folder / "runs.jsonl").stat().st_size
        return size < self.place.end or identity(self.folder) != self.identity

    def _advance(self, patience_s: float) -> float:
        """Take in what is new for a while; the share of the lines that was read so far."""
        began_s = time.monotonic()
        while True:
            found, self.place = self.bundle.lines_after(self.place, PART)
            for record in found:
                blocks = len(self.replay.blocks)
                self.replay.add(record)
                if len(self.replay.blocks) > blocks:
                    self.narrowed.add(self.replay)
            if len(found) < PART:
                return 1.0
            if time.monotonic() - began_s > patience_s:
                size = (self.folder / "runs.jsonl").stat().st_size
                return min(self.place.end / max(size, 1), 0.999)


class Followers:
    """The followers of a page."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, Follower] = OrderedDict()
        self._lock = Lock()

    def of(self, folder: Path) -> Follower:
        """That of a folder; BundleError where there is no bundle."""
        with self._lock:
            if folder not in self._kept:
                self._kept[folder] = Follower(folder)
            self._kept.move_to_end(folder)
            while len(self._kept) > FOLLOWED:
                self._kept.popitem(last=False)
            return self._kept[folder]

    def forget(self, folder: Path) -> None:
        """Begin anew with a bundle: what was followed of it could not be gone on with."""
        with self._lock:
            self._kept.pop(folder, None)


def looked(followers: Followers, folder: Path, patience_s: float = PATIENCE_S) -> LiveLook:
    """The bundle of a folder now. The errors of a bundle, after which it is read anew."""
    try:
        return followers.of(folder).look(patience_s)
    except OSError as error:
        followers.forget(folder)
        raise AlteredError(f"{folder} cannot be read: {error.strerror}") from error
    except Exception:
        followers.forget(folder)
        raise
