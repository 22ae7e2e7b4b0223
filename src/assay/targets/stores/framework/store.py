"""What the file of a store says of it: its library, its settings, and how its words compare."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from assay.core.errors import MissingError
from assay.core.parameters import Kind, Parameter
from assay.targets.servers.framework.adapter import DAEMONS
from assay.targets.setting_values import BYTES, ServerSetting

_NUMBER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?[0-9]*\.[0-9]+(e[-+]?[0-9]+)?")


class Store(Protocol):
    """One kind of store. Stores inherit from it."""

    kind: str
    text: str
    library: str
    """How the names of its library's file begin."""
    package: str
    """Debian's package of it."""
    recipe: str = ""
    """The recipe that makes builds of it, where there is one."""
    ours: tuple[Parameter, ...] = ()
    """Settings that Assay has beside the library's own: what no option's text can say."""
    given: Mapping[str, Any] = {}
    """Settings of the library that Assay gives unless a study does."""
    passing: frozenset[str] = frozenset()
    """Settings that leave nothing in stored data: data made with other values are as good."""
    functions: str = ""
    """A pattern of names of functions in the library whose census is evidence."""
    role: str = ""
    """The role in which witnesses know them."""

    def counted(self, counters: Mapping[str, float]) -> dict[str, float]:
        """Counters that are 0 and were left out, where others show that it counts."""
        return {}

    def setting(self, name: str, default: str) -> Parameter:
        """A setting of the library, by what it is by default."""
        given = self.given.get(name)
        told = default if given is None else given
        if default in ("true", "false"):
            return ServerSetting(name, "flag", f"the library has {default} by default", given)
        if _NUMBER.fullmatch(default):
            text = f"the library has {default} by default; sizes count in 1024"
            return ServerSetting(name, "count", text, given, units=BYTES)
        kind: Kind = "number" if _DECIMAL.fullmatch(default) else "any"
        return ServerSetting(name, kind, f"{told or 'nothing'} by default", given)

    def huge_bytes(self, settings: Mapping[str, Any], page_bytes: int) -> int:
        """What these settings have it put into huge pages of a size, in bytes; MissingError if it
        can use none."""
        raise MissingError(f"{self.kind} takes no pages of a pool", next_step="leave pages out")

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """What this machine lacks for these settings, and the next step; None if nothing."""
        return None

    def told(self, setting: Parameter, value: Any) -> Any:
        """What the library is given for a value of a study."""
        if not isinstance(setting, ServerSetting):
            return value
        if setting.kind == "flag":
            return setting.told(value) == "ON"
        return setting.told(value)

    def is_same(self, setting: Parameter, given: Any, reported: Any) -> bool:
        """Whether what is in force means what was given."""
        if not isinstance(setting, ServerSetting):
            return _word(given) == _word(reported)
        return setting.is_same(given, _word(reported))


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def find(store: Store) -> Path | None:
    """The library that is installed, newest version first; None if none is."""
    ldconfig = shutil.which("ldconfig") or shutil.which("ldconfig", path=DAEMONS)
    if ldconfig is None:
        return None
    done = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, errors="replace")
    lines = (line.strip() for line in done.stdout.splitlines())
    paths = [Path(line.rpartition(" => ")[2]) for line in lines if line.startswith(store.library)]
    found = {path.resolve() for path in paths if path.exists()}
    return max(found, key=_version, default=None)


def _version(path: Path) -> list[int]:
    return [int(n) for n in re.findall(r"[0-9]+", path.name)]
