"""One library of a store: its settings, the request of a run with it, and what it ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.parameters import Parameter
from assay.targets.base import Launch
from assay.targets.native.parts import HARNESS_SETTINGS
from assay.targets.stores.framework.library_facts import known
from assay.targets.stores.framework.store import Store

HARNESS = frozenset({"library", *(p.name for p in HARNESS_SETTINGS)})
"""Settings that the library is not given."""


@dataclass(frozen=True)
class LibraryInUse:
    """A store, the file of its library, and the settings that are Assay's own."""

    store: Store
    path: Path
    ours: Mapping[str, Parameter]

    def settings(self) -> dict[str, Parameter]:
        """The library's own settings and Assay's."""
        options = known(self.store.kind, self.path).options
        own = {name: self.store.setting(name, text) for name, text in options.items()}
        return {**own, **self.ours}

    def request(self, launch: Launch, action: str, folder: Path) -> dict[str, Any]:
        """The protocol's request; `folder` is the data's."""
        known_here = self.settings()
        settings = {n: v for n, v in launch.settings.items() if v is not None}
        settings.pop("library", None)
        threads, pin = settings.pop("threads", 2), settings.pop("pin", True)
        return {
            "store": self.store.kind,
            "library": str(self.path),
            "path": str(folder),
            "action": action,
            "settings": {n: self.store.told(known_here[n], v) for n, v in settings.items()},
            "workload": {"kind": launch.workload, **launch.parameters},
            "threads": threads,
            "pin": pin,
            "seed": launch.seed,
            **launch.times(),
        }

    def differing(self, launch: Launch, reported: Mapping[str, Any]) -> list[str]:
        """Settings that were given and are not in force, each with both values."""
        wrong, known_here = [], self.settings()
        for name, given in launch.settings.items():
            if given is None or name in HARNESS:
                continue
            if name not in reported:
                wrong.append(f"does not report {name}, set to {given!r}")
            elif not self.store.is_same(known_here[name], given, reported[name]):
                wrong.append(f"has {name} = {reported[name]!r} in force, but was given {given!r}")
        return wrong
