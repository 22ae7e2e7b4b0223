"""Lines between head, keeper and agent."""

from __future__ import annotations

import json

import pytest

from assay.core.errors import (
    AssayError,
    BundleError,
    FleetError,
    InputError,
    LostError,
    MissingError,
    RestoreError,
    RunError,
    VoidError,
)
from assay.fleet.protocol import (
    AgentAnswer,
    Control,
    Request,
    as_problem,
    read_answer,
    read_request,
)


def test_a_request_comes_back_from_its_line() -> None:
    """One line, whatever it holds."""
    request = Request(id=3, verb="idle", request={"seconds": 1.5, "text": "a\nb"})
    line = request.line()
    assert line.count(b"\n") == 1
    assert read_request(line) == request


def test_an_answer_and_a_control_are_told_apart() -> None:
    """A result that has the word in it is a result."""
    answer = AgentAnswer(id=3, result={"control": "stop"})
    control = Control(control="stop", seconds=2.0)
    assert read_answer(answer.line()) == answer
    assert read_answer(control.line()) == control


@pytest.mark.parametrize(
    ("raised", "comes"),
    [
        (InputError, InputError),
        (BundleError, InputError),
        (FleetError, FleetError),
        (MissingError, MissingError),
        (LostError, LostError),
        (RunError, RunError),
        (RestoreError, RestoreError),
        (VoidError, RunError),
    ],
)
def test_an_error_keeps_its_kind_on_the_way(
    raised: type[AssayError], comes: type[AssayError]
) -> None:
    """Message and next step too, and the host is named."""
    line = AgentAnswer(id=1, error=as_problem(raised("it broke", next_step="mend it"))).line()
    answer = read_answer(line)
    assert isinstance(answer, AgentAnswer)
    with pytest.raises(comes, match="arm: it broke") as found:
        answer.value("arm")
    assert type(found.value) is comes
    assert found.value.next_step == "mend it"


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"id": 1}', b'{"id": 1, "verb": "x", "y": 2}']
)
def test_what_is_no_request_is_refused(line: bytes) -> None:
    """Without saying more than its beginning."""
    with pytest.raises(InputError, match="no request of a fleet"):
        read_request(line)


@pytest.mark.parametrize("value", [{"id": "x"}, {"control": "dance"}, {"id": 1, "results": {}}])
def test_what_is_no_answer_is_refused(value: object) -> None:
    """An agent of another version, or none."""
    with pytest.raises(RunError, match="not of its protocol"):
        read_answer(json.dumps(value).encode())
