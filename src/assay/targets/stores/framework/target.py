"""A store that is a library as a target: found here or missed with the command that gets it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType

from assay import native
from assay.builds import RECIPES
from assay.core.cache import cache, keep
from assay.core.errors import InputError, MissingError
from assay.core.parameters import Parameter, by_name
from assay.targets.base import Launch, Target
from assay.targets.native.parts import HARNESS_SETTINGS
from assay.targets.servers.framework.data import key, load_data
from assay.targets.servers.framework.load import SEED
from assay.targets.servers.framework.target import AnySetting
from assay.targets.stores.framework.library import HARNESS, LibraryInUse
from assay.targets.stores.framework.library_facts import known
from assay.targets.stores.framework.server import StoreRun
from assay.targets.stores.framework.store import Store, find

DATA = "data"
INSTALLED = "installed"
"""The library that the system has."""
START_S = 0.4
COPY_S_PER_BYTE = 1.5e-9
"""Guesses of what a run costs beside its window, used only to foresee a study's length."""


@lru_cache(maxsize=8)
def _made(recipe: str, arm: str) -> Path:
    return RECIPES[recipe].make(arm).path


class StoreTarget(Target):
    """A kind of store, of which `store` says what is particular."""

    workloads: tuple[str, ...] = ("ycsb",)
    takes_turns = True
    through_page_cache = True

    def __init__(self, store: Store) -> None:
        self.store = store
        self.kind, self.text = store.kind, store.text

    @property
    def listed_settings(self) -> Mapping[str, Parameter]:
        """Settings that are no library's own."""
        return by_name((*self.store.ours, *self._harness()))

    def _harness(self) -> tuple[Parameter, ...]:
        """Settings that are told to nobody by their names."""
        arms = RECIPES[self.store.recipe].arms if self.store.recipe else ()
        made = f", one that Assay makes ({', '.join(arms)})" if arms else ""
        text = f"the library's file: the installed one{made}, or a path"
        return (Parameter("library", "any", text, INSTALLED), *HARNESS_SETTINGS)

    @cached_property
    def settings(self) -> Mapping[str, Parameter]:  # type: ignore[override]  # nobody assigns it
        """Ours, and the installed library's own: any plausible name where there is none."""
        library = find(self.store)
        if library is None:
            given = {n: self.store.setting(n, str(v)) for n, v in self.store.given.items()}
            return AnySetting({**given, **self.listed_settings})
        return MappingProxyType(self._opened(library).settings())

    @property
    def own_settings(self) -> int | None:
        return None if isinstance(self.settings, AnySetting) else super().own_settings

    def found(self) -> str:
        """For a list: the version that is here, or the one command that gets it."""
        library = find(self.store)
        if library is None:
            return f"not here: {self._next_step()}"
        return f"{known(self.kind, library).version}, {library}"

    def check(self, launch: Launch) -> None:
        library = self.library(launch)
        self._refuse_unknown(launch, library)
        lacking = self.store.lacks(launch.settings)
        if lacking is not None:
            message, next_step = lacking
            raise MissingError(message, next_step=next_step)
        request = self._opened(library).request(launch, "run", Path(tempfile.gettempdir()))
        session = native.Session("store", {**request, "check_only": True})
        try:
            for _ in session.messages():
                pass
        finally:
            session.stop()

    def start(self, launch: Launch, log: Path) -> StoreRun:
        library = self.library(launch)
        data = self._prepared(launch, library, log)
        return StoreRun(self._opened(library), launch, data, log)

    def seconds(self, launch: Launch) -> float:
        volume = 1
        for name in ("records", "fields", "field_bytes"):
            volume *= launch.parameters[name]
        return launch.warmup_s + launch.window_s + START_S + volume * COPY_S_PER_BYTE

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        return self.store.huge_bytes(launch.settings, page_bytes)

    def library(self, launch: Launch) -> Path:
        """The library that the launch names, made if need be, or the one that is installed."""
        word = str(launch.binary or launch.settings.get("library", INSTALLED))
        if word == INSTALLED:
            found = find(self.store)
            if found is None:
                raise MissingError(
                    f"no {self.store.library} is installed", next_step=self._next_step()
                )
            return found
        if self.store.recipe and word in RECIPES[self.store.recipe].arms:
            return _made(self.store.recipe, word)
        path = Path(word).resolve()
        if not path.is_file():
            raise InputError(f"library: {word} is not a file", next_step=self._harness()[0].text)
        return path

    def _opened(self, library: Path) -> LibraryInUse:
        return LibraryInUse(self.store, library, self.listed_settings)

    def _refuse_unknown(self, launch: Launch, library: Path) -> None:
        has = self._opened(library).settings()
        unknown = [n for n, v in launch.settings.items() if v is not None and n not in has]
        if unknown:
            raise InputError(
                f"{library} has no setting {', '.join(unknown)}",
                next_step=f"`assay list targets` says which {self.kind} is here",
            )

    def _next_step(self) -> str:
        return f"sudo apt-get install {self.store.package}"

    def _prepared(self, launch: Launch, library: Path, log: Path) -> Path:
        left_out = self.store.passing | HARNESS
        shaping = {n: v for n, v in launch.settings.items() if n not in left_out and v is not None}
        version, parameters = known(self.kind, library).version, dict(launch.parameters)
        name = key(self.kind, version, shaping, launch.workload, parameters, SEED)
        whole = replace(launch, seed=SEED, settings=shaping)
        return keep(cache("data") / name, lambda made: self._make(made, whole, library, log)) / DATA

    def _make(self, folder: Path, launch: Launch, library: Path, log: Path) -> None:
        """Fills a folder with the data of a workload."""
        data = folder / DATA  # the cache holds a lock on the folder, as the load does on its own
        data.mkdir()
        request = self._opened(library).request(launch, "prepare", data)
        load_data("store", request, log)
