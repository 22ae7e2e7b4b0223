"""Databases in Python wheels: where a wheel is, what its library says of itself, how it is served.

The wheel is found, not imported: the library runs in a process of its own
(`serve.py`). Where another build or version of it is wanted, that is another
folder, made by `pip install --target FOLDER PACKAGE`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from assay.core.cache import cache
from assay.core.digest import canonical, digest
from assay.core.errors import MissingError, RunError
from assay.core.parameters import Parameter, by_name
from assay.targets.servers.framework.adapter import Adapter, Place, Program
from assay.targets.setting_values import ServerSetting, truth

SERVE = Path(__file__).with_name("serve.py")
SOCKET = "socket"
"""Whoever may not enter the server's folder does not reach the library."""
_FATAL = "FATAL: "


@dataclass(frozen=True)
class Wheel(Program):
    """A package of PyPI: `name` is what Python imports, `package` what pip installs."""

    libraries: tuple[str, ...] = ()
    """Where in its folder the shared library may be, as patterns."""
    cpu: str = ""
    """A feature that the wheel for x86-64 takes for granted, as the kernel calls it."""

    def find(self) -> Path | None:
        """The folder that Python would import it from; none where this CPU cannot run it."""
        if self.lacks_cpu():
            return None
        spec = importlib.util.find_spec(self.name)
        origin = Path(spec.origin) if spec is not None and spec.origin else None
        folder = origin.parent.parent if origin is not None else None
        return folder if folder is not None and self.library(folder) else None

    def library(self, folder: Path) -> Path | None:
        """The shared library in a folder."""
        found = [p for pattern in self.libraries for p in folder.glob(pattern)]
        return max(found, key=lambda p: p.stat().st_size, default=None)

    def lacks_cpu(self) -> bool:
        """Whether the wheel's instructions are not this CPU's."""
        if not self.cpu or platform.machine() != "x86_64":
            return False
        return self.cpu not in _features()

    def next_step(self) -> str:
        """The one command."""
        if self.lacks_cpu():
            return f"this CPU has no {self.cpu}, which the wheel of {self.package} needs"
        return f"pip install {self.package}"


@lru_cache(maxsize=1)
def _features() -> frozenset[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return frozenset(line.split())
    return frozenset()


class WheelAdapter(Adapter):
    """What is common to libraries; `programs` is one wheel, and a binary is its folder."""

    base: Mapping[str, Any] = MappingProxyType({})
    """Settings that Assay gives by itself."""
    owned: frozenset[str] = frozenset()
    """Settings that say where the data live, and the like: they are Assay's."""
    packages: tuple[str, ...] = ()
    """Distributions whose versions are its version."""
    protocol = "postgresql"
    through_page_cache = True
    ping = "SELECT 1"
    on_socket = SOCKET
    becomes_user = True

    @property
    def wheel(self) -> Wheel:
        """The one program."""
        (found,) = self.programs
        assert isinstance(found, Wheel), "a library is in a wheel"
        return found

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        binary = binary or self.wheel.find()
        if binary is None:
            return {}
        described = _described(self.kind, self._library(binary), binary)
        own = [
            _setting(d, self.base.get(d["name"])) for d in described if d["name"] not in self.owned
        ]
        return MappingProxyType(by_name([*own, *self.compound]))

    def version(self, binary: Path) -> str:
        told = {
            d.metadata["Name"].replace("_", "-").lower(): d.version
            for d in importlib.metadata.distributions(path=[str(binary)])
            if d.metadata["Name"]
        }
        found = [f"{name} {told[name]}" for name in self.packages if name in told]
        return ", ".join(found) or f"{self.kind} of an unknown version"

    def refuses(self, binary: Path, settings: Mapping[str, Any]) -> str:
        """Its own words: it is loaded with these settings, without any data."""
        try:
            _run(self.kind, binary, self.told(binary, settings))
        except RunError as error:
            return error.message
        return ""

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        return [["mkdir", str(place.folder / "data")]]

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        self._library(place.binary)
        where = ["--data", str(place.folder / "data"), "--folder", str(place.folder)]
        told = json.dumps(self.told(place.binary, settings))
        command = _command(self.kind, place.binary)
        user = [] if place.user is None else ["--user", str(place.user)]
        listen = ["--socket", str(place.folder / SOCKET)]
        return [*command, *where, *listen, *user, "--settings", told]

    def url(self, place: Place) -> str:
        return f"postgresql://load@/{self.kind}?socket={quote(str(place.folder / SOCKET))}"

    def told(self, binary: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What the library is given: its own settings, those of ours taken apart."""
        given = {**self.base, **{n: v for n, v in settings.items() if v is not None}}
        own = {p.name for p in self.compound}
        found = {n: v for n, v in given.items() if n not in own}
        for name in own & given.keys():
            found = self.taken_apart(name, given[name], found)
        known = self.settings(binary) if found else {}
        return {n: _told(known.get(n), v) for n, v in found.items()}

    def taken_apart(self, name: str, value: Any, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings, with those for which one of ours stands."""
        raise NotImplementedError(name)

    def program(self, binary: Path) -> str:
        return self.kind

    def image(self, place: Place) -> Path:
        """The file whose contents tell one build from another: its shared library."""
        return self._library(place.binary)

    def is_fatal(self, log: str) -> str:
        lines = [line for line in log.splitlines() if line.startswith(_FATAL)]
        return lines[0].removeprefix(_FATAL) if lines else ""

    def _library(self, binary: Path) -> Path:
        found = self.wheel.library(binary)
        if found is None:
            raise MissingError(
                f"{binary} holds no {self.kind}",
                next_step=f"pip install --target {binary} {self.wheel.package}",
            )
        return found


def _told(setting: Parameter | None, value: Any) -> Any:
    """A value as the library is given it: a flag as one, others as they were written."""
    is_flag = setting is not None and setting.kind == "flag"
    return truth(value) if is_flag else value


def _command(kind: str, folder: Path) -> list[str]:
    return [sys.executable, str(SERVE), "--library", kind, "--from", str(folder)]


def _run(kind: str, folder: Path, settings: Mapping[str, Any]) -> str:
    """What the library says of its settings, with these in force; RunError in its own words."""
    command = [*_command(kind, folder), "--settings", json.dumps(dict(settings))]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"]
        why = next((line for line in lines if line.startswith(_FATAL)), lines[-1])
        raise RunError(f"{kind} did not start: {why.removeprefix(_FATAL)}")
    return done.stdout


def _described(kind: str, library: Path, folder: Path) -> list[dict[str, Any]]:
    stat = library.stat()
    return _asked(kind, folder, (str(library), stat.st_size, stat.st_mtime_ns))


@lru_cache(maxsize=8)
def _asked(kind: str, folder: Path, identity: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Asked once of each library, and kept: it takes a process that loads all of it."""
    kept = cache("settings") / f"{kind}-{digest(canonical(list(identity)))[:32]}.json"
    try:
        found: list[dict[str, Any]] = json.loads(kept.read_text())
        return found
    except (OSError, ValueError):
        pass
    found = json.loads(_run(kind, folder, {}))
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    except OSError:
        pass  # it is asked again next time
    return found


def _setting(described: Mapping[str, Any], default: Any) -> ServerSetting:
    name, kind = described["name"], described["kind"]
    text = described["text"].rstrip(".") or "a setting of the library"
    return ServerSetting(name, "choice" if kind == "text" else kind, text, default=default)
