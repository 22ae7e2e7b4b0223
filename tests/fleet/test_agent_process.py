"""An agent's side of its keeper: one pause for all arms, and answers whatever is asked."""

from __future__ import annotations

import io
import json

import pytest

from assay.core.errors import RunError
from assay.fleet.agent_process import KeptProcess
from assay.fleet.protocol import Control, Request


def process(*given: bytes) -> tuple[KeptProcess, io.BytesIO]:
    """One that is given these lines, and what it writes."""
    out = io.BytesIO()
    return KeptProcess(io.BytesIO(b"".join(given)), out), out


def done(*pids: int) -> bytes:
    return Control(control="done", pids=list(pids)).line()


def written(out: io.BytesIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_arms_that_measure_at_the_same_time_stop_ray_once() -> None:
    """It goes on when the last of them has ended."""
    kept, out = process(done(7), done(7))
    with kept.quiet(1.0):
        with kept.quiet(2.0):
            assert [said["control"] for said in written(out)] == ["stop"]
        assert len(written(out)) == 1
    assert [said["control"] for said in written(out)] == ["stop", "go_on"]


def test_a_window_in_which_ray_went_on_has_failed() -> None:
    """The keeper's timer was faster."""
    kept, _ = process(done(7), done())
    with pytest.raises(RunError, match="Ray went on after 45 s"), kept.quiet(1.0):
        pass


def test_where_there_is_no_ray_nothing_goes_on() -> None:
    """And no window has failed."""
    kept, out = process(done(), done())
    with kept.quiet(1.0):
        pass
    assert len(written(out)) == 2


def test_a_window_that_failed_says_why_and_not_that_ray_went_on() -> None:
    """The first error counts; Ray goes on all the same."""
    kept, out = process(done(7), done(7))
    with pytest.raises(ValueError, match="broken"), kept.quiet(1.0):
        raise ValueError("broken")
    assert [said["control"] for said in written(out)] == ["stop", "go_on"]


def test_a_keeper_that_is_gone_is_a_failed_run() -> None:
    """Nothing waits for it."""
    kept, _ = process()
    with pytest.raises(RunError, match="the keeper of an agent does not answer"), kept.quiet(1.0):
        pass


def test_every_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw too."""
    lines = [Request(id=n, verb=verb).line() for n, verb in enumerate(("clock", "dance", "hello"))]
    kept, out = process(*lines)

    def broken(verb: str, request: object) -> dict[str, object]:
        if verb == "hello":
            raise KeyError("arch")
        return answer(verb, request)

    answer = kept._agent.answer
    monkeypatch.setattr(kept._agent, "answer", broken)
    kept.serve()
    fine, unknown, unforeseen = written(out)
    assert fine["id"] == 0
    assert "result" in fine
    assert unknown["error"]["kind"] == "input"
    assert unforeseen["error"] == {"kind": "run", "message": "hello: KeyError: 'arch'", "next": ""}
