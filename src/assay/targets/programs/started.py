"""The life of a program: its folder, its process, how it is ready, and how nothing of it stays."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core.address import ServerAddress, parse_url
from assay.core.cache import needs_room
from assay.core.errors import AssayError, RunError
from assay.core.parameters import Parameter
from assay.linux import procfs
from assay.linux.processes import marked, read, tree
from assay.targets.base import Launch, ignore
from assay.targets.commands import digest_of, filled, pairs, program_of, run_to_end
from assay.targets.private_folder import own_folder
from assay.targets.programs import settings
from assay.targets.programs.output import OutputLimit
from assay.targets.programs.settings import PATIENCE_S, mark
from assay.targets.servers.framework.adapter import Adapter, Ask, Place
from assay.targets.servers.framework.data import copy, load_data
from assay.targets.servers.framework.load import HTTP, SEED, load_request
from assay.targets.servers.framework.process import Process, free_port
from assay.targets.servers.framework.server import TAKEN, TRIES, Asking
from assay.workloads import GENERATOR

KIND = "program"
READY_S = 5.0
"""How long one try of a command that says whether it is ready may take."""
STOP_S = 10.0
SHOWN = 1000
"""Characters of what a witness prints that are kept."""


class ProgramProcess(Process):
    """Its process; one that wrote too much says so when it is asked how it ended."""

    limit: OutputLimit | None = None

    def ended(self) -> str:
        how = super().ended()
        return how and (self._excess() or how)

    def last_words(self) -> str:
        return self._excess() or super().last_words()

    def _excess(self) -> str:
        return self.limit.why if self.limit else ""


class ProgramAdapter(Adapter):
    """What is known of a program: what its study says, and what its `witness` sees."""

    kind = KIND
    text = "a server that a study starts"
    protocol = ""
    programs = ()
    workloads = ()

    def __init__(self, launch: Launch, witness: Callable[[], object] = ignore) -> None:
        self._launch, self._witness = launch, witness

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        return settings.SETTINGS

    def version(self, binary: Path) -> str:
        return ""

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        return []

    def command(self, place: Place, given: Mapping[str, Any]) -> list[str]:
        return [str(place.binary), *settings.words(self._launch, "start", place)[1:]]

    def url(self, place: Place) -> str:
        known = settings.values(self._launch, place)
        return "".join(filled([str(self._launch.settings.get("url") or "")], known))

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        self._witness()
        return dict(settings)

    def counters(self, ask: Ask) -> dict[str, float]:
        return {}


class StartedProgram:
    """A program that runs and is ready, with its data, in a folder of its own."""

    def __init__(self, launch: Launch, log: Path) -> None:
        self.launch, self._log = launch, log
        self.settings: Mapping[str, Any] = settings.own(launch)
        self.adapter: Adapter = ProgramAdapter(launch, self._require_witness)
        self.times = {"reset_s": 0.0, "start_s": 0.0}
        self.beside: Sequence[int] = ()
        self._witnessed = ""
        self._is_over = False
        self._left = ExitStack()
        try:
            self.folder, self._watcher = self._left.enter_context(own_folder(KIND))
            self.process = self._started()
            self._load()
        except OSError as error:
            self._left.close()
            with needs_room(self.folder):
                raise error
        except BaseException:
            self._left.close()
            raise

    # starting

    def _started(self) -> ProgramProcess:
        given = self.settings.get("port")
        for last in range(0 if given else TRIES - 1, -1, -1):
            self._renew(given or free_port())
            begun = time.monotonic()
            with ExitStack() as trying:
                try:
                    process = self._begin(trying)
                except RunError as error:
                    if last and TAKEN in error.message.lower():
                        continue
                    raise
                self._left.push(trying.pop_all())
            self.times["start_s"] = time.monotonic() - begun
            return process
        raise AssertionError("the last try returns or raises")

    def _renew(self, port: int) -> None:
        """The folder as each start finds it."""
        begun = time.monotonic()
        self.place = Place(self.folder, port, self._program(), self.launch.around.host)
        url = self.adapter.url(self.place)
        self.target = parse_url(url, {}) if url else ServerAddress("none")
        self.ask = Asking(self.place, self.target, 0)
        for left in self.folder.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        template = self.settings.get("template")
        if template is not None:
            copy(Path(template), self.folder)
        self._command("reset")
        self.times["reset_s"] += time.monotonic() - begun

    def _program(self) -> Path:
        if self.launch.binary is not None:
            return Path(self.launch.binary)
        env = settings.variables(self.launch, self.folder)
        (name,) = filled(self.settings["start"][:1], pairs(self.settings.get("let", ())))
        return program_of(name, self.settings.get("directory"), env)

    def values(self, seconds: float = 0.0) -> dict[str, str]:
        """What stands for each {NAME} in the commands of this start."""
        return settings.values(self.launch, self.place, seconds)

    def _begin(self, left: ExitStack) -> ProgramProcess:
        log = Path(os.devnull) if self.settings["quiet"] else self._log
        directory = self.settings.get("directory") or "."
        process = ProgramProcess(
            self.adapter.command(self.place, self.settings),
            self.folder,
            log,
            env=settings.variables(self.launch, self.folder),
            name=self.settings["start"][0],
            watcher=self._watcher,
            before=self.launch.around.server,
            directory=Path(directory).resolve(),
        )
        process.limit = OutputLimit(log, lambda: _kill_group(process.pid))
        left.callback(process.limit.stop)
        left.callback(self._end, process)
        try:
            process.wait_until(
                lambda: self._is_ready(process), lambda said: "", self.settings["patience"]
            )
        except RunError as error:
            raise self._explained(error, process) from error
        return process

    def _is_ready(self, process: Process) -> bool:
        expression, command = (self.settings.get(f"ready_{n}") for n in ("log", "command"))
        if expression is not None:
            return re.search(str(expression), process.said(), re.MULTILINE) is not None
        if command is not None:
            return self._says_ready()
        if self.target.socket is not None:
            return Path(self.target.socket).exists()
        return process.listens(self.place.port)

    def _says_ready(self) -> bool:
        try:
            done = subprocess.run(
                settings.words(self.launch, "ready_command", self.place),
                env=settings.variables(self.launch, self.folder),
                cwd=self.settings.get("directory"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=READY_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _explained(self, error: RunError, process: Process) -> RunError:
        """Why it is not ready, where that can be seen."""
        left = [pid for pid in marked(self._entry()) if pid != process.pid]
        if process.ended() and left:
            names = ", ".join(sorted({_name(pid) for pid in left}))
            return RunError(
                f"{error.message}; it left {names} running, which was killed",
                next_step="start it in the foreground: what it leaves behind is not it",
            )
        watches_port = not {"ready_log", "ready_command"} & self.settings.keys()
        if process.ended() or not watches_port or self.target.socket is not None:
            return error
        ports = procfs.ports(tree(process.pid))
        listens = f"it listens on {', '.join(map(str, ports))}" if ports else "it listens nowhere"
        return RunError(
            f"{error.message}; {{port}} was {self.place.port}, and {listens}",
            next_step="give it {port} in start, or say port, ready_log or ready_command",
        )

    # while it runs

    def _command(self, name: str) -> str:
        """Runs a command of the settings to its end, if there is one; what it printed."""
        words = settings.words(self.launch, name, self.place)
        return self.run(name, words, PATIENCE_S) if words else ""

    def run(self, what: str, words: Sequence[str], patience_s: float) -> str:
        """Runs a command beside the program, with the environment of the run; what it printed."""
        done = run_to_end(
            what,
            words,
            directory=self.settings.get("directory"),
            env={**os.environ, **mark(self.folder)},
            log=self._log,
            patience_s=patience_s,
            before=self.launch.around.client,
        )
        return done.output or ""

    def _load(self) -> None:
        """The data of the workload, into the running program."""
        begun = time.monotonic()
        if self.launch.workload == GENERATOR.kind:
            words = self.launch.parameters.get("prepare")
            if words is None:
                return
            self.run("prepare", filled(words, self.values()), self.launch.parameters["patience"])
        elif self.settings["prepared"] or self.target.protocol == HTTP:
            return
        else:
            made = replace(self.launch, seed=SEED)
            request = load_request(made, self.adapter, self.place, target=self.target)
            load_data("load", {**request, "action": "prepare"}, self._log)
        self.times["load_s"] = time.monotonic() - begun

    def _require_witness(self) -> None:
        """Runs its witness. RunError if what that prints does not match."""
        if "witness" not in self.settings or self._witnessed:
            return
        self._witnessed = self._command("witness").strip()[-SHOWN:]
        if "expect" not in self.settings:
            return
        (expected,) = filled([str(self.settings["expect"])], self.values())
        if not re.search(expected, self._witnessed, re.MULTILINE):
            raise RunError(f"the witness printed {self._witnessed!r}, and no {expected!r}")

    @property
    def facts(self) -> Mapping[str, Any]:
        """The command line as the kernel shows it, and the libraries that are mapped, by SHA-256:
        with {port} and {dir} in the places of their values."""
        pid = self.process.pid
        line = read(Path(f"/proc/{pid}/cmdline")).rstrip("\0").split("\0")
        given = self.settings["start"]
        named = {str(self.folder): "{dir}"}
        if settings.uses(given, "port"):
            named[str(self.place.port)] = "{port}"
        for value, name in named.items():
            line = [word.replace(value, name) for word in line]
        found = {path: digest_of(Path(path)) for path in procfs.libraries(pid)}
        witnessed = {"witnessed": self._witnessed} if self._witnessed else {}
        return {"command_line": line, "libraries": found, **witnessed}

    def note(self, text: str) -> None:
        """A line of our own in the run's log."""
        with self._log.open("a") as log:
            log.write(f"assay: {text}\n")

    # ending

    def _entry(self) -> str:
        ((name, value),) = mark(self.folder).items()
        return f"{name}={value}"

    def _end(self, process: Process) -> None:
        """Ends it, and whatever it or another command of this run has left anywhere."""
        try:
            if not process.ended():
                with contextlib.suppress(AssayError):
                    self._command("stop")
        finally:
            process.stop(STOP_S)
            self._sweep()

    def _sweep(self) -> None:
        """Kills what has left the process group."""
        left, end = marked(self._entry()), time.monotonic() + STOP_S
        if left:
            self.note(f"killed what was left: {', '.join(map(_name, left))}")
        while left and time.monotonic() < end:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
            left = marked(self._entry())

    def stop(self) -> None:
        """Ends it and removes its folder. Safe to call twice."""
        begun = time.monotonic()
        self._left.close()
        if not self._is_over:
            self._is_over = True
            spent = ", ".join(f"{k.removesuffix('_s')} {v:.3f} s" for k, v in self.times.items())
            self.note(f"{spent}, stop {time.monotonic() - begun:.3f} s")


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _name(pid: int) -> str:
    return read(Path(f"/proc/{pid}/comm")).strip() or str(pid)
