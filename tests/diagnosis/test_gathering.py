"""Looking at a server: what is put together, and what is said where something cannot be seen."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import RunError
from assay.counters import Series, WindowCounts
from assay.diagnosis import Gathered, gather
from assay.diagnosis.asking import Conversation, ReadingAsk, converse
from assay.diagnosis.records import Unseen
from assay.native import ProfileResult, Rows
from assay.targets.servers.postgresql import POSTGRESQL
from diagnosis_kit import Profiler, Recorded, Sampler, profile, server

CPU = ("host.cpu.user_ms.cpu0", "host.cpu.system_ms.cpu0", "host.cpu.idle_ms.cpu0")
CPU += ("host.cpu.irq_ms.cpu0", "host.cpu.softirq_ms.cpu0", "host.cpu.steal_ms.cpu0")
SERIES = Series(
    CPU, ((0.0, (0, 0, 0, 0, 0, 0)), (1.0, (500, 100, 300, 0, 100, 0)), (2.0, (None,) * 6))
)
COUNTS = WindowCounts({"process.cpu_us": 2e6}, {}, 2.0, 0.01, {"psi": "this kernel has none"})
ALONE = Unseen("statistics", "nobody answers", "give --attach")


def sampled(**fields: Any) -> ProfileResult:
    seen = profile({("main", "work"): 100})
    said = {"complete": True, "began_s": 100.0, "seconds": 2.0, "event": "cpu-clock", "hz": 199}
    said |= {"kernel": True, "samples": 100, "lost": 0, "cpu_s": 0.1}
    names = [{"name": f.name, "module": f.module} for f in seen.functions]
    stacks = [{"frames": s.frames, "count": s.count} for s in seen.stacks]
    return ProfileResult.model_validate({**said, "functions": names, "stacks": stacks, **fields})


def looked_at(profiler: Any = None, conversation: Any = ALONE, sampler: Any = None) -> Gathered:
    profiler = Profiler(sampled()) if profiler is None else profiler
    sources = Recorded(profiler, sampler or Sampler(COUNTS, SERIES), conversation)
    return gather(server(), 2.0, sources, tell=lambda _: None)


def test_a_window_is_put_together_of_all_that_was_seen() -> None:
    """Profile, CPUs, threads, disks, limits: by the numbers that the sources gave."""
    found = looked_at()
    assert found.seconds == 2.0
    assert found.profile is not None
    assert found.profile.samples == 100
    (second,) = found.cpus
    assert (second.user, second.system, second.softirq) == (0.5, 0.1, 0.1)
    assert found.thread_looks == 8 * 4
    assert [(t.state, t.share) for t in found.threads] == [("D", 0.75), ("R", 0.25)]
    assert (found.ran_s, found.delayed_s) == (1.0, 3.0)
    (disk,) = found.disks
    assert (disk.reads_per_s, disk.read_ms, disk.flush_ms) == (5.0, 2.0, 10.0)
    assert (disk.busy, disk.queue) == (0.25, 0.45)
    assert found.limits is not None
    assert found.throttled_s == 1.0


def test_the_window_is_marked_at_both_ends_and_everything_is_ended() -> None:
    """Whatever looks is gone afterwards."""
    profiler, sampler = Profiler(sampled()), Sampler(COUNTS, SERIES)
    looked_at(profiler, sampler=sampler)
    assert (profiler.marks, sampler.marks) == (2, 2)
    assert profiler.stopped
    assert sampler.stopped


def said(found: Gathered) -> dict[str, Unseen]:
    return {u.what: u for u in found.unseen}


def test_what_cannot_be_seen_is_named_with_its_reason_and_the_way_to_it() -> None:
    """Each part by itself; the rest is still seen."""
    found = looked_at("perf events are barred here")
    about = said(found)
    assert found.profile is None
    assert about["where the CPU time goes: no profile"].why == "perf events are barred here"
    assert "CAP_PERFMON" in about["where the CPU time goes: no profile"].way
    assert about["statistics"] == ALONE
    assert about["the counters psi"].why == "this kernel has none"
    assert "virtual PMU" in about["cycles, instructions and page walks"].way
    assert found.cpus


def test_a_profiler_or_a_sampler_that_fails_takes_nothing_else_with_it() -> None:
    """It ended by itself, as with a server of another user."""
    failing = RunError("sampling during the run failed: permission denied")
    found = looked_at(Profiler(failing), sampler=Sampler(failing, Series((), ())))
    assert found.profile is None
    assert found.cpus == []
    assert said(found)["counters of the host"].why.endswith("permission denied")
    assert found.disks


def test_samples_of_user_space_only_are_said_to_be_that() -> None:
    """And hidden symbols too."""
    assert (
        "CAP_PERFMON"
        in said(looked_at(Profiler(sampled(kernel=False))))["time in the kernel's functions"].way
    )
    hidden = sampled(functions=[{"name": "[kernel]", "module": ""}] * 2)
    assert (
        "kptr_restrict" in said(looked_at(Profiler(hidden)))["time in the kernel's functions"].way
    )


class Asking:
    """A server that notes what it is asked."""

    place, pid = None, 4242

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, *asks: str) -> list[Rows]:
        self.asked += asks
        return [[[ask]] for ask in asks]


def test_only_questions_that_read_are_sent() -> None:
    """What an adapter would change for a study of its own is left undone, its place kept."""
    asking = Asking()
    ask = ReadingAsk(asking)  # type: ignore[arg-type]
    answers = ask("SELECT 1", "CREATE EXTENSION x", "SHOW y", "SET GLOBAL z = 1", "config get *")
    assert asking.asked == ["SELECT 1", "SHOW y", "config get *"]
    assert answers == [[["SELECT 1"]], [], [["SHOW y"]], [], [["config get *"]]]
    assert ask("FLUSHALL") == [[]]


def test_a_question_about_settings_is_sent_once() -> None:
    """Hundreds of levels are read back by a few questions."""
    asking = Asking()
    ask = ReadingAsk(asking)  # type: ignore[arg-type]
    ask.kept = {}
    assert ask("SHOW x", "SHOW x") == ask("SHOW x", "SHOW x")
    assert asking.asked == ["SHOW x"]


class Answering(Conversation):
    """PostgreSQL that counts, and has waits."""

    def __init__(self, error: str = "") -> None:
        super().__init__(POSTGRESQL, ReadingAsk(Asking()))  # type: ignore[arg-type]
        object.__setattr__(self, "error", error)
        object.__setattr__(self, "n", [0])

    def counters(self) -> dict[str, float]:
        self.n[0] += 1
        if self.error and self.n[0] > 1:
            raise RunError(self.error)
        return {"blks_read": 100.0 * self.n[0], "numbackends": 9.0}

    def look(self, seconds: float) -> dict[str, float]:
        return {"wait_ns.IO/WALSync": 1e9, "running_ns": 3e9, "wait_samples": 20.0}

    def _levels(self) -> Any:
        return {"postgresql.shared_buffers": "1MB"}, {"shared_buffers": "1MB"}


def test_a_server_that_answers_is_asked_before_and_after() -> None:
    """Growth, waits with the number of looks that they rest on, levels, connections."""
    answers = looked_at(conversation=Answering()).answers
    assert answers is not None
    assert answers.counters["blks_read"] == 100.0
    assert answers.waited_ns == {"IO/WALSync": 1e9}
    assert answers.looks == 40
    assert answers.levels == {"postgresql.shared_buffers": "1MB"}
    assert answers.connections == 8


def test_a_server_that_stops_answering_loses_its_statistics_only() -> None:
    """With the reason."""
    found = looked_at(conversation=Answering("the server closed the connection"))
    assert found.answers is None
    assert found.profile is not None
    why = said(found)["the server's own statistics, waits and settings"].why
    assert why == "the server closed the connection"


@pytest.mark.parametrize(("kind", "why"), [("", "cannot ask"), ("nginx", "cannot ask")])
def test_a_kind_that_cannot_be_asked_says_which_can(kind: str, why: str) -> None:
    """Without a connection to anything."""
    found = converse(server(kind))
    assert isinstance(found, Unseen)
    assert why in found.why
    assert "mariadb" in found.way
