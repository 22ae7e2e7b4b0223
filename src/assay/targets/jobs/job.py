"""The target `job`: a command that is run to its end, measured from outside.

A run is one `assayer job`, which executes the command until the window is over. What is proved of
an arm is what the kernel executed: the words, the program's contents, the variables. It is no
server: nothing is asked of it while it runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from assay import native
from assay.changes import Evidence, SeenExecutable
from assay.core.errors import InputError, MissingError, RunError
from assay.core.metrics import PRINTED_HIGHER, PRINTED_LOWER
from assay.core.parameters import Parameter, by_name
from assay.linux.placement import Placement, placement
from assay.linux.processes import read
from assay.targets.base import Launch, Measured, OnBegin, OnInterval, Target, ignore
from assay.targets.commands import digest_of, filled, pairs, program_of
from assay.targets.jobs.printed import Pattern
from assay.targets.native.embedded import WINDOW_BEGINS, environment

START_S = 0.03
"""What starting `assayer` and the empty processes takes: a guess for the budget."""

SETTINGS = by_name(
    (
        Parameter("command", "words", "the command, as words that no shell reads"),
        Parameter("env", "words", 'variables of the command: ["NAME=value", ...]'),
        Parameter("let", "words", 'what {NAME} in the command stands for: ["NAME=value", ...]'),
        Parameter("directory", "any", "the folder that the command runs in"),
        Parameter("between_arms", "words", "a command before each run, not timed"),
        Parameter("prepare", "words", "a command before each execution, not timed"),
        Parameter("cleanup", "words", "a command after each run, not timed"),
        Parameter("value", "any", "where the number that it prints stands: an expression or path"),
        Parameter("unit", "any", "the unit of that number"),
        Parameter("better", "choice", "which of them is better", "higher", ("higher", "lower")),
        Parameter("any_code", "flag", "codes other than 0 are no failure", False),
        Parameter("patience", "duration", "an execution that takes longer fails", 600.0),
        Parameter("typical", "duration", "how long an execution takes, for the budget", 0.5),
        Parameter("empties", "count", "empty processes in each run", 4, low=0, high=1000),
    )
)


class JobTarget(Target):
    """A command. See `SETTINGS`."""

    kind = "job"
    text = "a command that is run to its end: its time, its memory, or a number that it prints"
    settings = SETTINGS
    workloads = ("to-exit",)
    is_bundled = True
    is_named = True

    def check(self, launch: Launch) -> None:
        if launch.binary is not None:
            raise InputError(
                "a job has no executable but that of its command",
                next_step="name it in the command",
            )
        words = words_of(launch)
        _program(words, launch)
        if "value" in launch.settings:
            try:
                Pattern.of(launch.settings["value"])
            except ValueError as error:
                raise InputError(str(error), next_step="mend `value`") from None

    def start(self, launch: Launch, log: Path) -> JobRun:
        return JobRun(launch, log)

    def seconds(self, launch: Launch) -> float:
        typical: float = launch.settings["typical"]
        return START_S + launch.warmup_s + max(launch.window_s, typical)

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        raise MissingError(
            "nobody knows what a command needs in a pool of huge pages",
            next_step="leave host.pages out",
        )


JOB = JobTarget()


class JobRun:
    """One run of a job: executions until the window is over."""

    def __init__(self, launch: Launch, log: Path) -> None:
        self._launch = launch
        words = words_of(launch)
        program = _program(words, launch)
        self._program = program
        self._env = variables(launch)
        self._looks = launch.around.looks
        self._placement: Placement | None = None
        with log.open("ab") as stderr:
            self._session = native.Session(
                "job",
                request(launch, program, words),
                log=stderr,
                env=self._env,
                before=launch.around.server,
            )
        self._environ = _environ(self.pid, (*launch.env, *pairs(launch.settings.get("env", ()))))

    @property
    def pid(self) -> int:
        return self._session.process.pid

    def read_back(self) -> Mapping[str, Any]:
        """What the command was started with."""
        given = {n: v for n, v in self._launch.settings.items() if n in ("command", "env")}
        return {**given, "program": str(self._program), "sha256": digest_of(self._program)}

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        health: native.Health | None = None
        for message in self._session.messages():
            if message == WINDOW_BEGINS:
                on_begin()
                if self._looks:
                    self._placement = placement(self.pid)
            elif isinstance(message, native.Health):
                health = message
            elif isinstance(message, native.JobResult):
                return self._measured(message, health)
        raise RunError("the run ended without a result")

    def _measured(self, result: native.JobResult, health: native.Health | None) -> Measured:
        if health is None:  # told to stop
            health = NOTHING_SEEN
        done = result.executions
        metrics = metrics_of(done, self._launch.settings) if result.complete else {}
        return Measured(
            complete=result.complete,
            window_s=result.window_s,
            operations=len(done),
            errors=0,
            metrics=metrics,
            counters=_counters(result),
            histogram=result.histogram,
            latency_of="operations",
            intervals=[],
            threads=[],
            cpus=result.cpus,
            health=health,
        )

    def evidence(self) -> Evidence:
        return Evidence(
            read_back=self.read_back(),
            environ=self._environ,
            executable=SeenExecutable(digest_of(self._program)),
            server_placement=self._placement,
        )

    def stop(self) -> None:
        self._session.stop()


NOTHING_SEEN = native.Health(
    loader="in-process",
    busiest_thread=None,
    late_sends=None,
    asked_per_s=None,
    achieved_per_s=0.0,
    server_idle=0.0,
    foreign_cpu=0.0,
    steal=0.0,
    clock_step_ms=0.0,
)


def metrics_of(
    executions: Sequence[native.JobExecution], settings: Mapping[str, Any]
) -> dict[str, float]:
    """The metrics of a run's executions: means, and the largest memory. Nanoseconds, bytes."""
    found = {
        "wall_time": fmean(e.wall_ns for e in executions),
        "cpu_time": 1000 * fmean(e.user_us + e.system_us for e in executions),
        "peak_memory": float(max(e.max_rss_bytes for e in executions)),
    }
    if "value" in settings:
        pattern = Pattern.of(settings["value"])
        found[printed_metric(settings)] = fmean(pattern.find(e.output or "") for e in executions)
    return found


def printed_metric(settings: Mapping[str, Any]) -> str:
    """The metric of the number that a command prints."""
    family = PRINTED_HIGHER if settings["better"] == "higher" else PRINTED_LOWER
    return f"{family}.{settings.get('unit', 'value')}"


def request(launch: Launch, program: Path, words: Sequence[str]) -> dict[str, Any]:
    """The protocol's request for a launch."""
    settings = launch.settings
    directory, empty = settings.get("directory"), shutil.which("true")
    return {
        "program": str(program),
        "words": list(words),
        "directory": None if directory is None else str(Path(directory).resolve()),
        "before": _filled(settings.get("between_arms", ()), launch),
        "prepare": _filled(settings.get("prepare", ()), launch),
        "cleanup": _filled(settings.get("cleanup", ()), launch),
        "empty": empty or "",
        "empties": settings["empties"] if empty else 0,
        "keep_output": "value" in settings,
        "any_code": settings["any_code"],
        "patience_ms": max(1, round(1000 * settings["patience"])),
        "warmup_ms": round(1000 * launch.warmup_s),
        "window_ms": round(1000 * launch.window_s),
    }


def words_of(launch: Launch) -> list[str]:
    """The command of a launch, with its values filled in; InputError if it has none."""
    words = _filled(launch.settings.get("command", ()), launch)
    if not words:
        raise InputError(
            "an arm of a job has no command", next_step='give each level command = ["program", ...]'
        )
    return words


def variables(launch: Launch) -> dict[str, str]:
    """The environment of the command."""
    return environment({**launch.env, **pairs(launch.settings.get("env", ()))})


def _filled(words: Sequence[str], launch: Launch) -> list[str]:
    """Words with the values that the study gives."""
    return filled(words, pairs(launch.settings.get("let", ())))


def _program(words: Sequence[str], launch: Launch) -> Path:
    return program_of(words[0], launch.settings.get("directory"), variables(launch))


def _counters(result: native.JobResult) -> dict[str, float]:
    """What an empty process took, and how many executions there were."""
    found: dict[str, float] = {"executions": len(result.executions)}
    if result.empty:
        found["empty.wall_ns"] = fmean(e.wall_ns for e in result.empty)
        found["empty.peak_bytes"] = max(e.max_rss_bytes for e in result.empty)
    return found


def _environ(pid: int, watched: tuple[str, ...]) -> dict[str, str]:
    """Variables of a live process, which the commands it starts inherit."""
    pairs = (e.partition("=") for e in read(Path(f"/proc/{pid}/environ")).split("\0"))
    return {name: value for name, _, value in pairs if name in watched}
