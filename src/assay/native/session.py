"""Sessions with `assayer`: a request, its messages, and how it ends."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import ValidationError

from assay.core.endings import how_it_ended, memory_kills
from assay.core.errors import AssayError, InputError, MissingError, RunError
from assay.native.messages import (
    Answers,
    Census,
    Checked,
    Facts,
    Failure,
    FixtureServers,
    Function,
    Health,
    HitsTable,
    ImageCensus,
    Loading,
    Message,
    ObjectFile,
    ProfileResult,
    Ready,
    RefusedFile,
    Rows,
    RunPhase,
    RunResult,
    Sample,
    Sampled,
    Served,
    StoreOptions,
    Surveyed,
    WindowInterval,
)
from assay.native.process import NAME, start, start_survey

_TYPES: dict[str, type[Message]] = {
    "ready": Ready,
    "checked": Checked,
    "answers": Answers,
    "loading": Loading,
    "options": StoreOptions,
    "serving": FixtureServers,
    "phase": RunPhase,
    "interval": WindowInterval,
    "sample": Sample,
    "health": Health,
    "error": Failure,
    "census": ImageCensus,
    "object": ObjectFile,
    "refused": RefusedFile,
}


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
        before: Sequence[str] = (),
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        """Start it and give it its request, or take over a `process` that has it. `keep_open`:
        words may follow (`say`)."""
        of_verb: dict[str, type[Message]] = {
            "ask": Answers,
            "census": Census,
            "facts": Facts,
            "hits": HitsTable,
            "object": Surveyed,
            "profile": ProfileResult,
            "sample": Sampled,
            "serve": Served,
        }
        self._kills = memory_kills()
        self._result_type = result_type or of_verb.get(verb, RunResult)
        self.process = process or start(
            verb, request, log=log, env=env, executable=executable, before=before
        )
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
            f"{NAME} gave no result: {how_it_ended(code, self._kills)}",
            next_step="its log says more",
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


def ask(verb: str, request: Mapping[str, Any], before: Sequence[str] = ()) -> Message:
    """The result of a verb that only answers (`facts`, `census`)."""
    session = Session(verb, request, before=before)
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


def ask_server(
    target: Mapping[str, Any],
    asks: Sequence[str],
    patience_s: int = 60,
    before: Sequence[str] = (),
) -> list[Rows]:
    """The rows that a server answers to each question, over one connection.

    MissingError when it is not there or refuses the login, RunError when it refuses a question.
    """
    request = {"target": dict(target), "asks": list(asks), "patience_s": patience_s}
    answer = ask("ask", request, before)
    assert isinstance(answer, Answers)
    return answer.answers


def census(path: Path, addresses: Sequence[str] = (), symbols: Sequence[str] = ()) -> Census:
    """Disassemble the functions of an ELF file with these link-time addresses or names."""
    asked = {"path": str(path), "symbols": list(symbols), "addresses": list(addresses)}
    answer = ask("census", asked)
    assert isinstance(answer, Census)
    return answer


def survey(paths: Sequence[Path], sites: bool = True) -> Iterator[ImageCensus | RefusedFile]:
    """Whole files: what each ELF image holds, or why a file is none, as they are read."""
    yield from surveyed(start_survey(paths, sites))


def surveyed(process: subprocess.Popen[bytes]) -> Iterator[ImageCensus | RefusedFile]:
    """The same, of a survey that was started before."""
    session = Session("census", {}, result_type=Surveyed, process=process)
    try:
        for message in session.messages():
            if isinstance(message, ImageCensus | RefusedFile):
                yield message
    finally:
        session.stop()


def objects(
    paths: Sequence[Path],
    functions: Literal["all", "exported"] | None = None,
    references: Sequence[tuple[str, str]] = (),
    contents: bool = False,
) -> list[ObjectFile | RefusedFile]:
    """What ELF files say of themselves, or why a file is none.

    `references` are functions, each with a variable that it refers to; with `contents` each has
    the digests of all that it holds.
    """
    if not paths:
        return []
    asked = {
        "paths": [str(path) for path in paths],
        "functions": functions,
        "references": [{"function": f, "symbol": s} for f, s in references],
        "contents": contents,
    }
    session = Session("object", asked)
    try:
        return [m for m in session.messages() if isinstance(m, ObjectFile | RefusedFile)]
    finally:
        session.stop()


def functions_named(path: Path, pattern: str) -> list[Function]:
    """The census of the functions of an ELF file whose names match, in order of names.

    InputError if it is no ELF file.
    """
    wanted = re.compile(pattern)
    names: set[str] = set()
    for about in objects([path], functions="all"):
        if isinstance(about, RefusedFile):
            raise _no_library(about)
        names.update(filter(wanted.search, about.functions or ()))
    return census(path, symbols=sorted(names)).functions if names else []


def counted_instructions(path: Path, kind: str) -> int:
    """How many instructions of a kind of the census stand in all code of an ELF file.

    Places that are not known to be instructions count too. InputError if it is no ELF file.
    """
    total = 0
    for about in survey([path], sites=False):
        if isinstance(about, RefusedFile):
            raise _no_library(about)
        total += about.counts.get(kind, 0) + about.unverified.get(kind, 0)
    return total


def _no_library(refused: RefusedFile) -> InputError:
    return InputError(f"{refused.path}: {refused.why}", next_step="give a library's path")
