"""The one door to `assayer`, the native binary: finding it, asking it, reading its lines.

The wire format is specified in `protocol.rs`; the reader types here are declared
separately and refuse unknown fields, so that a silent change of either side
breaks a test. Nothing else in Assay starts the binary.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from assay._errors import AssayError, InputError, MissingError, RunError

NAME = "assayer"


class Message(BaseModel):
    """The base of every message's data: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Memory(Message):
    """Pages behind the data's own mapping, in bytes, read from smaps; None where it has none."""

    bytes: int | None = None
    anon_huge_bytes: int | None = None
    private_hugetlb_bytes: int | None = None
    kernel_page_bytes: int | None = None
    rss_bytes: int | None = None
    page_table_bytes: int | None = None


class Ready(Message):
    """The server is loaded; `manifest` is what it really selected and obtained."""

    verb: str
    pid: int
    build_id: str
    manifest: dict[str, Any]


class Checked(Message):
    """A request with `check_only` could be met; nothing was loaded."""


class Phase(Message):
    """The run enters load, warmup, measure or stop."""

    name: Literal["load", "warmup", "measure", "stop"]


class Interval(Message):
    """One stretch of the window; `histogram` is HdrHistogram V2, deflated, base64, in ns."""

    index: int
    start_ms: float
    length_ms: float
    operations: int
    errors: int
    histogram: str


class Health(Message):
    """Whether the load could be trusted; shares are fractions, CPUs are CPUs' worth."""

    loader: Literal["in-process", "client"]
    busiest_thread: float | None
    late_sends: float | None
    asked_per_s: float | None
    achieved_per_s: float
    server_idle: float
    foreign_cpu: float
    steal: float
    clock_step_ms: float


class KindResult(Message):
    operations: int
    histogram: str


class ThreadResult(Message):
    cpu: int | None
    operations: int
    cpu_s: float


class Contention(Message):
    """A lock class over the window, summed over threads."""

    grabs: int
    waits: int
    spins: int
    wait_s: float


class Made(Message):
    """The census of a function that was compiled at run time, and is in no file."""

    symbol: str
    instructions: int
    counts: dict[str, int]


class Ran(Message):
    """A function that was really called, at its address in the file unless it was `made`."""

    role: str
    address: str
    calls: int
    made: Made | None = None


class CpuShare(Message):
    """How one CPU spent the window; fractions."""

    cpu: int
    busy: float
    user: float
    system: float
    softirq: float
    steal: float


class State(Message):
    records: int | None = None
    checksum_ok: bool
    faults: list[str] = []


class Refused(Message):
    """Requests that a server refused with one code; `message` is the first one's."""

    kind: str
    code: str
    message: str
    count: int


class LoadResult(Message):
    """What is said of load on a server; histograms as everywhere, in ns."""

    connections: int
    tls: str | None
    """Version and cipher suite; None without TLS."""
    service: str
    lateness: str
    cpu_us_per_operation: float
    ended_by: str | None
    errors: list[Refused] = []


class ServerUsage(Message):
    """What a server's processes used over the window, and the memory they hold after it."""

    cpu_s: float
    rss_bytes: int
    pss_bytes: int | None
    processes: int
    voluntary_switches: int
    involuntary_switches: int


class Result(Message):
    """What an `engine`, `micro` or `load` run measured."""

    complete: bool
    window_s: float
    operations: int
    errors: int
    latency_of: str
    by_kind: dict[str, KindResult]
    histogram: str
    threads: list[ThreadResult]
    contention: dict[str, Contention]
    lookups: dict[str, int]
    counters: dict[str, int] = {}
    executed: int
    ran: list[Ran]
    memory: Memory
    cpus: list[CpuShare]
    state: State
    load: LoadResult | None = None
    server: ServerUsage | None = None


class Serving(Message):
    """Small servers that answer from now on, one on each port of loopback."""

    pid: int
    ports: list[int]


class Served(Message):
    """They have ended."""


Rows = list[list[str | None]]
"""Rows of columns as texts; None is NULL."""


class Answers(Message):
    """What a server answered: the rows of each question."""

    answers: list[Rows]


class Loading(Message):
    """How far a server's data are loaded, in rows."""

    rows: int
    of: int


class DataState(Message):
    """A server's data after they were made, checked or removed, and what is wrong with them."""

    rows: int
    seconds: float
    faults: list[str]


class HitsTable(Message):
    """The table of the workload `hits`: its statements, and the file if its rows were written."""

    complete: bool
    rows: int
    bytes: int
    seconds: float
    create: str
    queries: dict[str, str]


class StoreOptions(Message):
    """What a library of a store is by default: its version, and its settings as texts."""

    version: str
    options: dict[str, str]


class Sample(Message):
    """A reading of `sample`: by counter of the manifest, growth since `ready`, or a state.

    None where it was not read this time, or could not be; `mark` is the number of the mark that
    asked for it.
    """

    at_s: float
    mark: int | None
    values: list[int | None]


class Sampled(Message):
    """A sampler has ended; `cpu_s` is what it used."""

    complete: bool
    seconds: float
    samples: int
    cpu_s: float


class Function(Message):
    """The census of one function: its name and how often it holds each instruction."""

    asked: str
    symbol: str
    raw: str
    address: str
    bytes: int
    instructions: int
    counts: dict[str, int]


class Census(Message):
    arch: str
    build_id: str | None
    functions: list[Function]
    missing: list[str]


class Failure(Message):
    kind: Literal["usage", "missing", "failed"]
    message: str
    next: str


_TYPES: dict[str, type[Message]] = {
    "ready": Ready,
    "checked": Checked,
    "answers": Answers,
    "loading": Loading,
    "options": StoreOptions,
    "serving": Serving,
    "phase": Phase,
    "interval": Interval,
    "sample": Sample,
    "health": Health,
    "error": Failure,
}


def find_assayer() -> Path:
    """The binary: $ASSAYER, beside the `assay` script, beside Python, or on the PATH."""
    suggested = os.environ.get("ASSAYER")
    places = [Path(suggested)] if suggested else []
    folders = [Path(sys.argv[0]).parent, Path(sysconfig.get_path("scripts"))]
    places += [f / NAME for f in (*folders, Path(sys.executable).parent)]
    on_path = shutil.which(NAME)
    places += [Path(on_path)] if on_path else []
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place.resolve()
    looked = ", ".join(str(p) for p in dict.fromkeys(places))
    raise MissingError(
        f"the native binary {NAME} was not found; looked at {looked}",
        next_step="run `make install`, or set ASSAYER to the binary's path",
    )


def parse(line: str, result: type[Message]) -> Message:
    """One line of the protocol as its type; `result` is what this verb's result is."""
    try:
        envelope = json.loads(line)
        kind, data = envelope["type"], envelope["data"]
        return (result if kind == "result" else _TYPES[kind]).model_validate(data)
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        reason = str(error).replace("\n", " ")
        raise RunError(
            f"{NAME} wrote a line that is not of its protocol: {line[:120]!r} ({reason[:400]})",
            next_step="the binary and the Python package are of different versions: "
            "run `make install`",
        ) from error


def as_error(failure: Failure) -> AssayError:
    """The exception that a native `error` message stands for."""
    kinds = {"usage": InputError, "missing": MissingError, "failed": RunError}
    return kinds[failure.kind](failure.message, next_step=failure.next)


class Session:
    """One running `assayer VERB`: its messages, in order, until the result."""

    def __init__(
        self,
        verb: str,
        request: Mapping[str, Any],
        *,
        log: IO[bytes] | int = subprocess.DEVNULL,
        env: Mapping[str, str] | None = None,
        executable: Path | None = None,
        result_type: type[Message] | None = None,
        keep_open: bool = False,
    ) -> None:
        """Start it and give it its request. `keep_open`: words may follow (`say`)."""
        of_verb: dict[str, type[Message]] = {
            "ask": Answers,
            "census": Census,
            "facts": Facts,
            "hits": HitsTable,
            "sample": Sampled,
            "serve": Served,
        }
        self._result_type = result_type or of_verb.get(verb, Result)
        self.process = subprocess.Popen(
            [str(executable or find_assayer()), verb],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=dict(env) if env is not None else None,
        )
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended already; what it said, or its exit code, tells why
        if not keep_open:
            self._end_input()

    def say(self, word: str | None) -> None:
        """A line on its standard input, or the end of it; nothing where it has ended already."""
        assert self.process.stdin is not None
        if word is None:
            self._end_input()
            return
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(word.encode() + b"\n")
            self.process.stdin.flush()

    def _end_input(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def messages(self) -> Iterator[Message]:
        """Every message; a native `error` is raised, and so is an end without a result."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = parse(line.decode(), self._result_type)
            if isinstance(message, Failure):
                raise as_error(message)
            yield message
            if isinstance(message, self._result_type | Checked):
                return
        code = self.process.wait()
        raise RunError(
            f"{NAME} ended with code {code} and no result", next_step="its log says more"
        )

    def stop(self, patience_s: float = 10.0) -> None:
        """End the process: ask, then kill. Safe to call at any time, and twice."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._end_input()
        if self.process.stdout is not None:
            self.process.stdout.close()


class HintCost(Message):
    name: str
    ns: float


class HugePool(Message):
    bytes: int
    pool: int
    free: int


class Thp(Message):
    enabled: str
    defrag: str


class Clock(Message):
    source: str
    hz: int


class Ability(Message):
    """Whether this machine can do or count something, and why not."""

    ok: bool
    why: str


class Htm(Message):
    state: Literal["absent", "always-aborts", "usable"]
    why: str


class Abilities(Message):
    pmu: Ability
    htm: Htm
    hugetlb_2m: Ability
    thp: Ability
    numa: Ability
    pin: Ability
    root: Ability


class Facts(Message):
    """What the machine is and what can be measured on it."""

    arch: str
    cpu_model: str
    cpus: int
    cpu_features: list[str]
    cache_line_bytes: int | None
    page_bytes: int
    kernel: str
    distribution: str
    numa_nodes: int
    memory_bytes: int
    huge_pages: list[HugePool]
    thp: Thp | None
    virtual: bool | None
    clock: Clock
    hints: list[HintCost]
    can: Abilities
    build_id: str
    version: str


def ask(verb: str, request: Mapping[str, Any]) -> Message:
    """The result of a verb that only answers (`facts`, `census`)."""
    session = Session(verb, request)
    try:
        *_, last = session.messages()
        return last
    finally:
        session.stop()


def facts() -> Facts:
    """The host's facts, as the native binary reads them."""
    answer = ask("facts", {})
    assert isinstance(answer, Facts)
    return answer


def ask_server(target: Mapping[str, Any], asks: Sequence[str], patience_s: int = 60) -> list[Rows]:
    """The rows that a server answers to each question, over one connection.

    MissingError when it is not there or refuses the login, RunError when it refuses a question.
    """
    request = {"target": dict(target), "asks": list(asks), "patience_s": patience_s}
    answer = ask("ask", request)
    assert isinstance(answer, Answers)
    return answer.answers


def census(path: Path, addresses: Sequence[str] = (), symbols: Sequence[str] = ()) -> Census:
    """Disassemble the functions of an ELF file with these link-time addresses or names."""
    asked = {"path": str(path), "symbols": list(symbols), "addresses": list(addresses)}
    answer = ask("census", asked)
    assert isinstance(answer, Census)
    return answer
