"""How much of a server's time a mechanism takes, by each kind of evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.diagnosis.looks import (
    InCalls,
    InCode,
    InSoftirqs,
    InWaits,
    InWalks,
    OnDisk,
    TimeShare,
    address_of,
    together,
)
from assay.diagnosis.records import HotCode, ServerAnswers, ThreadWait
from assay.stats.proportion import wilson
from diagnosis_kit import cpu_seconds, gathered, profile


def share_of(found: TimeShare | str) -> tuple[float, float, float]:
    assert isinstance(found, TimeShare), found
    assert found.share.low is not None
    assert found.share.high is not None
    return found.share.low, found.share.value, found.share.high


def test_a_function_counts_by_its_name_with_the_interval_of_its_samples() -> None:
    """Of 1000 samples 300."""
    seen = gathered(chains={("main", "ut_crc32"): 300, ("main",): 700})
    assert share_of(InCode("crc32").seen(seen)) == (
        *wilson(300, 1000)[:1],
        0.3,
        wilson(300, 1000)[1],
    )


def test_a_stripped_function_counts_by_what_it_holds_else_in_the_upper_end() -> None:
    """One was looked into and holds the instruction, one was not looked into."""
    known, other = "[server]+0x10", "[server]+0x90 (before x)"
    code = [HotCode(known, "server", {"crc32": 4}, False)]
    seen = gathered(chains={(known,): 100, (other,): 200, ("main",): 700}, code=code)
    low, value, high = share_of(InCode("crc32", ("crc32",)).seen(seen))
    assert value == 0.1
    assert low == wilson(100, 1000)[0]
    assert high == wilson(300, 1000)[1]


def test_a_stripped_function_that_was_looked_into_and_holds_nothing_of_it_does_not_count() -> None:
    """Then it is known to be something else."""
    code = [HotCode("[server]+0x10", "server", {"insns": 9}, False)]
    seen = gathered(chains={("[server]+0x10",): 300, ("main",): 700}, code=code)
    assert share_of(InCode("crc32", ("crc32",)).seen(seen))[1:] == (0.0, wilson(0, 1000)[1])


def test_a_spinning_function_counts_because_its_loop_waits() -> None:
    """Whatever it is called."""
    code = [HotCode("[server]+0x10", "server", {"pause": 1}, True)]
    seen = gathered(chains={("[server]+0x10",): 900, ("main",): 100}, code=code)
    assert share_of(InCode(spins=True).seen(seen))[1] == 0.9


def test_calls_count_with_all_that_they_call_and_once_a_sample() -> None:
    """A chain with the call twice is one sample."""
    call = "__x64_sys_pread64"
    seen = gathered(chains={("main", call, "copy", call): 250, ("main",): 750})
    assert share_of(InCalls("_sys_pread").seen(seen))[1] == 0.25


@pytest.mark.parametrize("names", [("main", "[kernel]"), ("main",)])
def test_kernel_functions_that_are_hidden_bound_nothing(names: tuple[str, ...]) -> None:
    """Without names or without samples of them."""
    hidden = profile({names: 10}, kernel=len(names) > 1)
    assert InCalls("_sys_pread").seen(gathered(profile=hidden)) == (
        "the kernel's functions are not seen here"
    )


def test_without_a_profile_each_look_says_so() -> None:
    """Never a number."""
    seen = gathered()
    assert InCode("x").seen(seen) == "there is no profile"
    assert InCalls("x").seen(seen) == "there is no profile"
    assert InWalks().seen(seen) == "page walks are not counted here"
    assert OnDisk().seen(seen) == "states of its threads are not seen here"
    assert InSoftirqs().seen(seen) == "times of the CPUs are not seen here"
    assert InWaits("x").seen(seen) == "waits of statements are not counted here"
    both = together((InCode("x"), InCalls("x"), InWalks()), seen)
    assert both == "there is no profile; page walks are not counted here"


def test_waits_are_a_share_of_the_time_of_statements() -> None:
    """By looks they have an interval, by the server's clock none."""
    waited = {"IO/DataFileRead": 3e9, "Lock/tuple": 1e9}
    looked = ServerAnswers(waited_ns=waited, running_ns=6e9, looks=100)
    low, value, high = share_of(InWaits("^IO/").seen(gathered(answers=looked)))
    assert (low, value, high) == (wilson(30, 100)[0], 0.3, wilson(30, 100)[1])
    timed = ServerAnswers(waited_ns=waited, running_ns=6e9)
    assert share_of(InWaits("^IO/").seen(gathered(answers=timed))) == (0.3, 0.3, 0.3)


def test_what_some_look_cannot_see_is_not_bounded() -> None:
    """Else faults alone would rule out what acts on page walks too."""
    found = together((InCalls("fault"), InWalks()), gathered(chains={("main",): 1000}))
    assert isinstance(found, TimeShare)
    assert found.share.high is None
    assert found.lacking == ("page walks are not counted here",)


def test_waits_for_the_disk_are_a_share_of_the_time_in_which_threads_work() -> None:
    """Sleeping threads have nothing to do."""
    threads = [ThreadWait("w", s, "", x) for s, x in (("S", 0.6), ("D", 0.1), ("R", 0.3))]
    seen = gathered(threads=threads, thread_looks=1000)
    assert share_of(OnDisk().seen(seen))[1] == pytest.approx(0.25)


def test_waits_for_the_disk_that_may_be_for_something_else_are_not_sure() -> None:
    """They bound from above only."""
    threads = [ThreadWait("w", "D", "", 1.0)]
    low, value, high = share_of(OnDisk(sure=False).seen(gathered(threads=threads, thread_looks=99)))
    assert (low, value) == (0.0, 1.0)
    assert high > 0.99


def test_the_kernels_own_functions_are_nobodys_checksums() -> None:
    """A file system computes them too."""
    seen = gathered(profile=profile({("crc32c_x86",): 500, ("main",): 500}, module="[kernel]"))
    assert share_of(InCode("crc32").seen(seen))[1] == 0.0


def test_soft_interrupts_count_above_those_of_the_next_cpu() -> None:
    """Where they are even, steering has nothing to move."""
    assert share_of(InSoftirqs().seen(gathered(cpus=cpu_seconds(0.5, 0.1))))[1] == pytest.approx(
        0.4
    )
    assert share_of(InSoftirqs().seen(gathered(cpus=cpu_seconds(0.3, 0.3))))[1] == 0.0


def test_soft_interrupts_that_no_other_cpu_has_time_for_cannot_be_moved() -> None:
    """Both CPUs are busy: steering would only shift the work."""
    full, other = cpu_seconds(0.5, 0.1)
    busy = [full, replace(other, user=0.9)]
    assert share_of(InSoftirqs().seen(gathered(cpus=busy)))[1] == 0.0


def test_an_address_is_read_out_of_a_name() -> None:
    """As profiles write it."""
    assert address_of("[libx.so.1]+0x79e4f0 (before NAME)") == 0x79E4F0
    assert address_of("[libx.so.1]+unknown") is None
    assert address_of("main") is None


def test_the_interval_of_a_proportion_is_wilsons() -> None:
    """A value of the literature: 81 of 263 (Newcombe, 1998), and nothing known of no trials."""
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert wilson(0, 0) == (0.0, 1.0)
