"""What a stranger wrote cannot steer the terminal that shows it."""

from __future__ import annotations

import json

import pytest
import typer
from rich.table import Table

from assay.cli._output import complain, guarded, story, tell, tell_json, tell_tables
from assay.core.errors import AlteredError
from assay.report import Line

EVIL = "arm\x1b[2J\x1b]0;title\x07 \x9b31m \u202egreen\u2066 \u2028verified"
STEERING = "\x1b\x07\x9b\u202e\u2066\u2028"


def test_no_line_table_complaint_or_remark_steers_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Escapes, C1 and marks of direction are shown, not obeyed."""
    table = Table("name")
    table.add_row(EVIL)
    tell([Line(EVIL)])
    tell_tables([table])
    complain(EVIL, EVIL)
    story().print(EVIL)
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert not set(text) & set(STEERING)
        assert r"\x1b[2J" in text
        assert r"\u202egreen" in text


def test_words_that_look_like_markup_are_shown_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A name is no colour and no link."""
    story().print("[link=http://x]arm[/link]")
    assert capsys.readouterr().err == "[link=http://x]arm[/link]\n"


def test_json_means_the_same_and_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Other letters stay letters."""
    told = {"name": EVIL + "é\U000e0001\ud800"}
    tell_json(told)
    text = capsys.readouterr().out
    assert not set(text) & set(STEERING)
    assert "é" in text
    assert json.loads(text) == told


@pytest.mark.parametrize(
    ("error", "code"), [(KeyError("frames"), 2), (RecursionError(), 2), (AlteredError("x"), 1)]
)
def test_an_error_that_nobody_foresaw_is_one_sentence(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """And is no answer: its exit code is not that of a "no"."""

    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    assert ended.value.exit_code == code
    assert "Traceback" not in capsys.readouterr().err
