"""Many studies on many hosts: a queue, one study on a host at a time.

Each host has a thread here that takes the next study it may run, places an agent, and runs the
study's loop; the bundles are the head's, and grow as runs end. A study that was begun before goes
on where it was begun and nowhere else. A host that is lost ends its thread: its study can be gone
on with, and the others take what is left.

    waiting    no host took it: those that may run it are not here, or were lost
    finished   its verdicts are in its bundle
    void       blocks were void too often; it can be gone on with
    failed     it cannot be run as it is asked for
    lost       its host does not answer any more; it can be gone on with
    stopped    by Ctrl-C; it can be gone on with
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from assay.bench import run
from assay.core.errors import AssayError, FleetError, LostError, VoidError
from assay.fleet.placed_study import HOST, PlacedRuns, prepare_placed, require_same_host
from assay.fleet.transport import Link, Transport, placed
from assay.record import Bundle, replayed

State = Literal["waiting", "finished", "void", "failed", "lost", "stopped"]


@dataclass(frozen=True)
class QueuedStudy:
    """A study as it was asked for, and where its bundle is or will be."""

    name: str
    text: str
    folder: Path
    seed: int | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    full: bool = False

    @property
    def is_begun(self) -> bool:
        """Whether it has a plan."""
        return (self.folder / "plan.json").exists()


class QueuedOutcome(BaseModel):
    """What became of a study; `host` is empty where none took it. Seconds of this time only."""

    model_config = ConfigDict(frozen=True)

    study: str
    folder: str
    host: str
    state: State
    why: str
    next_step: str
    seconds: float


class QueueWatcher(Protocol):
    """Told what happens, by several threads."""

    def begins(self, study: str, host: str) -> None:
        """A host took a study."""
        ...

    def ended(self, outcome: QueuedOutcome) -> None:
        """It has ended, in whatever way."""
        ...


class StudyQueue:
    """Studies that wait, and what became of those that do not any more."""

    def __init__(
        self,
        studies: Sequence[QueuedStudy],
        hosts: Sequence[str],
        transport: Transport,
        lease_s: float,
        watcher: QueueWatcher,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waiting = list(studies)
        self._hosts, self._transport, self._lease_s = list(hosts), transport, lease_s
        self._watcher, self._clock = watcher, clock
        self._outcomes: dict[str, QueuedOutcome] = {}
        self._order = [study.name for study in studies]
        self._lock = threading.Lock()

    def run(self) -> list[QueuedOutcome]:
        """Run until nothing is left that a host could take; the outcomes in the order of studies.

        KeyboardInterrupt after every thread has ended its run, where one came meanwhile.
        """
        for study in [study for study in self._waiting if is_finished(study)]:
            self._waiting.remove(study)
            self._end(study, host_of(study) or "", "finished", None, 0.0)
        threads = [
            threading.Thread(target=self._serve, args=(host,), name=f"fleet {host}")
            for host in self._hosts
        ]
        for thread in threads:
            thread.start()
        is_stopped = False
        while any(thread.is_alive() for thread in threads):
            try:
                for thread in threads:
                    thread.join()
            except KeyboardInterrupt:
                is_stopped = True
        for study in self._waiting:
            self._end(study, "", "waiting", FleetError(self._why_waiting(study)), 0.0)
        if is_stopped:
            raise KeyboardInterrupt
        return [self._outcomes[name] for name in self._order]

    def _serve(self, host: str) -> None:
        """One host: study after study, until none is left for it or it is lost."""
        while (study := self._take(host)) is not None:
            self._watcher.begins(study.name, host)
            began = self._clock()
            state, error = self._tried(study, host)
            self._end(study, host, state, error, self._clock() - began)
            if state in ("lost", "stopped"):
                return

    def _take(self, host: str) -> QueuedStudy | None:
        with self._lock:
            for study in self._waiting:
                if host_of(study) in (None, host):
                    self._waiting.remove(study)
                    return study
        return None

    def _tried(self, study: QueuedStudy, host: str) -> tuple[State, AssayError | None]:
        try:
            with placed(self._transport, host, self._lease_s) as link:
                run_placed(link, study)
        except KeyboardInterrupt:
            return "stopped", None
        except VoidError as error:
            return "void", error
        except LostError as error:
            return "lost", error
        except FleetError as error:
            return ("failed" if self._is_here(host) else "lost"), error
        except AssayError as error:
            return "failed", error
        except Exception as error:  # a thread that ends without a word would take a host with it
            return "failed", AssayError(f"{host}: {type(error).__name__}: {error}")
        return "finished", None

    def _end(
        self,
        study: QueuedStudy,
        host: str,
        state: State,
        error: AssayError | None,
        seconds: float,
    ) -> None:
        outcome = QueuedOutcome(
            study=study.name,
            folder=str(study.folder),
            host=host,
            state=state,
            why="" if error is None else error.message,
            next_step="" if error is None else error.next_step,
            seconds=round(seconds, 1),
        )
        with self._lock:
            self._outcomes[study.name] = outcome
        self._watcher.ended(outcome)

    def _is_here(self, host: str) -> bool:
        return host in {present.name for present in self._transport.present()}

    def _why_waiting(self, study: QueuedStudy) -> str:
        began = host_of(study)
        if began is not None and began not in self._hosts:
            return f"it was begun on {began}, which is not among the hosts"
        return "no host was left to run it"


def run_placed(link: Link, study: QueuedStudy) -> Bundle:
    """Begin a study on a host, or go on with it; raises what `assay.bench.run` raises."""
    if study.is_begun:
        bundle = Bundle.open(study.folder)
        require_same_host(link, bundle)
    else:
        bundle = prepare_placed(
            link,
            study.folder,
            study.name,
            study.text,
            seed=study.seed,
            overrides=study.overrides,
            full=study.full,
        )
    run(bundle, maker=PlacedRuns(link, bundle))
    link.call("close")
    return bundle


def is_finished(study: QueuedStudy) -> bool:
    """Whether its bundle has every run that it wants, and the verdicts."""
    if not study.is_begun:
        return False
    bundle = Bundle.open(study.folder)
    return bundle.has_verdicts and replayed(bundle).next() is None


def host_of(study: QueuedStudy) -> str | None:
    """The host that a study was begun on; empty if on none, None if it was not begun."""
    if not study.is_begun:
        return None
    found = Bundle.open(study.folder).host.get(HOST, {})
    return str(found.get("host", ""))
