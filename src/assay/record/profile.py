"""A run's profile as it stands beside `runs.jsonl`: where its server's threads were.

One file for each run, compressed; its digest is in the run's line, so that it is part of the chain.
"""

from __future__ import annotations

import gzip
import zlib

from assay.core.digest import canonical
from assay.core.errors import AlteredError
from assay.record.run import Recorded

BYTES_MAX = 128 << 20
"""Of a profile that is unpacked: far more than one has."""
_GZIP = 16 + zlib.MAX_WBITS


class ProfiledFunction(Recorded):
    """A function, by a name without parameters, and the file that it is in."""

    name: str
    module: str


class ProfiledStack(Recorded):
    """Samples of one chain of calls: places in the functions, outermost first."""

    frames: list[int]
    count: int


class RunProfile(Recorded):
    """Samples of a server over one window.

    `hz` times a second of each thread's CPU time, by `event`; `seconds` between the marks, the
    first of which was `late_s` after it was asked for; `kernel`: whether the kernel's own functions
    are seen; `lost` samples found no place. Chains of calls follow frame pointers.
    """

    event: str
    hz: int
    kernel: bool
    seconds: float
    late_s: float
    samples: int
    lost: int
    cpu_s: float
    functions: list[ProfiledFunction]
    stacks: list[ProfiledStack]

    def packed(self) -> bytes:
        """The file's contents: the same bytes for the same profile."""
        return gzip.compress(canonical(self.model_dump()), mtime=0)

    @classmethod
    def unpacked(cls, data: bytes, name: str) -> RunProfile:
        """What `packed` made; AlteredError names the file if it is something else."""
        try:
            return cls.model_validate_json(_unpacked(data))
        except (ValueError, zlib.error) as error:
            raise AlteredError(f"{name} is not a profile: {error}") from error


def _unpacked(data: bytes) -> bytes:
    """ValueError if it is more than a profile has, or cut off; no more is unpacked than that."""
    unpacking = zlib.decompressobj(_GZIP)
    found = unpacking.decompress(data, BYTES_MAX)
    if not unpacking.eof:
        raise ValueError("it is cut off, or too large")
    return found
