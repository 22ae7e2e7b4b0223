"""What `perf stat` prints for people, as the counts of `perf_stat`.

    TIME  CPU0  4,449,356,965  msec  task-clock  #  0.999 CPUs utilized  (36.36%)

TIME with -I, CPU0 with -A, a unit only for clocks and energies. The share of the time is printed
only where an event took turns with others; without it, it was counted throughout. Thousands are
separated as the locale of the recording has it: 4,449,356  4.449.356  4 449 356  4'449'356.

Lines before the heading (a command's own output) and after the elapsed time are not read.
"""

from __future__ import annotations

import re

from assay.core.errors import InputError
from assay.counters.perf_stat import NO_COUNTS, WHOLE, Count, multiplexed

_HEADING = "Performance counter stats for"
_INTERVALS = re.compile(r"#\s+time\b.*\bcounts\b")
_SEPARATORS = ",.'\u2019 \u00a0\u2009\u202f"
_NUMBER = (
    rf"\d{{1,3}}(?:[{_SEPARATORS}]\d{{2,3}})*[{_SEPARATORS}]\d{{3}}(?:[.,]\d\d)?|\d+(?:[.,]\d+)?"
)
_EVENT = re.compile(
    r"\s*(?:(?P<time>\d+[.,]\d{9})\s+)?(?:CPU(?P<cpu>\d+)\s+)?"
    rf"(?P<value>{_NUMBER}|<not counted>|<not supported>)\s+(?P<what>\S.*?)\s*"
)
_SHARE = re.compile(r"\((\d+[.,]\d\d)%\)")
_SPREAD = re.compile(r"\(\s*\+-\s*[\d.,]+%\s*\)")
_DECIMALS = re.compile(r"[.,](\d{1,2})")
_END = re.compile(r"\s*[\d.,]+\s+(?:\+-\s+[\d.,]+\s+)?seconds time elapsed.*")


def is_for_people(text: str) -> bool:
    """Whether it is this form, and not that of `-x`."""
    lines = text.splitlines()
    if any(_HEADING in line or _INTERVALS.match(line) for line in lines):
        return True
    first = next((x for x in lines if x.strip() and not x.lstrip().startswith("#")), "")
    return _event(first) is not None


def read_perf_text(text: str) -> list[Count]:
    """Every event of one recording. InputError names a line that is none, or a second recording."""
    lines = text.splitlines()
    headings = [number for number, line in enumerate(lines) if _HEADING in line]
    if len(headings) > 1:
        raise InputError(
            f"lines {', '.join(str(n + 1) for n in headings)} each begin a recording",
            next_step="put each of them into a file of its own",
        )
    begin = headings[0] + 1 if headings else 0
    counts = []
    for number, line in enumerate(lines[begin:], begin + 1):
        if _END.fullmatch(line):
            break
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _event(line)
        if found is None:
            raise InputError(
                f"line {number} is not of `perf stat`: {line[:80]!r}",
                next_step="leave that line out, or record with `perf stat -x, -o FILE ...`",
            )
        counts.append(found)
    return counts


def _event(line: str) -> Count | None:
    """The event of a line; None if it has none."""
    share = _SHARE.search(line)
    plain = _SPREAD.sub("", _SHARE.sub("", line)).split(" #")[0]
    match = _EVENT.fullmatch(plain)
    words = match["what"].split() if match else []
    if match is None or len(words) > 2:
        return None
    # Old versions of perf print the unit after the event: task-clock (msec).
    words = [words[1].strip("()"), words[0]] if words[-1].startswith("(") else words
    unit, event = words if len(words) == 2 else ("", words[0])
    running = float(share[1].replace(",", ".")) / 100 if share else 1.0
    why = NO_COUNTS.get(match["value"], "" if running >= WHOLE else multiplexed(running))
    at_s = float(match["time"].replace(",", ".")) if match["time"] else None
    cpu = int(match["cpu"]) if match["cpu"] else None
    return Count(event, None if why else _number(match["value"]), unit, running, why, at_s, cpu)


def _number(text: str) -> float:
    """A number with thousands separated in any way; perf prints two decimals, or none."""
    decimals = _DECIMALS.search(text, max(0, len(text) - 3))
    whole = text[: decimals.start()] if decimals and decimals.end() == len(text) else text
    digits = "".join(c for c in whole if c.isdigit())
    return float(f"{digits}.{decimals[1]}" if decimals and whole != text else digits)
