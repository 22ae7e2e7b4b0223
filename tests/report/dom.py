"""Reading a page: what its charts drew, what its elements load, and what its text says.

A few questions to a document as the browser dumped it; the standard library's parser is enough.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "wbr", "img", "link", "input", "hr"}
SHAPES = {"circle", "path", "line", "rect"}
HIDDEN = {"script", "style", "title", "svg"}


@dataclass
class Page(HTMLParser):
    """A parsed page.

    marks    shapes inside each mark, by chart kind and the mark's description
    titles   texts of the charts' titles, by chart kind
    svgs     charts drawn, by kind
    root     attributes of <html>
    loads    values of attributes that could load something
    text     what a reader sees
    """

    marks: Counter[tuple[str, str]] = field(default_factory=Counter)
    titles: list[tuple[str, str]] = field(default_factory=list)
    svgs: Counter[str] = field(default_factory=Counter)
    root: dict[str, str | None] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    elements: Counter[str] = field(default_factory=Counter)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.stack: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements[tag] += 1
        if tag == "html":
            self.root = found
        self.loads += [v for k, v in attrs if k in LOADING and v]
        chart, mark = self._within("data-chart"), self._within("aria-description")
        if tag == "svg" and chart:
            self.svgs[chart] += 1
        if tag in SHAPES and chart and mark:
            self.marks[chart, mark] += 1
        if tag not in VOID:
            self.stack.append((tag, found))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = [t for t, _ in self.stack]
        if tags and tags[-1] == "title" and "svg" in tags:
            self.titles.append((self._within("data-chart") or "", data))
        if not HIDDEN.intersection(tags):
            self.text += data

    def _within(self, name: str) -> str | None:
        return next((a[name] for _, a in reversed(self.stack) if a.get(name)), None)


LOADING = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"}


def parsed(html: str) -> Page:
    """The page in `html`."""
    page = Page()
    page.feed(html)
    return page
