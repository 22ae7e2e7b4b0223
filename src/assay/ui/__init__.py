"""A local page: studies, bundles, a study while it runs, the ledger (docs/ui.md)."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.ui.application import app
    from assay.ui.guarding import Access
    from assay.ui.serving import UiServer

__getattr__, __dir__ = lazily(__name__, application="app", guarding="Access", serving="UiServer")

__all__ = ["Access", "UiServer", "app"]
