"""A ledger that a team shares, in a real PostgreSQL."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import LedgerError
from assay.ledger import Ledger, LedgerEntry, LedgerQuery, entry_of
from assay.ledger.places import LedgerPlace
from assay.record import Bundle
from assay.targets.servers.postgresql import POSTGRESQL
from attach_kit import free_port, theirs
from sql_kit import make

pytestmark = pytest.mark.server
pg8000 = pytest.importorskip("pg8000")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of an empty database, in a folder that the server's own user may enter."""
    with tempfile.TemporaryDirectory(prefix="shared-ledger-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        make(POSTGRESQL, folder / "data", folder / "log")
        with theirs("postgresql", folder / "server", {"postgresql": folder / "data"}) as server:
            yield server.url


def _enter(url: str, first: int, text: str) -> None:
    entry = LedgerEntry.model_validate_json(text)
    ledger = Ledger.open(LedgerPlace(url=url))
    for number in range(first, first + 10):
        more = {"identity": f"{number:064x}", "folder": f"/nowhere/{number}", "end": str(number)}
        ledger.add(entry.model_copy(update=more))
    ledger.close()


def test_two_processes_share_a_ledger(url: str, finished: Bundle) -> None:
    """They make its tables at once, and enter; what comes out is what went in."""
    entry = entry_of(finished.folder)
    spawn = multiprocessing.get_context("spawn")
    text = entry.model_dump_json()
    writers = [spawn.Process(target=_enter, args=(url, first, text)) for first in (1, 11)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    ledger = Ledger.open(LedgerPlace(url=url))
    assert ledger.count() == 20
    ledger.add(entry)
    assert entry in [found for _, found in ledger.entries()]
    found = ledger.rows(LedgerQuery(words=["spin hints"], target="engine"))
    assert {row.row.of for row in found} == {"hint"}
    ledger.clear()
    assert ledger.count() == 0
    ledger.close()


def test_a_database_that_does_not_answer_is_said_without_the_password() -> None:
    """Its address is."""
    place = LedgerPlace(url=f"postgresql://team:hunter2@127.0.0.1:{free_port()}/ledger")
    with pytest.raises(LedgerError) as raised:
        Ledger.open(place)
    assert "127.0.0.1" in raised.value.message
    assert "hunter2" not in raised.value.message
