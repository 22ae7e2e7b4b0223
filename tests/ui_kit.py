"""A page served on loopback for a test, somebody who visits it, and studies that grow in steps."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from assay.bench import Silent, prepare, run
from assay.core.errors import VoidError
from assay.record import Bundle, Replay, RunRecord, Step
from assay.study import read
from assay.ui import Access, UiServer, app
from fakes import FACTS, STUDY, FakeTarget

TIMEOUT_S = 20.0
EVIL = "<script>alert(1)</script>"


@dataclass(frozen=True)
class PageAnswer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Visitor:
    """Somebody on this machine. `headers` go with every request; `None` leaves one out."""

    port: int
    access: Access
    headers: dict[str, str | None] = field(default_factory=dict)

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str | None
    ) -> PageAnswer:
        """One request; header names with "_" for "-"."""
        with contextlib.closing(self._asked(path, method, body, headers)) as held:
            found = held.getresponse()
            text = found.read().decode()
            return PageAnswer(found.status, {n.lower(): v for n, v in found.getheaders()}, text)

    def enter(self) -> Visitor:
        """Come by the link, and keep the cookie."""
        found = self.ask(f"/?token={self.access.token}")
        assert found.status == 303, found
        self.headers["Cookie"] = found.headers["set-cookie"].partition(";")[0]
        return self

    def page(self, path: str = "/") -> str:
        """A page that is there."""
        found = self.ask(path)
        assert found.status == 200, found
        return found.text

    def send(self, path: str, **fields: str) -> PageAnswer:
        """Send a form of the page."""
        body = urlencode({"form": self.access.form, **fields})
        return self.ask(path, "POST", body, Origin=f"http://127.0.0.1:{self.port}")

    def bundles(self) -> list[str]:
        """Addresses of the bundles in the list, in its order."""
        return re.findall(r'href="(/bundles/[0-9a-f]+)"', self.page())

    @contextmanager
    def watching(self, bundle: str) -> Iterator[Callable[[], dict[str, Any]]]:
        """The live view of a bundle's address: what is called for the next event's data."""
        held = self._asked(f"{bundle}/events", "GET", None, {})
        found = held.getresponse()
        assert found.status == 200, found.read()
        assert found.getheader("content-type", "").startswith("text/event-stream")

        def news() -> dict[str, Any]:
            name = ""
            while True:
                line = found.readline().decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    return {"event": name, **json.loads(line.removeprefix("data: "))}

        try:
            yield news
        finally:
            found.close()
            held.close()

    def _asked(
        self, path: str, method: str, body: str | None, headers: Mapping[str, str | None]
    ) -> http.client.HTTPConnection:
        held = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        own = {"Host": f"127.0.0.1:{self.port}", **self.headers}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        held.putrequest(method, path, skip_host=True)
        for name, value in own.items():
            if value is not None:
                held.putheader(name, value)
        data = b"" if body is None else body.encode()
        if body is not None:
            held.putheader("Content-Type", "application/x-www-form-urlencoded")
            held.putheader("Content-Length", str(len(data)))
        held.endheaders(data)
        return held


@contextmanager
def served(folder: Path, token: bool = True, **options: Any) -> Iterator[Visitor]:
    """The page of a folder, and somebody who has not entered yet."""
    server = UiServer()
    access = Access(name=f"assay-ui-{server.port}", **({} if token else {"token": ""}))
    thread = threading.Thread(
        target=server.run, args=[app(folder, access=access, **options)], daemon=True
    )
    thread.start()
    try:
        yield Visitor(server.port, access)
    finally:
        server.stop()
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()


def seen_until(news: Callable[[], dict[str, Any]], is_it: Callable[[dict[str, Any]], bool]) -> Any:
    """The first of the next events that is the one; those before it are passed by."""
    for _ in range(200):
        found = news()
        if is_it(found):
            return found
    raise AssertionError("it never came")


# studies that grow


class Paced(Silent):
    """A study makes a run when the test lets it."""

    def __init__(self) -> None:
        self.may, self.made = threading.Semaphore(0), threading.Semaphore(0)
        self.is_free = False

    def running(self, step: Step, operations: int, spent_s: float) -> None:
        if not operations and not self.is_free:
            assert self.may.acquire(timeout=60)

    def ran(self, record: RunRecord, replay: Replay) -> None:
        self.made.release()


@dataclass
class Growing:
    """A study of this process that waits for the test."""

    bundle: Bundle
    paced: Paced
    thread: threading.Thread

    def grow(self, runs: int) -> None:
        """Let so many runs be made; they are on disk then."""
        for _ in range(runs):
            self.paced.may.release()
            assert self.paced.made.acquire(timeout=30)

    def finish(self) -> None:
        """Let it run to its end."""
        self.paced.is_free = True
        self.paced.may.release()
        self.thread.join(60)
        assert not self.thread.is_alive()


@contextmanager
def growing(folder: Path, fake: FakeTarget, text: str = STUDY) -> Iterator[Growing]:
    """A study on a fake target, begun, that holds its bundle."""
    targets, clocks, paced = {"engine": fake}, fake.clock.clocks(), Paced()
    study = read("fake.toml", text, Path("."), targets=targets)
    bundle = prepare(study, folder, FACTS, base=Path("."), seed=7, targets=targets, clocks=clocks)

    def work() -> None:
        with contextlib.suppress(VoidError):
            run(bundle, paced, targets=targets, clocks=clocks)

    made = Growing(bundle, paced, threading.Thread(target=work, daemon=True))
    made.thread.start()
    try:
        yield made
    finally:
        made.finish()
