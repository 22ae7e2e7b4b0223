"""The target `program`: any server that a study starts, with Assay's own load or a generator's.

Nothing is known of it but what the study says: how it starts, how it is ready, where it answers.
It runs as whoever started Assay, in a folder of its own for each run. What is proved of an arm is
what the kernel shows: the words, the executable by its build id, the variables, the libraries that
are mapped; and whatever a command of the study's own prints.
"""

from __future__ import annotations

import re
from pathlib import Path

from assay import native
from assay.core.address import parse_url
from assay.core.errors import InputError, MissingError
from assay.targets.base import Launch, Target
from assay.targets.commands import filled, program_of
from assay.targets.programs import generator, settings
from assay.targets.programs.settings import SETTINGS
from assay.targets.programs.started import KIND, ProgramAdapter, StartedProgram
from assay.targets.servers.framework.adapter import Place
from assay.targets.servers.framework.load import load_request
from assay.targets.servers.framework.process import setpriv
from assay.targets.servers.framework.server import ServerRun
from assay.targets.servers.framework.target import START_S
from assay.workloads import GENERATOR, SQL_WORKLOADS

NOWHERE = Place(Path("/"), 1, Path("/"))
"""A place for looking at commands that are not run."""


class ProgramTarget(Target):
    """A server that a study starts. See `SETTINGS`."""

    kind = KIND
    text = "any server that the study starts, with Assay's own load or any generator's"
    settings = SETTINGS
    workloads = (
        GENERATOR.kind,
        "http-get",
        "redis-get",
        "redis-set",
        "memcached-get",
        "memcached-set",
        *SQL_WORKLOADS,
    )
    is_bundled = True
    is_named = True
    loads_in_run = True

    def check(self, launch: Launch) -> None:
        given = settings.own(launch)
        if "start" not in given:
            raise InputError(
                "a program has no command that starts it",
                next_step='write start = ["./server", "--port", "{port}"] in [target]',
            )
        setpriv()
        directory, env = given.get("directory"), settings.variables(launch, NOWHERE.folder)
        known = settings.values(launch, NOWHERE)
        commands = ["reset", "ready_command", "stop", "witness"]
        for name in commands if launch.binary else ["start", *commands]:
            for word in filled(given.get(name, ())[:1], known):
                program_of(word, directory, env)
        if "template" in given and not Path(given["template"]).is_dir():
            raise MissingError(
                f"the template {given['template']} is no folder",
                next_step="make it, or take template out",
            )
        for name in ("ready_log", "expect"):
            _require_expression(name, given.get(name))
        _require_ready(launch)
        if launch.workload == GENERATOR.kind:
            generator.check(launch)
        else:
            _require_load(launch)

    def start(self, launch: Launch, log: Path) -> ServerRun:
        started = StartedProgram(launch, log)
        if launch.workload == GENERATOR.kind:
            return generator.GeneratorRun(started, launch, log)
        return ServerRun(started, launch, log)

    def seconds(self, launch: Launch) -> float:
        return launch.warmup_s + launch.window_s + START_S

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        raise MissingError(
            "nobody knows what a program needs in a pool of huge pages",
            next_step="leave host.pages out",
        )


PROGRAM = ProgramTarget()


def _require_expression(name: str, text: object) -> None:
    try:
        re.compile(str(text or ""))
    except re.error as error:
        message = f"{name}: {text!r} is no regular expression: {error}"
        raise InputError(message, next_step=f"mend {name}") from None


def _require_ready(launch: Launch) -> None:
    """InputError where nothing says when it is ready."""
    given = settings.own(launch)
    if given["quiet"] and "ready_log" in given:
        raise InputError(
            "ready_log waits for output that quiet throws away", next_step="take one of them out"
        )
    known = {"ready_log", "ready_command", "port"} & given.keys()
    words = [*given["start"], *given.get("let", ()), *given.get("env", ())]
    if known or settings.uses(words, "port") or "socket=" in str(given.get("url", "")):
        return
    raise InputError(
        "nothing says when the program is ready: its command has no {port}",
        next_step="give {port} to start, or say port, ready_log or ready_command",
    )


def _require_load(launch: Launch) -> None:
    """InputError where Assay's own load does not fit, or there is no address to put it on."""
    if launch.settings.get("url") is None:
        raise InputError(
            f"the workload {launch.workload} needs an address",
            next_step='write url = "http://127.0.0.1:{port}/" in [target]',
        )
    adapter = ProgramAdapter(launch)
    target = parse_url(adapter.url(NOWHERE), {})
    request = load_request(launch, adapter, NOWHERE, target=target)
    session = native.Session("load", {**request, "check_only": True})
    try:
        for _ in session.messages():
            pass
    finally:
        session.stop()
