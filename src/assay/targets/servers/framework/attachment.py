"""A server that already runs: its address, its settings for a while, and a data set of its own.

    [target]
    kind = "mariadb"
    attach = "mariadb://assay@db.example:3306"     # the password: ASSAY_PASSWORD, or password_file
    restart = ["systemctl", "restart", "mariadb"]  # for settings that are read at its start only
    settings_file = "/etc/mysql/conf.d/assay.cnf"  # which it includes; Assay writes and removes it
    reset = ["/usr/local/bin/restore-snapshot"]    # before each run; without it nothing is reset

Settings that are given are put in force before each run, by the server's own way where
it has one, and taken back after it. What was there before stands in a journal under
XDG_STATE_HOME first, so that the next `assay` command puts it back if this one is
killed. The data set is loaded once, into a database of its own, and stays.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from assay import native
from assay.core.address import PASSWORD_VARIABLE, ServerAddress, parse_url
from assay.core.errors import AssayError, InputError, MissingError, RunError
from assay.core.parameters import Parameter, by_name

PATIENCE_S = 60.0
"""How long a server may take to be there again, and to do as it was told."""
LOOPBACK = ("localhost", "::1")


class AddressParameter(Parameter):
    """Where a server is, without a password: a study is read by others."""

    def read(self, value: object) -> Any:
        """The URL as it was written; ValueError never repeats what might be secret."""
        if not isinstance(value, str):
            raise ValueError(f"{self.name} is a URL: mariadb://user@host:3306")
        try:
            has_password = parse_url(value, {}).password is not None
        except InputError as error:
            raise ValueError(error.message) from None
        if has_password:
            raise ValueError(
                f"{self.name} holds a password, which everybody who sees the study would see: "
                f"take it out, and put it into {PASSWORD_VARIABLE} or a password_file"
            )
        return value


ATTACH = by_name(
    (
        AddressParameter(
            "attach", "any", "the address of a server that already runs, without a password"
        ),
        Parameter("password_file", "any", "a file that holds the password of an attached server"),
        Parameter("restart", "words", "a command that restarts an attached server"),
        Parameter("settings_file", "any", "a file that an attached server reads at its start"),
        Parameter("reset", "words", "a command that resets an attached server's data"),
    )
)
"""Settings of every target that can be attached to."""
ATTACH_NAMES = frozenset(ATTACH)


class Asks(Protocol):
    """Asks the server over a connection to some database of it, the address's own by default."""

    def __call__(self, *asks: str) -> list[native.Rows]: ...


class Attachable(Protocol):
    """What Assay can do to one kind of server that it did not start."""

    needs_file: bool
    """Whether settings of its start are given to it in a file."""

    def before(self, ask: Asks, names: list[str]) -> dict[str, str | None]:
        """What must be put back for each setting; None where it then has no value of its own."""
        ...

    def fixed(self, ask: Asks, names: list[str]) -> set[str]:
        """Those that are read at its start only."""
        ...

    def put(self, ask: Asks, values: Mapping[str, str | None]) -> None:
        """Puts settings in force, or prepares them for the next start."""
        ...

    def lines(self, values: Mapping[str, str]) -> str:
        """The contents of a file with settings of its start."""
        ...

    def database(self, target: ServerAddress, name: str) -> ServerAddress:
        """Where the data set of this name is."""
        ...

    def has_data(self, target: ServerAddress, name: str) -> bool:
        """Whether the data set of this name is there whole; what is there of it in part is
        removed. InputError where its place is taken by something else."""
        ...

    def keep_data(self, target: ServerAddress, name: str) -> None:
        """Notes that the data set is whole."""
        ...


@dataclass(frozen=True)
class Attachment:
    """An attached server, as a study says it."""

    target: ServerAddress
    restart: tuple[str, ...] = ()
    settings_file: Path | None = None
    reset: tuple[str, ...] = ()

    @staticmethod
    def of(settings: Mapping[str, Any]) -> Attachment | None:
        """That of a target's settings; None where it starts a server of its own. MissingError if
        the password's file cannot be read."""
        url = settings.get("attach")
        if url is None:
            return None
        file = settings.get("settings_file")
        return Attachment(
            parse_url(url, _secrets(settings.get("password_file"))),
            tuple(settings.get("restart") or ()),
            Path(file) if file else None,
            tuple(settings.get("reset") or ()),
        )

    def ask(self, *asks: str) -> list[native.Rows]:
        """Asks it. MissingError where it is not there, or refuses the login."""
        return native.ask_server(self.target.request(), asks)

    def facts(self) -> dict[str, Any]:
        """What a bundle says of it."""
        reset = f"by {self.reset[0]}" if self.reset else "never"
        return {"attached": f"{self.target}, not private", "data_reset": reset}

    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        host = self.target.host
        return bool(self.target.socket) or host in LOOPBACK or host.startswith("127.")

    def run_reset(self) -> None:
        """The user's own reset, if there is one."""
        if self.reset:
            run_command(self.reset, "reset")

    def run_restart(self) -> None:
        """Restarts it, and waits until it answers again."""
        run_command(self.restart, "restart")
        end = time.monotonic() + PATIENCE_S
        while not self._answers():
            if time.monotonic() > end:
                raise RunError(f"{self.target} did not answer {PATIENCE_S:.0f} s after its restart")
            time.sleep(0.05)

    def greet(self) -> None:
        """MissingError where it is not there, or refuses the login."""
        self.ask("PING" if self.target.protocol == "redis" else "SELECT 1")

    def _answers(self) -> bool:
        try:
            self.greet()
        except AssayError:
            return False
        return True


def _secrets(file: str | None) -> Mapping[str, str] | None:
    if file is None:
        return None
    try:
        return {PASSWORD_VARIABLE: Path(file).read_text().strip("\n")}
    except OSError as error:
        raise MissingError(
            f"the password file {file} cannot be read: {error.strerror}",
            next_step=f"make it readable, or set {PASSWORD_VARIABLE}",
        ) from error


def run_command(words: tuple[str, ...], what: str) -> None:
    """Runs a command of the user's; RunError with its words if it fails."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise RunError(f"the {what} command {words[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-400:] or "no output"
        raise RunError(f"the {what} command {words[0]} ended with code {done.returncode}: {said}")
