"""The ledger: what all bundles said, in one database that can be made anew from them."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.ledger.automatic import entered
    from assay.ledger.comparison import BundleComparison, compare_entries
    from assay.ledger.entries import LedgerEntry, LedgerLevel, LedgerRow, entry_of
    from assay.ledger.places import known_folders, ledger_place, remember
    from assay.ledger.rebuilding import Rebuilt, rebuild
    from assay.ledger.series import QuestionHistory, histories
    from assay.ledger.store import Added, FoundAnswer, Ledger, LedgerQuery, ListedBundle

__getattr__, __dir__ = lazily(
    __name__,
    automatic="entered",
    comparison="BundleComparison compare_entries",
    entries="LedgerEntry LedgerLevel LedgerRow entry_of",
    places="known_folders ledger_place remember",
    rebuilding="Rebuilt rebuild",
    series="QuestionHistory histories",
    store="Added LedgerQuery FoundAnswer Ledger ListedBundle",
)

__all__ = [
    "Added",
    "BundleComparison",
    "FoundAnswer",
    "Ledger",
    "LedgerEntry",
    "LedgerLevel",
    "LedgerQuery",
    "LedgerRow",
    "ListedBundle",
    "QuestionHistory",
    "Rebuilt",
    "compare_entries",
    "entered",
    "entry_of",
    "histories",
    "known_folders",
    "ledger_place",
    "rebuild",
    "remember",
]
