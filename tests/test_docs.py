"""What the documents show is what works: their studies are read, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.study import read

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
STUDIES = [
    (page.name, text)
    for page in PAGES
    for text in re.findall(r"```toml\n(.*?)```", page.read_text(), re.S)
]


@pytest.mark.parametrize(("page", "text"), STUDIES, ids=[page for page, _ in STUDIES])
def test_a_study_shown_in_a_document_is_understood(page: str, text: str) -> None:
    """Copied from the page, it runs."""
    assert read(page, text, Path(".")).factors


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_documents_lead_to_files(page: Path) -> None:
    """Relative links only; those to the web are not followed."""
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


def test_there_are_studies_to_check() -> None:
    """In the README and in the guide."""
    assert {page for page, _ in STUDIES} >= {"README.md", "studies.md"}
