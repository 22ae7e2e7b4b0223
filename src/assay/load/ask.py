"""Questions to a server, for what it says of itself."""

from __future__ import annotations

from assay import native
from assay.core.address import parse_url
from assay.native import Rows


def ask(url: str, *asks: str) -> list[Rows]:
    """The rows of each answer: `ask(url, "SHOW VARIABLES")[0]` is rows of texts, None for NULL.

    SQL of MySQL and PostgreSQL; commands of Redis as one types them, of whose arrays
    each element is a row; paths of HTTP, whose body is the only row. Raises
    InputError, MissingError (no such server, login refused) and RunError.
    """
    return native.ask_server(parse_url(url).request(), asks)
