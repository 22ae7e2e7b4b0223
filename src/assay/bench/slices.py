"""Runs that are made of slices: of arms that live side by side and take turns, or of one alone.

Each arm's run lives in a thread of its own, as it would alone; the processes that measure hand the
turn over among themselves, on a board. An arm that fails, or whose run is void, spoils the block
for all of its case, which is run again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from assay.bench.life import Job, live
from assay.plan import rounds_of, turns
from assay.plan.measuring import CALIBRATE_S
from assay.record import RunRecord
from assay.targets import Slices

BOARD_BYTES = 4096
LOST_OFFSET = 8
"""Of the board's word that says who gave up (`slices/board.rs` of the native half)."""

GAVE_UP = "gave up its slices"
"""What an arm says that ended only because another did."""


def live_side_by_side(jobs: Sequence[Job]) -> list[RunRecord]:
    """The runs of one case in one block, in the order of `jobs`; one void run if any was spoiled.

    The arms warm up at the same time and share the CPUs, so each has the time of all. Raises what
    `live` raises, once every arm has ended.
    """
    step, study = jobs[0].step, jobs[0].study
    rounds = rounds_of(study.window_s, study.slice_s)
    order = turns(jobs[0].seed, step.case, step.block, step.attempt, len(jobs), rounds)
    warming = replace(study, warmup_s=study.warmup_s * len(jobs))
    jobs = [replace(job, study=warming) for job in jobs]
    with _board() as board, ThreadPoolExecutor(len(jobs), "arm") as pool:
        arms = [_slices(job, board, arm, order) for arm, job in enumerate(jobs)]
        futures = [
            pool.submit(_live, replace(job, slices=arm))
            for job, arm in zip(jobs, arms, strict=True)
        ]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            # Nobody is to wait for a turn that will not come.
            if not all(future.done() for future in futures):
                _give_up(arms[0])
    return _whole([future.result() for future in futures])


def live_calibrated(job: Job) -> RunRecord:
    """A run of one arm alone, in slices with a calibration between them. Raises as `live`."""
    study = job.study
    order = (0,) * rounds_of(study.window_s, study.slice_s)
    with _board() as board:
        slices = replace(_slices(job, board, 0, order), calibrate_s=CALIBRATE_S)
        return live(replace(job, slices=slices))


def _slices(job: Job, board: Path, arm: int, order: tuple[int, ...]) -> Slices:
    return Slices(board, arm, order, job.study.slice_s, job.study.lead_s)


def _live(job: Job) -> RunRecord:
    """One arm's run; if it ends badly, the others are told."""
    assert job.slices is not None
    try:
        record = live(job)
    except BaseException:
        _give_up(job.slices)
        raise
    if record.status == "failed":
        _give_up(job.slices)
    return record


def _whole(records: list[RunRecord]) -> list[RunRecord]:
    """All of them, or one void run in the place of the first, with the reason of the culprit."""
    # They lived at the same time: the block took what one of them took.
    records = [r.model_copy(update={"took_s": r.took_s / len(records)}) for r in records]
    spoiled = [r for r in records if r.status != "ok"]
    if not spoiled:
        return records
    culprit = next((r for r in spoiled if GAVE_UP not in r.reason), spoiled[0])
    reason = f"arm {culprit.arm}: {culprit.reason}"
    return [records[0].model_copy(update={"status": "void", "reason": reason})]


@contextmanager
def _board() -> Iterator[Path]:
    """Memory with a place in /proc, so that nothing of it is left by whatever end."""
    board = os.memfd_create("assay-board")
    try:
        os.truncate(board, BOARD_BYTES)
        yield Path(f"/proc/{os.getpid()}/fd/{board}")
    finally:
        os.close(board)


def _give_up(slices: Slices) -> None:
    """What the native half does when it gives up: its number, counted from one."""
    descriptor = os.open(slices.board, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, struct.pack("=I", slices.arm + 1), LOST_OFFSET)
    finally:
        os.close(descriptor)
