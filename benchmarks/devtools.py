"""Headless Chromium by its own protocol (DevTools), through two pipes: no library, no port.

Unlike `chromium --dump-dom` it shows a page that goes on: events that arrive, keys, real times.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HEADLESS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Options of every Chromium that tests and benchmarks start."""
ABOVE = 10
"""Descriptors from here on, so that none is the 3 or 4 that Chromium reads and writes."""


class Tab:
    """One page. `errors` are exceptions of scripts and what the page's policy refused."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers = to, answers
        self._rest = b""
        self._number = 0
        self._session = ""
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, timeout_s: float = 60.0, **given: Any) -> dict[str, Any]:
        """A command and its answer. RuntimeError where it failed, TimeoutError without one."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        end_s = time.monotonic() + timeout_s
        while True:
            message = self._next(end_s, method)
            if message.get("id") != self._number:
                self._heard(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            else:
                return dict(message["result"])

    def open(self, address: str) -> None:
        """Go to a page; it may still be loading then."""
        self.errors.clear()
        self.call("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """What a script's expression, or the promise of one, gives in the page."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def until(self, expression: str, timeout_s: float = 30.0) -> Any:
        """The first value of an expression that is true. TimeoutError where none is in time."""
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            try:
                found = self.value(expression)
            except RuntimeError:  # the page is another one now
                found = None
            if found:
                return found
            time.sleep(0.05)
        raise TimeoutError(f"{expression} was never true; errors: {self.errors}")

    def press(self, key: str, code: int) -> None:
        """Press a key such as Tab (9) or Enter (13)."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text,
            )  # fmt: skip

    def picture(self, to: Path) -> None:
        """A picture of the whole page."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(found["data"]))

    def _heard(self, message: dict[str, Any]) -> None:
        given = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(given["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(given["entry"]["text"])

    def _next(self, end_s: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left_s = end_s - time.monotonic()
            if left_s <= 0 or not select.select([self._answers], [], [], left_s)[0]:
                raise TimeoutError(f"Chromium did not answer {what}")
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise RuntimeError(f"Chromium ended at {what}")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))


@contextmanager
def tab(program: str, profile: Path, *options: str) -> Iterator[Tab]:
    """Chromium with a page, until the block is over."""
    heard, to = _pipe()
    answers, said = _pipe()
    words = [
        program,
        *HEADLESS,
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
        *options,
        "about:blank",
    ]
    script = f'exec "$@" 3<&{heard} 4>&{said} {heard}<&- {said}>&-'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(heard, said),
    )
    os.close(heard)
    os.close(said)
    try:
        yield Tab(to, answers)
    finally:
        process.kill()
        process.wait()
        os.close(to)
        os.close(answers)


def _pipe() -> tuple[int, int]:
    """Where one reads and the other writes, both above what Chromium takes."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, ABOVE) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
