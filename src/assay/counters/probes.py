"""How often places of a program's file are passed, by whoever runs it: uprobes of `assayer sample`.

Nothing is slowed that does not pass; a pass is slowed by a trap into the kernel. Taking probes away
takes the kernel some 80 ms for each place and CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay import native
from assay.core.errors import AssayError

HZ = 1
"""Readings a second: the fewest; each count that is asked for is a reading of its own."""

PATIENCE_S = 120.0
"""How long the kernel may take to take probes away."""


class Probes:
    """Counts from now on. `refused` says why it does not."""

    def __init__(self, program: Path, offsets: Mapping[str, int]) -> None:
        """`offsets` by name: bytes from the start of the file to an instruction's first one."""
        self.refused = "" if offsets else f"{program.name} has no symbols of what is probed"
        self._session: native.Session | None = None
        if not offsets:
            return
        probes = [{"name": n, "path": str(program), "offset": o} for n, o in offsets.items()]
        self._session = native.Session("sample", {"hz": HZ, "probes": probes}, keep_open=True)
        self._messages = self._session.messages()
        try:
            ready = next(self._messages)
            assert isinstance(ready, native.Ready)
            self._names = [name.removeprefix("probe.") for name in ready.manifest["counters"]]
            absent = ready.manifest["absent"].values()
            self.refused = next((f"the kernel refuses probes: {why}" for why in absent), "")
        except AssayError as error:
            self.refused = f"no probes: {error.message}"
        if self.refused:
            self.close()

    def counts(self) -> dict[str, float]:
        """Passes by name, read now; empty where they are not counted. RunError if it has ended."""
        if self._session is None:
            return {}
        self._session.say("mark")
        for message in self._messages:
            if isinstance(message, native.Sample) and message.mark is not None:
                values = zip(self._names, message.values, strict=True)
                return {name: float(value or 0) for name, value in values}
        return {}

    def close(self) -> None:
        """Take the probes away. Safe to call twice."""
        if self._session is not None:
            self._session.stop(PATIENCE_S)
            self._session = None
