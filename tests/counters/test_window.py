"""Counting beside a window: by marks, for real, and what becomes of what could not be counted."""

from __future__ import annotations

import mmap
import os
import shutil
import time

import pytest

from assay import native
from assay.core.errors import MissingError, RunError
from assay.counters import GROUPS, CounterRequest, Counting, asked, callgrind, probe
from assay.counters.window import counted
from assay.host import host_facts


def manifest(*counters: str, levels: tuple[str, ...] = ()) -> dict:
    return {
        "counters": list(counters),
        "levels": list(levels),
        "absent": {},
        "started_s": 100.0,
    }


def sample(at_s: float, mark: int | None, *values: int | None) -> native.Sample:
    return native.Sample(at_s=at_s, mark=mark, values=list(values))


def test_what_counts_is_what_happened_between_the_first_mark_and_the_last() -> None:
    """Growth before and after belongs to nobody; a level is its last state."""
    samples = [
        sample(1.0, None, 5, 1),
        sample(2.0, 0, 7, 2),
        sample(3.0, 1, 9, 3),
        sample(4.0, 2, 20, 4),
        sample(5.0, None, 99, 5),
    ]
    found = counted(
        manifest("vm.x", "process.rss_bytes", levels=("process.rss_bytes",)),
        samples,
        0.1,
        [101.9, 102.5, 103.7],
    )
    assert found.late_s == pytest.approx(0.3)
    assert found.totals == {"vm.x": 13.0, "process.rss_bytes": 4.0}
    assert found.span_s == pytest.approx(2.0)


def test_what_could_not_be_read_at_either_end_has_no_total() -> None:
    """Rather than one of a part of the window."""
    samples = [sample(1.0, 0, 5, None), sample(2.0, 1, None, 7)]
    assert counted(manifest("vm.x", "vm.y"), samples, 0.0, [101.0, 102.0]).totals == {}


def test_without_two_marks_there_is_no_window() -> None:
    """A run that ended early."""
    assert counted(manifest("vm.x"), [sample(1.0, 0, 5)], 0.0, [101.0]).span_s is None


def test_an_event_that_took_turns_has_its_share_and_no_number() -> None:
    """Over the window, not since the start."""
    names = [f"perf.{e}{p}" for e in ("a", "b", "c") for p in ("", ":enabled_ns", ":running_ns")]
    samples = [
        sample(1.0, 0, 1, 10, 5, 1, 10, 10, 0, 0, 0),
        sample(2.0, 1, 9, 30, 25, 9, 30, 20, 0, 0, 0),
    ]
    found = counted(manifest(*names), samples, 0.0, [101.0, 102.0])
    assert found.events["a"].value == 8.0
    assert (found.events["b"].value, found.events["b"].running) == (None, 0.5)
    assert "50.00 % of the time" in found.events["b"].why
    assert found.events["c"].value is None
    assert found.totals == {}


def marked(counting: Counting, count: int) -> None:
    """Waits until so many marks were answered."""
    heard = counting._reader.heard
    while sum(isinstance(m, native.Sample) and m.mark is not None for m in heard) < count:
        assert counting._reader.is_alive()
        time.sleep(0.005)


def test_memory_touched_between_two_marks_is_seen_by_a_real_sampler() -> None:
    """4096 pages of this process, and what the sampler itself cost."""
    counting = Counting(asked(["process", "vm"], host_facts()), os.getpid())
    try:
        counting.mark()
        marked(counting, 1)
        with mmap.mmap(-1, 16 << 20) as block:
            block.madvise(mmap.MADV_NOHUGEPAGE)
            for offset in range(0, 16 << 20, 4096):
                block[offset] = 1
            counting.mark()
            marked(counting, 2)
        found = counting.finish()
    finally:
        counting.stop()
    assert found.totals["process.minor_faults"] >= 4096
    assert found.totals["vm.pgfault"] >= 4096
    assert found.span_s > 0
    assert found.cpu_s > 0


def test_a_sampler_that_was_killed_says_so() -> None:
    """The run that wanted its counters has failed."""
    counting = Counting(CounterRequest(("vm",), (), {}), None)
    counting.mark()
    counting._session.process.kill()
    with pytest.raises(RunError, match="counting during the run failed"):
        counting.finish()
    counting.stop()


def test_a_server_that_is_gone_fails_the_run_and_not_the_study() -> None:
    """Its number names nobody."""
    counting = Counting(CounterRequest(("process",), (), {}), 4_000_000_000)
    counting.mark()
    with pytest.raises(RunError, match="there is no process 4000000000"):
        counting.finish()


def test_probing_this_machine_says_of_every_group_whether_it_is_here() -> None:
    """Whatever is here is opened; whatever is not has a reason."""
    facts = host_facts()
    absent = probe(asked(["cpu", "softnet", "vm", "process", "energy", "perf"], facts), os.getpid())
    assert not {"cpu", "softnet", "vm", "process"} & absent.keys()
    assert all(absent.values())
    assert ("perf.cycles, perf.instructions" in absent) is not facts["can"]["pmu"]["ok"]
    assert set(absent) <= {*GROUPS, *(k for k in absent if k.startswith("perf."))}


@pytest.mark.server
def test_callgrind_counts_the_same_instructions_each_time() -> None:
    """And says what they are. Where it is not installed, that is said."""
    if shutil.which("valgrind") is None:
        with pytest.raises(MissingError, match=callgrind.MISSING):
            callgrind.count(["true"])
        return
    first = callgrind.count(["true"])
    assert first.count > 1000
    assert "callgrind" in first.label
    with pytest.raises(RunError, match="failed under valgrind"):
        callgrind.count(["false"])


def test_a_callgrind_file_of_several_parts_is_added_up() -> None:
    """And one without instructions is refused."""
    text = "version: 1\nevents: Ir\nsummary: 5\nfn=main\n1 5\ntotals: 5\n"
    assert callgrind.read(text) == 5
    assert callgrind.read(text + text.replace("5", "7")) == 12
    assert callgrind.read("events: Ir\nsummary: 9\n") == 9
    for wrong in ("", "events: Dr\ntotals: 5\n", "events: Ir\n"):
        with pytest.raises(RunError, match="no count of instructions"):
            callgrind.read(wrong)
