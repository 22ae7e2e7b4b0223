"""Pages from templates: all text is escaped, and nothing in it steers what shows it.

The templates stand next to the report's own, whose tables and figures they use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from assay.core.printable import printable
from assay.report.html.page import SCRIPTS, breakable, environment, own
from assay.ui.guarding import FRAMED


@dataclass(frozen=True)
class PageLink:
    """A page of the head: its address and its name."""

    address: str
    text: str


HEAD = (
    PageLink("/", "Bundles"),
    PageLink("/studies", "Studies"),
    PageLink("/ledger", "Ledger"),
    PageLink("/doctor", "Doctor"),
)

ASSETS = {
    "icon.svg": "image/svg+xml",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "charts.js": "text/javascript",
}
"""Files that the pages load, by their type."""


def page(template: str, status: int = 200, **values: Any) -> Response:
    """A page of the template's."""
    text = templates().get_template(template).render(head=HEAD, **values)
    return HTMLResponse(encoded(text), status)


def part(template: str, name: str, **values: Any) -> str:
    """A part of a page: what the template's macro makes of the values."""
    macro = getattr(templates().get_template(template).module, name)
    return str(macro(**values))


def framed(html: str) -> Response:
    """A page that was made to stand alone, such as a report, in a frame without rights."""
    return HTMLResponse(encoded(html), headers={"Content-Security-Policy": FRAMED})


def encoded(text: str) -> bytes:
    """UTF-8; of names of files that are none, what can be written."""
    return text.encode("utf-8", "backslashreplace")


@cache
def asset(name: str) -> bytes:
    """A file that the pages load; one of `ASSETS`."""
    if name == "page.css":
        return encoded(own("templates/report.css") + _own("static/page.css"))
    if name == "charts.js":
        scripts = [own("vendor/plot.js"), *(own(f"templates/{script}.js") for script in SCRIPTS)]
        return encoded("\n".join(scripts))
    return encoded(_own(f"static/{name}"))


def _own(name: str) -> str:
    return (resources.files("assay.ui") / name).read_text("utf-8")


@cache
def templates() -> Environment:
    """Where the pages are made."""
    loaders = [PackageLoader("assay.ui"), PackageLoader("assay.report.html")]
    made = environment().overlay(loader=ChoiceLoader(loaders), finalize=_shown)
    made.filters = {
        **made.filters,
        "block": _block,
        "breakable": lambda of: breakable(printable(of)),
    }
    return made


def _shown(value: object) -> object:
    """Text in which nothing steers; line ends of names are shown too."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _block(text: str) -> Markup:
    """Text of several lines, for where white space is kept."""
    return escape(printable(text, kept="\n\t"))
