"""What a server says of itself at the end of each interval of a window: the series of a timeline.

It is asked from a thread of its own, so that a server that answers late, as in a stall, holds up
nothing that measures. Where it still thinks about the last question it is not asked another,
and what it grew by until the next answer is spread over the intervals between.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from assay.core.errors import AssayError
from assay.core.timeline import Reading, series_of


class Moments:
    """Readings of one window: the first as it begins, then one for each interval."""

    def __init__(self, look: Callable[[], Reading]) -> None:
        self._look = look
        self._readings: list[Reading | None] = []
        self._asking: Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, "moments")

    def take(self) -> None:
        """Read now, without waiting for it."""
        self._readings.append(None)
        if self._asking is None or self._asking.done():
            self._asking = self._thread.submit(self._read, len(self._readings) - 1)

    def _read(self, place: int) -> None:
        try:
            self._readings[place] = self._look()
        except AssayError:
            return  # Whoever measures hears of a server that is gone.

    def series(self) -> dict[str, list[float | None]]:
        """By series its value in each interval, once the last reading is there; it ends here."""
        self.stop()
        return series_of(self._readings)

    def stop(self) -> None:
        """End it. Safe to call twice."""
        self._thread.shutdown(wait=True)
