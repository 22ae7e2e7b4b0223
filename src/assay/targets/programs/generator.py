"""A run whose load is another program's: executed by `assayer job`, watched as our own load is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from assay import native
from assay.core.errors import InputError, MissingError, RunError
from assay.linux import smaps
from assay.targets.base import Launch, Measured, OnBegin, OnInterval, ignore
from assay.targets.client_health import health_of
from assay.targets.commands import filled, pairs, program_of
from assay.targets.jobs.job import NOTHING_SEEN, printed_metric
from assay.targets.jobs.printed import Pattern
from assay.targets.native.embedded import WINDOW_BEGINS
from assay.targets.programs.generators import GENERATORS
from assay.targets.programs.printed_load import PrintedLoad
from assay.targets.programs.settings import mark, uses
from assay.targets.programs.started import StartedProgram
from assay.targets.servers.framework.load import load_time, usage_counters, usage_metrics
from assay.targets.servers.framework.server import ServerRun

SECONDS = "seconds"


def check(launch: Launch) -> None:
    """InputError if the generator's command or its number is not said, MissingError if it is not
    here."""
    given = launch.parameters
    if given.get("command") is None:
        raise InputError(
            "the workload generator has no command",
            next_step='write command = ["wrk", "-d", "{seconds}", "{url}"] in [workload]',
        )
    if given.get("parser") is None and given.get("value") is None:
        raise InputError(
            "nothing says where the generator prints its number",
            next_step="give parser, the tool's name, or value, an expression or a path in JSON",
        )
    if given.get("value") is not None:
        try:
            Pattern.of(str(given["value"]))
        except ValueError as error:
            raise InputError(str(error), next_step="mend `value`") from None
    let = pairs(launch.settings.get("let", ()))
    for name in ("command", "prepare"):
        for word in filled((given.get(name) or ())[:1], let):
            program_of(word, launch.settings.get("directory"), os.environ)


class GeneratorRun(ServerRun):
    """One program under the load of a generator."""

    def __init__(self, started: StartedProgram, launch: Launch, log: Path) -> None:
        super().__init__(started, launch, log)
        self._program = started

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        self.read_back()
        words, patience_s = self._launch.parameters["command"], self._launch.parameters["patience"]
        warmup_s = self._launch.warmup_s
        if warmup_s and uses(words, SECONDS):
            warmup = filled(words, self._program.values(warmup_s))
            try:
                self._program.run("the generator's warm-up", warmup, patience_s)
            except RunError as error:
                raise self._failed(error.message) from error
        command = filled(words, self._program.values(self._launch.window_s))
        with self._log.open("ab") as log:
            session = native.Session(
                "job",
                self._request(command, patience_s),
                log=log,
                env=self._environment(),
                before=self._launch.around.client,
            )
            try:
                found = self._watched(session, on_begin)
            finally:
                session.stop()
        self._measured = found
        self._pages = smaps.memory(self._program.process.pid)
        return found

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **mark(self._program.folder)}

    def _request(self, command: list[str], patience_s: float) -> dict[str, Any]:
        directory = self._launch.settings.get("directory")
        return {
            "program": str(program_of(command[0], directory, self._environment())),
            "words": command,
            "directory": str(Path(directory or ".").resolve()),
            "keep_output": True,
            "patience_ms": max(1, round(1000 * patience_s)),
            "window_ms": 0,
            "server_pid": self._program.process.pid,
        }

    def _watched(self, session: native.Session, on_begin: OnBegin) -> Measured:
        health = result = None
        try:
            for message in session.messages():
                if message == WINDOW_BEGINS:
                    on_begin()
                    self._look_around(session.process.pid)
                elif isinstance(message, native.Health):
                    health = message
                elif isinstance(message, native.JobResult):
                    result = message
        except (MissingError, InputError, RunError) as error:
            raise self._failed(error.message.replace("the command", "the generator")) from error
        if result is None or health is None:
            if result is None:
                raise self._failed("the generator ended without a result")
            return _cut_short(result)
        if self._program.process.ended():
            raise self._failed("connection closed")
        return self._told(result, health)

    def _told(self, result: native.JobResult, health: native.Health) -> Measured:
        """What was measured, of what the generator printed and what the kernel showed."""
        around, done = self._launch.around, result.executions[0]
        window_s = done.wall_ns / 1e9
        printed, metrics = self._printed(done.output or "")
        operations = 1
        if printed is not None:
            counted = printed.operations
            operations = round(printed.throughput * window_s) if counted is None else counted
            metrics |= {"throughput": printed.throughput, **printed.latencies}
            health = health.model_copy(update={"achieved_per_s": printed.throughput})
        is_counted = printed is not None and printed.operations is not None
        metrics |= usage_metrics(result.server, operations if is_counted else 0)
        return Measured(
            complete=True,
            window_s=window_s,
            operations=max(1, operations),
            errors=printed.errors if printed else 0,
            metrics=metrics | load_time(self._program.times),
            counters={
                **usage_counters(result.server),
                "generator.cpu_s": (done.user_us + done.system_us) / 1e6,
                **self._program.times,
            },
            histogram="",
            latency_of="operations",
            intervals=[],
            threads=[],
            cpus=result.cpus,
            health=health_of(health, result.cpus, around.server_cpus, around.counts_packets),
        )

    def _printed(self, output: str) -> tuple[PrintedLoad | None, dict[str, float]]:
        given = self._launch.parameters
        found = {}
        if given.get("value") is not None:
            found[printed_metric(given)] = Pattern.of(str(given["value"])).find(output)
        if given.get("parser") is None:
            return None, found
        return GENERATORS[given["parser"]].read(output), found


def _cut_short(result: native.JobResult) -> Measured:
    """Of a run that was stopped before its generator had ended."""
    return Measured(
        complete=False,
        window_s=result.window_s,
        operations=0,
        errors=0,
        metrics={},
        counters={},
        histogram="",
        latency_of="operations",
        intervals=[],
        threads=[],
        cpus=result.cpus,
        health=NOTHING_SEEN,
    )
