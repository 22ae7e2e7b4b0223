"""Charts as files, of bundles of every kind that a report must cope with."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.export import chart_names, draw, markdown_of
from assay.report.html.view import view

DRAWN = (
    *("evil-kinds", "cases", "scaling", "screen", "factorial", "empty"),
    *("curves", "refined", "rates", "evil-curves"),
)


@pytest.mark.parametrize("name", DRAWN)
def test_charts_of_every_design_are_drawn(samples, tmp_path: Path, name: str) -> None:
    """What users write is text in them."""
    pytest.importorskip("matplotlib")
    bundle = samples.bundle(name)
    if not bundle.has_verdicts:
        pytest.skip("it was never run")
    paths = draw(bundle, tmp_path, "svg")
    assert len(paths) >= len(chart_names(view(bundle)))
    for path in paths:
        tree = ElementTree.parse(path)
        assert not [e for e in tree.iter() if e.tag.endswith(("}script", "}image"))]


def test_what_users_write_is_no_markup_in_markdown(samples) -> None:
    """Names and questions are text."""
    text = markdown_of(samples.bundle("evil"))
    assert "&lt;script>" in text
    assert "<script>" not in text
