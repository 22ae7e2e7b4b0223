"""What rules know of a kind of server: data of each target, looked at by the rules of a host."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ServerTraits:
    """How a kind of server asks for huge pages, and what it makes of transparent ones."""

    asks_huge: re.Pattern[str] | None = None
    """What its command line or its configuration holds where it asks for a pool's pages."""
    data_options: tuple[str, ...] = ()
    """Options that name its data folder, where `configurations` lie."""
    configurations: tuple[str, ...] = ()
    suffers_thp: str = ""
    """Why it does not want transparent huge pages for all; empty if it does not mind."""


UNKNOWN = ServerTraits()
OTHERS = {
    "mongodb": ServerTraits(suffers_thp="before version 8 its allocator holds memory that it freed")
}
"""Servers that are no target, but of which something is known."""
