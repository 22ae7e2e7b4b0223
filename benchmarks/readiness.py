"""How long does the census of a file take beside a disassembler piped to grep?

Contestants run in turns whose order rotates, over the same files:

    census         `assayer census`: every counter, helper, loop and guard
    objdump        `objdump -d | grep -c` for atomics and hints: published advice
    llvm-objdump   the same with LLVM's, its features named

and beside them `assay inspect` from end to end, where it is installed. The file is Debian's
mariadbd for arm64, fetched once; with --large also Debian's largest, chromium, whose turns take a
minute or more each: fewer rounds. All contestants read from the page cache: each file is read
once before.

Wall-clock seconds are compared round by round. On a machine that does other work they say little:
beside them stands the processor time of the quickest round, all threads and processes summed.

Memory is the largest resident set of the census, the mapped file included, against the file's size.

    python benchmarks/readiness.py [--quick] [--json] [--rounds N] [--large]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from outcome import Row, write_json
from packages import program

import assay
from assay.native import find_assayer

PATTERN = r"cas|swp|ld(add|clr|eor|set)|st(add|clr|eor|set)|ldxr|ldaxr|stxr|yield|isb|wfe|crc32"
FEATURES = "+v8.7a,+lse,+crc,+crypto,+aes,+sha2,+sha3,+sm4,+sve,+sve2,+mte,+rcpc"
ROUNDS = 7
LARGE_ROUNDS = 3
CENSUS, INSPECT, OBJDUMP, LLVM = "census", "assay inspect", "objdump", "llvm-objdump"
GOALS = {CENSUS: 100.0, INSPECT: 10.0}
MEMORY_GOAL = 1.5
LARGEST_GOAL_S = 1.0
PACKAGES = {"llvm-objdump": "llvm", "aarch64-linux-gnu-objdump": "binutils-aarch64-linux-gnu"}
"""Of Debian, by the program that is needed of them."""
PATIENCE = 100
"""Looks at a resident set that has not grown before it is believed; 10 ms apart."""


@dataclass(frozen=True)
class Subject:
    """A file that contestants read."""

    name: str
    path: Path
    is_largest: bool = False


@dataclass(frozen=True)
class Turn:
    """What one run took, in seconds."""

    wall: float
    processor: float


def subjects(is_quick: bool, with_largest: bool) -> list[Subject]:
    """The files; a quick look takes a small program of this machine."""
    if is_quick:
        return [Subject("sh", Path("/bin/sh").resolve())]
    say("mariadbd: from Debian's mariadb-server-core:arm64 (7 MB), kept in the user's cache")
    found = [Subject("mariadbd", program("mariadb-server-core", "arm64", "usr/sbin/mariadbd"))]
    if with_largest:
        say(
            "chromium: from Debian's chromium:arm64 (70 MB, 280 MB unpacked), kept in the user's"
            f" cache; at most {LARGE_ROUNDS} rounds, because objdump takes minutes"
        )
        path = program("chromium", "arm64", "usr/lib/chromium/chromium")
        found.append(Subject("chromium", path, is_largest=True))
    return found


def say(words: str) -> None:
    """A remark beside the table."""
    sys.stderr.write(f"{words}\n")


def has(tool: str) -> bool:
    """Whether a disassembler is there; says which package it is in if not."""
    if shutil.which(tool):
        return True
    say(f"{tool} is not installed (Debian's package {PACKAGES.get(tool, 'binutils')}): left out")
    return False


def commands(path: Path, arch: str) -> dict[str, list[str]]:
    """What each contestant runs."""
    tool = "aarch64-linux-gnu-objdump" if arch == "arm64" else "objdump"
    features = [f"--mattr={FEATURES}"] if arch == "arm64" else []
    piped = f"| grep -cE '{PATTERN}'"
    told = {CENSUS: [str(find_assayer()), "census"]}
    if has(tool):
        told[OBJDUMP] = ["sh", "-c", f'{tool} -d --no-show-raw-insn "$0" {piped}', str(path)]
    if has("llvm-objdump"):
        llvm = " ".join(["llvm-objdump -d --no-show-raw-insn", *features])
        told[LLVM] = ["sh", "-c", f'{llvm} "$0" {piped}', str(path)]
    script = shutil.which("assay", path=str(Path(sys.executable).parent))
    if (
        script
        and subprocess.run([script, "inspect", "--help"], capture_output=True).returncode == 0
    ):
        told[INSPECT] = [script, "inspect", "--json", str(path)]
    return told


def turn(command: list[str], path: Path) -> Turn:
    """One run."""
    request = json.dumps({"paths": [str(path)]}).encode()
    before, started = processor_time(), time.perf_counter()
    subprocess.run(
        command, input=request, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return Turn(time.perf_counter() - started, processor_time() - before)


def processor_time() -> float:
    """Seconds of all children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident(path: Path) -> int:
    """The census's largest resident set in bytes, from /proc while it waits to be read from.

    The kernel's number for a child that has ended would be that of this Python, if it is larger.
    """
    request = json.dumps({"paths": [str(path)] * 64}).encode()  # more than a pipe holds
    with subprocess.Popen(
        [str(find_assayer()), "census"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.close()
        largest, unchanged = 0, 0
        while unchanged < PATIENCE and process.poll() is None:
            time.sleep(0.01)
            status = Path(f"/proc/{process.pid}/status").read_text()
            lines = (line for line in status.splitlines() if line.startswith("VmHWM:"))
            now = int(next(lines, "VmHWM: 0 kB").split()[1]) * 1024
            unchanged = 0 if now > largest else unchanged + 1
            largest = max(largest, now)
        process.kill()
    return largest


def measure(subject: Subject, rounds: int) -> tuple[dict[str, list[Turn]], int]:
    """The turns of every contestant, one a round; and the census's memory."""
    arch = "arm64" if subject.path.read_bytes()[18:20] == b"\xb7\x00" else "amd64"
    told = commands(subject.path, arch)
    turns: dict[str, list[Turn]] = {name: [] for name in told}
    for number in range(rounds):
        order = list(told)[number % len(told) :] + list(told)[: number % len(told)]
        for name in order:
            turns[name].append(turn(told[name], subject.path))
    return turns, resident(subject.path)


def against(subject: Subject, turns: dict[str, list[Turn]], ours: str, rival: str) -> Row:
    """How many times faster ours is by the clock; `low` and `high` bound that, and are those of the
    rounds where these are too few for an interval."""
    seconds = {name: [turn.wall for turn in turns[name]] for name in (ours, rival)}
    runs = [
        (block, arm, 1 / took) for arm in (ours, rival) for block, took in enumerate(seconds[arm])
    ]
    verdict = assay.decide(runs, baseline=rival).verdicts[ours]
    if verdict.low is None or verdict.high is None:
        of_rounds = [b / a for a, b in zip(seconds[ours], seconds[rival], strict=True)]
        low, high, when = min(of_rounds), max(of_rounds), " in each round"
    else:
        low, high, when = 1 + verdict.low, 1 + verdict.high, ""
    mine, theirs = (statistics.median(taken) for taken in seconds.values())
    goal = GOALS[ours]
    return Row(
        f"{subject.name}: {ours}", rival, "s", mine, theirs, 1 + verdict.estimate, low, high,
        f">= {goal:g}x{when}", low >= goal,
    )  # fmt: skip


def by_processor(subject: Subject, turns: dict[str, list[Turn]], ours: str, rival: str) -> Row:
    """The same of the processor time of the quickest turn of each; no goal."""
    mine, theirs = (min(turn.processor for turn in turns[name]) for name in (ours, rival))
    name = f"{subject.name}: {ours}, CPU"
    return Row(name, rival, "s", mine, theirs, theirs / max(mine, 1e-3))


def rows_of(subject: Subject, rounds: int) -> list[Row]:
    """Everything about one file."""
    if subject.is_largest:
        rounds = min(rounds, LARGE_ROUNDS)
    turns, memory = measure(subject, rounds)
    rivals = [name for name in (OBJDUMP, LLVM) if name in turns]
    ours = [name for name in (CENSUS, INSPECT) if name in turns]
    pairs = [(mine, rival) for mine in ours for rival in rivals]
    rows = [against(subject, turns, mine, rival) for mine, rival in pairs]
    rows += [by_processor(subject, turns, mine, rival) for mine, rival in pairs]
    share = memory / subject.path.stat().st_size
    rows.append(
        Row(f"{subject.name}: memory", "the file", "times", share, 1.0, share,
            goal=f"< {MEMORY_GOAL:g}x", met=share < MEMORY_GOAL)
    )  # fmt: skip
    if subject.is_largest:
        took = statistics.median(turn.wall for turn in turns[CENSUS])
        met = took < LARGEST_GOAL_S
        rows.append(Row(f"{subject.name}: census", "", "s", took, goal="< 1 s", met=met))
    return rows


def table(rows: list[Row]) -> str:
    """The rows for people."""
    lines = [f"{'':29s} {'ours':>9s} {'theirs':>9s} {'':6s} {'ratio':24s} goal"]
    for row in rows:
        theirs = "" if row.theirs is None else f"{row.theirs:.3f}"
        bounds = "" if row.low is None or row.high is None else f" [{row.low:.1f}, {row.high:.1f}]"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}{bounds}"
        goal = f"{row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
        pair = f"{row.metric:29s} {row.ours:9.3f} {theirs:>9s} {row.unit:6s}"
        lines.append(f"{pair} {ratio:24s} {goal:14s} {row.rival}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small file, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times that everything is run")
    parser.add_argument("--large", action="store_true", help="also chromium: 70 MB are fetched")
    options = parser.parse_args(arguments)
    rounds = 3 if options.quick else options.rounds
    rows = []
    for subject in subjects(options.quick, options.large):
        rows += rows_of(subject, rounds)
    if options.json:
        write_json("readiness", rows)
    else:
        print(table(rows))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
