"""`perf stat` as it prints for people: the same counts, reasons and figures as with `-x,`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.core.errors import InputError
from assay.counters import models, recording, totals
from assay.counters.perf_text import is_for_people, read_perf_text
from perf_stat_samples import BROADWELL, DECK_FOR_PEOPLE


def values(text: str) -> dict[str, float | None]:
    """Sums by event."""
    return {n: c.value for n, c in totals(read_perf_text(text)).items()}


def test_the_decks_recording_is_read_with_reasons_where_it_has_no_counts() -> None:
    """The command's own output before the heading, and the times after it, are no events."""
    found = totals(read_perf_text(DECK_FOR_PEOPLE))
    assert len(found) == 12
    assert found["dTLB-loads"].value == 4_449_356_965_642_820
    assert (found["task-clock"].value, found["task-clock"].unit) == (1003.24, "msec")
    assert found["cache-misses"].value is None
    assert found["cache-misses"].why == "multiplexed: counted in 36.36 % of the time"
    assert found["i-main-memory-reads"].why == "not supported by this processor"


def test_the_decks_own_events_have_the_headroom_of_the_walks_it_counts() -> None:
    """0.612 % of the cycles, as its slide has it; walks for stores were not asked for."""
    found = {f.name: f for f in recording(DECK_FOR_PEOPLE, models()["broadwell"]).figures}
    assert found["counted_walk_cycles_per_cycle"].value == pytest.approx(0.00612, abs=5e-6)
    assert found["headroom_of_counted_walks"].value == pytest.approx(0.00612 / 0.99388, abs=5e-6)
    assert found["headroom"].value is None
    assert "dtlb_store_walk_cycles was not asked for" in found["headroom"].why


def test_large_counts_are_printed_in_full(tmp_path: Path) -> None:
    """Not as 1.25311107542555e+16, and the bound says of which walks it is."""
    path = tmp_path / "perf.stat.001"
    path.write_text(DECK_FOR_PEOPLE)
    done = CliRunner().invoke(app, ["perf-stat", str(path), "--model", "broadwell"])
    assert done.exit_code == 0, done.stderr
    assert "12,531,110,754,255,500" in done.stdout
    assert "e+1" not in done.stdout
    assert "d-cycles-waited (dtlb_load_walk_cycles)" in done.stdout
    assert "the gain is at most +0.62 %" in done.stdout


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("4,449,356      cycles", 4449356.0),
        ("4.449.356      cycles", 4449356.0),
        ("4 449 356      cycles", 4449356.0),
        ("4\u202f449\u202f356      cycles      (100,00%)", 4449356.0),
        ("4\u2019449\u2019356      cycles", 4449356.0),
        ("44,49,356      cycles", 4449356.0),
        ("4449356      cycles      ( +-  0,16% )", 4449356.0),
        ("1.003,24 msec cycles", 1003.24),
        ("1003.24      cycles (msec)", 1003.24),
        ("1,5      cycles", 1.5),
    ],
)
def test_numbers_of_every_locale_are_read(line: str, value: float) -> None:
    """Groups of three, or of two and three; perf prints two decimals or none."""
    assert is_for_people(line)
    assert values(line) == {"cycles": value}


def test_intervals_and_cpus_are_added_up() -> None:
    """`perf stat -I 1000 -A`: a heading of its own, which comes again."""
    text = (
        "#           time CPU             counts unit events\n"
        "     1.000123456 CPU0         1,000,000      cycles\n"
        "     1.000123456 CPU1         2,000,000      cycles\n"
        "#           time CPU             counts unit events\n"
        "     2.000123456 CPU0         3,000,000      cycles\n"
    )
    assert is_for_people(text)
    assert values(text) == {"cycles": 6e6}
    assert [c.cpu for c in read_perf_text(text)] == [0, 1, 0]


def test_what_is_no_event_is_named_with_its_line() -> None:
    """And a file with two recordings is refused: their counts are not one."""
    assert not is_for_people(BROADWELL)
    with pytest.raises(InputError, match="line 2 is not of `perf stat`"):
        read_perf_text("1,000 cycles\nand so on\n")
    with pytest.raises(InputError, match="lines 3, 23 each begin a recording"):
        read_perf_text(DECK_FOR_PEOPLE * 2)
