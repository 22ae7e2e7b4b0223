"""Redis and Valkey that already run: CONFIG SET, and an empty database by its number."""

from __future__ import annotations

from collections.abc import Mapping

from assay import native
from assay.core.address import ServerAddress
from assay.core.errors import AssayError, InputError, RunError
from assay.targets.servers.framework.attachment import Asks

MARK = "assay:data"
"""The key that says which data set a database holds."""
NOT_LOADED = "loading"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class AttachedRedis:
    """What can be done to it."""

    needs_file = True

    def before(self, ask: Asks, names: list[str]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for name in names:
            (rows,) = ask(f"CONFIG GET {name}")
            flat = [cell for row in rows for cell in row]
            if len(flat) != 2:
                raise RunError(f"the server has no setting {name}")
            found[name] = flat[1] or ""
        return found

    def fixed(self, ask: Asks, names: list[str]) -> set[str]:
        """Those that it refuses to set to what they are."""
        now = self.before(ask, names)
        found = set()
        for name, value in now.items():
            try:
                ask(f"CONFIG SET {name} {_quoted(value or '')}")
            except AssayError as error:
                if "immutable" not in error.message:
                    raise
                found.add(name)
        return found

    def put(self, ask: Asks, values: Mapping[str, str | None]) -> None:
        asks = [f"CONFIG SET {n} {_quoted(v or '')}" for n, v in values.items()]
        if asks:
            ask(*asks)

    def lines(self, values: Mapping[str, str]) -> str:
        return "".join(f"{name} {_quoted(value)}\n" for name, value in values.items())

    def database(self, target: ServerAddress, name: str) -> ServerAddress:
        return target

    def has_data(self, target: ServerAddress, name: str) -> bool:
        """It may be anybody's database: one with other data in it is not touched."""
        held, size = native.ask_server(target.request(), [f"GET {MARK}", "DBSIZE"])
        mark = held[0][0] if held and held[0] else None
        if mark == name:
            return True
        if mark is not None and mark.startswith(NOT_LOADED):
            native.ask_server(target.request(), ["FLUSHDB"])
        elif size != [["0"]]:
            raise InputError(
                f"database {target.database or 0} of {target} holds other data",
                next_step="name an empty one in the address: redis://host:6379/5",
            )
        native.ask_server(target.request(), [f"SET {MARK} {NOT_LOADED}"])
        return False

    def keep_data(self, target: ServerAddress, name: str) -> None:
        native.ask_server(target.request(), [f"SET {MARK} {name}"])
