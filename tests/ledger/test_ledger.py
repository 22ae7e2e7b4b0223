"""The ledger: bundles in, answers out, and what happens when something is not as it should be."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sqlite3
from pathlib import Path

import pytest

from assay.core import password
from assay.core.errors import AlteredError, DamagedLedgerError, InputError, LedgerError
from assay.ledger import (
    Ledger,
    LedgerEntry,
    LedgerQuery,
    compare_entries,
    entered,
    entry_of,
    histories,
    known_folders,
    ledger_place,
    rebuild,
)
from assay.ledger.places import LedgerPlace
from assay.ledger.scrubbing import scrubbed
from assay.ledger.tables import HEAD, metadata
from assay.record import Bundle
from assay.study import Study
from cli_kit import assay
from fakes import FACTS, FakeTarget, run_fake, with_kinds


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(password.LEDGER, raising=False)
    monkeypatch.setattr(password, "_kept", {})
    return tmp_path / "state" / "assay" / "ledger"


@pytest.fixture
def place(tmp_path: Path) -> LedgerPlace:
    """Where a ledger may be made."""
    return LedgerPlace(file=tmp_path / "its" / "ledger.sqlite3")


@pytest.fixture
def ledger(place: LedgerPlace):
    """An empty ledger."""
    made = Ledger.open(place)
    yield made
    made.close()


def twin(entry: LedgerEntry, number: int, **changed: object) -> LedgerEntry:
    """Another bundle of the same study, begun later."""
    more = {
        "identity": f"{number:064x}",
        "folder": f"/nowhere/{number}",
        "started": f"2026-02-{number:02d}T00:00:00",
        "end": str(number),
    }
    return entry.model_copy(update=more | changed)


def with_estimates(entry: LedgerEntry, value: float, width: float = 0.01) -> LedgerEntry:
    """The entry with other effects."""
    word = "helps" if value > width else "hurts" if value < -width else "no difference"
    new = {"estimate": value, "low": value - width, "high": value + width, "word": word}
    return entry.model_copy(update={"rows": [r.model_copy(update=new) for r in entry.rows]})


def test_what_is_entered_is_what_comes_out(ledger: Ledger, finished: Bundle) -> None:
    """Every field, through the database and back."""
    entry = entry_of(finished.folder)
    ledger.add(entry)
    ((_, found),) = ledger.entries()
    assert found == entry
    assert {r.word for r in found.rows if r.arm == "cache"} == {"helps"}
    assert found.levels[0].runs > 0
    assert found.checked


def test_answers_are_found_by_the_words_of_a_change(ledger: Ledger, finished: Bundle) -> None:
    """In the plural too, by what the catalogue says of it, and by other filters."""
    ledger.add(entry_of(finished.folder))
    assert {f.row.of for f in ledger.rows(LedgerQuery(words=["spin", "hints"]))} == {"hint"}
    assert {f.row.of for f in ledger.rows(LedgerQuery(words=["data cache"]))} >= {"cache"}
    assert {f.row.of for f in ledger.rows(LedgerQuery(word="helps"))} == {"cache"}
    assert not ledger.rows(LedgerQuery(words=["spin"], target="redis"))
    assert ledger.rows(LedgerQuery(words=["spin"], target="engine", workload="ycsb"))
    assert not ledger.rows(LedgerQuery(since="2027"))
    assert not ledger.rows(LedgerQuery(words=["100%"]))
    leads = ledger.rows(LedgerQuery(leads=True))
    assert {f.row.strength for f in leads} == {"confirmed", "suggests"}


def test_a_bundle_enters_once_however_often_it_is_added(ledger: Ledger, finished: Bundle) -> None:
    """Also from a copy; moved, it is followed."""
    ledger.add(entry_of(finished.folder))
    ledger.add(entry_of(finished.folder))
    other = finished.folder.with_name("other")
    shutil.copytree(finished.folder, other)
    assert ledger.add(entry_of(other)).copy == str(finished.folder.resolve())
    assert ledger.count() == 1
    shutil.rmtree(finished.folder)
    assert ledger.add(entry_of(other)).moved == str(finished.folder.resolve())
    assert [entry.folder for _, entry in ledger.entries()] == [str(other.resolve())]


def test_an_altered_bundle_is_refused(finished: Bundle) -> None:
    """What does not recompute is no answer."""
    path = finished.folder / "verdicts.json"
    path.write_text(path.read_text().replace('"helps"', '"hurts"'))
    with pytest.raises(AlteredError):
        entry_of(finished.folder)
    assert assay("ledger", "add", finished.folder).returncode == 1


def test_a_finished_bundle_enters_by_itself(finished: Bundle, own_state: Path) -> None:
    """Also where what was done to it ended in an error."""
    warnings: list[str] = []
    with pytest.raises(KeyboardInterrupt), entered(finished.folder, warnings.append):
        raise KeyboardInterrupt
    assert not warnings
    assert known_folders() == [finished.folder.resolve()]
    place = ledger_place()
    assert place is not None
    assert place.file == own_state / "ledger.sqlite3"
    assert Ledger.open(place).count() == 1


def test_a_ledger_that_fails_is_a_warning(finished: Bundle, own_state: Path) -> None:
    """It names what to do, and the folder is on the list all the same."""
    own_state.mkdir(parents=True)
    (own_state / "ledger.sqlite3").write_bytes(b"no database at all" * 100)
    warnings: list[str] = []
    with entered(finished.folder, warnings.append):
        pass
    assert "assay ledger add" in warnings[0]
    assert known_folders() == [finished.folder.resolve()]


def test_a_damaged_ledger_is_made_anew(finished: Bundle, own_state: Path) -> None:
    """From the list of folders; the damaged file is set aside, and what is gone is said."""
    with entered(finished.folder, pytest.fail):
        pass
    (own_state / "ledger.sqlite3").write_bytes(b"no database at all" * 100)
    done = assay("ledger", "list")
    assert done.returncode == 3
    assert "assay ledger rebuild" in done.stderr
    listed = own_state / "bundles"
    listed.write_text(listed.read_text() + '"/nowhere/at-all"\nnot json\n')
    found = json.loads(assay("ledger", "rebuild", "--json").stdout)
    assert (found["entered"], found["gone"]) == (1, ["/nowhere/at-all"])
    assert Path(found["set_aside"]).exists()
    assert json.loads(assay("ledger", "list", "--json").stdout)[0]["entry"]["study"] == "fake"


def test_a_file_with_other_tables_is_damaged(place: LedgerPlace) -> None:
    """A database that lost a table is no ledger."""
    Ledger.open(place).close()
    with sqlite3.connect(place.file) as held:
        held.execute("DROP TABLE verdicts")
    with pytest.raises(DamagedLedgerError):
        Ledger.open(place).rows(LedgerQuery())


def test_rebuilding_finds_bundles_below_a_folder(
    place: LedgerPlace, finished: Bundle, tmp_path: Path
) -> None:
    """And leaves out one that was altered, saying so."""
    other = tmp_path / "deep" / "er"
    shutil.copytree(finished.folder, other)
    (other / "runs.jsonl").write_text("{}\n")
    found = rebuild(place, [tmp_path])
    assert found.entered == 1
    assert list(found.refused) == [str(other.resolve())]


def test_a_ledger_of_a_newer_version_is_refused(place: LedgerPlace) -> None:
    """It may hold what this version does not know."""
    Ledger.open(place).close()
    with sqlite3.connect(place.file) as held:
        held.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(LedgerError, match="9999"):
        Ledger.open(place)


def test_migrations_lead_to_the_tables_that_the_code_has(ledger: Ledger) -> None:
    """Column by column."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with ledger.reading() as held:
        context = MigrationContext.configure(held)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == HEAD


def _enter_many(file: Path, first: int, text: str) -> None:
    entry = LedgerEntry.model_validate_json(text)
    ledger = Ledger.open(LedgerPlace(file=file))
    for number in range(first, first + 10):
        ledger.add(twin(entry, number))
    ledger.close()


def test_two_processes_write_at_once(place: LedgerPlace, finished: Bundle) -> None:
    """Also the first ones, which make the tables."""
    text = entry_of(finished.folder).model_dump_json()
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_enter_many, args=(place.file, n, text)) for n in (1, 11)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert Ledger.open(place).count() == 20


def test_whereabouts_are_said(finished: Bundle) -> None:
    """A bundle that was deleted, or another one in its folder."""
    assay("ledger", "add", finished.folder)
    assert "gone" not in assay("ledger", "list").stdout
    shutil.rmtree(finished.folder)
    assert "(gone)" in assay("ledger", "list").stdout
    assert "(gone)" in assay("ledger", "query", "hint").stdout


@pytest.mark.parametrize(
    "text",
    [
        "mysql://root:hunter2@db/x",
        "redis://:hunter2@db",
        "postgresql://u:a/hunter2@db/x",
        "--password=hunter2",
        "api_key: hunter2",
        'MY_TOKEN="hunter2 hunter2"',
    ],
)
def test_secrets_do_not_enter(text: str) -> None:
    """Of addresses, and of names that sound like one."""
    assert "hunter2" not in scrubbed(f"with {text} it is fast")


def test_a_secret_in_a_bundle_is_not_in_the_file(
    ledger: Ledger, finished: Bundle, place: LedgerPlace
) -> None:
    """Wherever it stands."""
    plan = finished.folder / "plan.json"
    asked = "Does mysql://root:hunter2@db help?"
    plan.write_text(plan.read_text().replace("Does anything help?", asked))
    verdicts = finished.folder / "verdicts.json"
    verdicts.write_text(verdicts.read_text().replace('"reason": "', '"reason": "token=hunter2 '))
    runs = finished.folder / "runs.jsonl"
    runs.write_text("")
    ledger.add(entry_of(finished.folder, check=False))
    assert place.file is not None
    assert b"hunter2" not in place.file.read_bytes()


def test_the_url_of_a_shared_ledger_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is its password shown."""
    monkeypatch.setenv(password.LEDGER, "postgresql://team:hunter2@db/ledger")
    place = ledger_place()
    assert str(place) == "postgresql at db/ledger"
    import os

    assert password.LEDGER not in os.environ
    monkeypatch.setattr(password, "_kept", {password.LEDGER: "mysql://u:hunter2@db"})
    with pytest.raises(InputError) as raised:
        ledger_place()
    assert "hunter2" not in raised.value.message


def test_two_bundles_of_a_study_agree(
    tmp_path: Path, finished: Bundle, fake: FakeTarget, study: Study
) -> None:
    """On other machines too, and what differs is listed."""
    facts = {**FACTS, "kernel": "6.5"}
    other = run_fake(tmp_path / "second", fake, study, seed=8, facts=facts)
    found = compare_entries(entry_of(finished.folder), entry_of(other.folder))
    assert {a.relation for a in found.answers if a.label == "cache"} == {"agree"}
    assert found.differs == {"kernel": ("6.1", "6.5")}
    assert assay("ledger", "compare", finished.folder, other.folder).returncode == 0


def test_relations_of_two_answers(finished: Bundle) -> None:
    """Contradicting on one machine; on two, what differs may be why."""
    entry = entry_of(finished.folder)
    fast, slow = with_estimates(entry, 0.2), with_estimates(entry, -0.2)
    assert {a.relation for a in compare_entries(fast, slow).answers} == {"contradict"}
    elsewhere = slow.model_copy(update={"facts": {**entry.facts, "cpu_model": "another"}})
    (answer, *_) = compare_entries(fast, elsewhere).answers
    assert answer.relation == "not comparable"
    assert "cpu_model" in answer.why
    larger = with_estimates(entry, 0.4)
    assert {a.relation for a in compare_entries(fast, larger).answers} == {"other size"}
    close = with_estimates(entry, 0.005)
    near = with_estimates(entry, 0.012)
    assert {a.relation for a in compare_entries(close, near).answers} == {"compatible"}


def test_answers_of_other_arms_are_not_compared(finished: Bundle) -> None:
    """An arm of the same name with another level, a missing answer, an invalid bundle."""
    entry = entry_of(finished.folder)
    moved = {**entry.arms, "hint": {**entry.arms["hint"], "hint": "yield"}}
    other = entry.model_copy(update={"arms": moved, "rows": entry.rows[:1]})
    found = {a.label: a for a in compare_entries(entry, other).answers}
    assert "other levels" in found["hint"].why
    assert {a.relation for a in found.values()} == {"not comparable"}
    broken = entry.model_copy(update={"told_apart": "the control differs"})
    assert all("invalid" in a.why for a in compare_entries(entry, broken).answers)
    with pytest.raises(InputError, match="of study"):
        compare_entries(entry, entry.model_copy(update={"study": "another"}))


def test_a_history_names_where_an_answer_changed(finished: Bundle) -> None:
    """And what else changed there."""
    entry = entry_of(finished.folder)
    old = {"servers": {"target engine": "1"}}
    entries = [
        (n, with_estimates(twin(entry, n, **(old if n <= 6 else {})), 0.1 + 0.001 * (n % 3)))
        for n in range(1, 7)
    ] + [(n, with_estimates(twin(entry, n), 0.3 + 0.001 * (n % 3))) for n in range(7, 13)]
    (found,) = [h for h in histories(entries, of="cache")]
    assert [p.bundle for p in found.points] == list(range(1, 13))
    (change,) = found.changes
    assert change.bundle == 7
    assert change.differs == {"target engine": ("1", "not known")}
    assert change.before == pytest.approx(0.101)
    assert change.after == pytest.approx(0.301)


def test_levels_have_a_history_on_each_machine(finished: Bundle) -> None:
    """Two machines are two series."""
    entry = entry_of(finished.folder)
    entries = [(1, twin(entry, 1)), (2, twin(entry, 2, machine="other"))]
    found = histories(entries, of="baseline", level=True)
    assert [h.machine for h in found] in ([entry.machine, "other"], ["other", entry.machine])
    assert all(h.is_level and len(h.points) == 1 for h in found)


def test_the_commands_answer(finished: Bundle, tmp_path: Path) -> None:
    """Each of them, as a table and as JSON."""
    assert "entered" in assay("ledger", "add", finished.folder).stdout
    assert (
        "already" in assay("ledger", "add", shutil.copytree(finished.folder, tmp_path / "c")).stdout
    )
    assert json.loads(assay("ledger", "query", "hint", "--json").stdout)[0]["row"]["of"] == "hint"
    for words in (("history",), ("ledger", "history")):
        assert "cache" in assay(*words, "fake").stdout
    assert assay("history", "fake", "--level", "--json").returncode == 0
    assert assay("history", "unknown").returncode == 2
    rows = assay("ledger", "export").stdout.splitlines()
    assert rows[0].startswith("bundle,folder,node,identity,study")
    assay("ledger", "export", "--to", "json", "--out", tmp_path / "x.json")
    assert len(json.loads((tmp_path / "x.json").read_text())) == len(rows) - 1
    assert assay("ledger", "compare", "1", "99").returncode == 2
    assert assay("ledger", "export", "--to", "xml").returncode == 2


def test_hostile_names_do_nothing(ledger: Ledger, finished: Bundle) -> None:
    """In statements, in patterns, and on a terminal."""
    name = "x'; DROP TABLE bundles; --\x1b[2J%_"
    ledger.add(entry_of(finished.folder).model_copy(update={"study": name}))
    assert {f.study for f in ledger.rows(LedgerQuery(study=name))} == {name}
    assert not ledger.rows(LedgerQuery(study="x%"))
    assert ledger.count() == 1


def test_kinds_of_request_are_answers_too(
    ledger: Ledger, tmp_path: Path, fake: FakeTarget, study: Study
) -> None:
    """Found when they are asked for, and compared."""
    fake.script = with_kinds({"read": (7e5, 1e6), "update": (1e6, 1e6)})
    entry = entry_of(run_fake(tmp_path / "kinds", fake, study).folder)
    ledger.add(entry)
    asked = LedgerQuery(words=["read"], metric="latency_p50", kinds=True)
    assert {f.row.request for f in ledger.rows(asked)} == {"read"}
    assert not any(f.row.request for f in ledger.rows(LedgerQuery()))
    (followed, *_) = histories([(1, entry)], of="cache", request="read")
    assert followed.label == "cache on read"
    found = compare_entries(entry, entry)
    assert {"cache", "cache on read"} <= {a.label for a in found.answers}
    assert {a.relation for a in found.answers} <= {"agree", "compatible"}
