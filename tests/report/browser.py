"""Headless Chromium: a page as it stands once its scripts have run, and its picture."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from devtools import HEADLESS

CHROMIUM = (*HEADLESS, "--virtual-time-budget=5000")


@dataclass
class Browser:
    """Headless Chromium with a profile of its own."""

    program: str
    profile: Path

    def dom(self, page: Path, *options: str) -> str:
        """The document as it stands once its scripts have run."""
        return self._run(page, "--dump-dom", *options)

    def screenshot(self, page: Path, to: Path, *options: str) -> None:
        """A picture of the page."""
        self._run(page, f"--screenshot={to}", *options)

    def _run(self, page: Path, *options: str) -> str:
        words = [self.program, *CHROMIUM, f"--user-data-dir={self.profile}", *options]
        done = subprocess.run(
            [*words, page.as_uri()], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def framed(page: Path, folder: Path, width: int, question: str) -> Path:
    """A page that shows another one `width` pixels wide and asks its document something."""
    outer = folder / "frame.html"
    outer.write_text(
        f'<iframe id="f" src="{page.as_uri()}" style="width:{width}px;height:900px"></iframe>'
        "<script>onload = () => { const page = f.contentDocument.documentElement;"
        f"document.documentElement.dataset.answer = {question}; }};</script>"
    )
    return outer
