"""The HTML report: one file that needs nothing else, from a bundle.

What it says is decided in `view.py`; here it is put into the page. The template escapes
everything it is given; style, chart library and chart script are ours and go in as they are; the
data of the charts goes in as JSON in which nothing can end the element it stands in. The page's
own policy forbids it any request.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.record import Bundle
from assay.report.html.view import charts, view

SCRIPTS = (
    "charts-kit",
    "charts",
    "charts-designs",
    "charts-curves",
    "charts-speeds",
    "charts-timelines",
    "charts-draw",
)
"""The page's own scripts, in the order in which they build on each other."""


def report_html(bundle: Bundle) -> str:
    """The report of a bundle. AlteredError if its runs are not as they were written."""
    found = view(bundle)
    return (
        environment()
        .get_template("report.html")
        .render(
            view=found,
            data=Markup(embedded(charts(found))),
            style=Markup(own("templates/report.css")),
            library=Markup(own("vendor/plot.js")),
            script=Markup("\n".join(own(f"templates/{name}.js") for name in SCRIPTS)),
        )
    )


def embedded(data: object) -> str:
    """JSON that can stand in a script element: no character of it can begin markup."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def typeset(text: str) -> str:
    """Numbers as a printer sets them: a real minus sign, and no line end before a percent sign."""
    text = re.sub(r"(?<![\w.)-])-(?=\d|inf)", "\N{MINUS SIGN}", text)
    return re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text)


def sentence(text: str) -> str:
    """A reason as a sentence: with a capital and a full stop."""
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    return ended[:1].upper() + ended[1:]


def breakable(name: str) -> Markup:
    """A name of several parts, escaped, with places where a line may end."""
    return escape(name).replace("+", Markup("+<wbr>"))


@cache
def environment() -> Environment:
    """Where the templates of pages are made: everything they are given is escaped."""
    made = Environment(
        loader=PackageLoader("assay.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(typeset=typeset, sentence=sentence, breakable=breakable)
    return made


@cache
def own(name: str) -> str:
    """A file of this package's, as text."""
    return (resources.files("assay.report.html") / name).read_text("utf-8")
