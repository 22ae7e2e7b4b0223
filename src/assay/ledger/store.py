"""The database itself: entries in, entries and answers out. SQLite in a file, or PostgreSQL.

Every write is one transaction that excludes other writers (`BEGIN IMMEDIATE`; an advisory lock of
PostgreSQL), migrations included, so that two processes may enter bundles at once. Errors of the
libraries are translated here: LedgerError, with what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from assay.core.errors import AlteredError, DamagedLedgerError, LedgerError
from assay.ledger.entries import BY_KIND, Entered, LedgerEntry, LedgerRow, about, node_name
from assay.ledger.places import LedgerPlace
from assay.ledger.scrubbing import scrubbed
from assay.ledger.tables import BUNDLES, HEAD, LEVELS, VERDICTS
from assay.record.files import identity

BUSY_S = 60.0
"""How long one writer waits for another."""
LOCK = 0x61737361
"""The advisory lock of writers, of PostgreSQL."""
DAMAGED = re.compile("not a database|malformed|no such table|no such column|disk image")
ALONE = "assay_alone"
"""The option of a connection whose transactions exclude other writers."""
REBUILD = "assay ledger rebuild"

Whereabouts = Literal["here", "gone", "another bundle", "elsewhere"]


class FoundAnswer(Entered):
    """An answer with the bundle that gave it. `bundle` is its number in this ledger; the rest are
    as in LedgerEntry."""

    bundle: int
    folder: str
    node: str
    identity: str
    study: str
    started: str
    machine: str
    assay: str
    told_apart: str
    row: LedgerRow


class ListedBundle(Entered):
    """A bundle with its number in this ledger, and where it is now."""

    bundle: int
    where: Whereabouts
    entry: LedgerEntry


@dataclass(frozen=True)
class Added:
    """What entering a bundle came to: `moved` is the folder where it was, `copy` the one where the
    same bundle still is, in which case nothing was entered."""

    folder: str
    moved: str = ""
    copy: str = ""


@dataclass(frozen=True)
class LedgerQuery:
    """Which answers are asked for: all `words` occur in what an answer is about; the others are
    equal, or empty. `kinds`: those by kind of request too; `leads`: what only suggests too."""

    words: Sequence[str] = ()
    study: str = ""
    target: str = ""
    workload: str = ""
    metric: str = ""
    word: str = ""
    machine: str = ""
    since: str = ""
    kinds: bool = False
    leads: bool = False


class Ledger:
    """An open ledger."""

    def __init__(self, engine: sa.Engine, place: LedgerPlace) -> None:
        self.engine, self.place = engine, place

    @classmethod
    def open(cls, place: LedgerPlace) -> Ledger:
        """The ledger there, made or migrated where it has to be. LedgerError if it cannot be."""
        ledger = cls(_engine(place), place)
        with ledger.reading() as held:
            is_current = _revision(held) == HEAD
        if not is_current:
            with ledger.writing() as held:
                _migrate(held)
        return ledger

    def close(self) -> None:
        """Let its connections go."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction in which nobody else writes."""
        alone = self.engine.execution_options(**{ALONE: True})
        with _translated(self.place), alone.begin() as held:
            if held.dialect.name == "postgresql":
                held.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            yield held

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to read by."""
        with _translated(self.place), self.engine.connect() as held:
            yield held

    # writing

    def add(self, entry: LedgerEntry) -> Added:
        """Enter a bundle, in the place of what was entered of it before."""
        with self.writing() as held:
            same = held.execute(
                sa.select(BUNDLES.c.id, BUNDLES.c.folder, BUNDLES.c.node, BUNDLES.c.end).where(
                    BUNDLES.c.identity == entry.identity
                )
            ).all()
            moved = ""
            for number, folder, node, end in same:
                is_here = node == entry.node
                if is_here and folder == entry.folder:
                    _remove(held, number)
                elif is_here and whereabouts(folder, node, entry.identity) != "here":
                    moved = folder
                    _remove(held, number)
                elif end == entry.end:
                    return Added(entry.folder, copy=folder)
            _insert(held, entry)
        return Added(entry.folder, moved=moved)

    def clear(self) -> None:
        """Take every bundle out that this machine entered."""
        with self.writing() as held:
            mine = sa.select(BUNDLES.c.id).where(BUNDLES.c.node == node_name())
            for table in (VERDICTS, LEVELS):
                held.execute(table.delete().where(table.c.bundle.in_(mine)))
            held.execute(BUNDLES.delete().where(BUNDLES.c.node == node_name()))

    # reading

    def entries(self, study: str = "", limit: int | None = None) -> list[tuple[int, LedgerEntry]]:
        """Bundles with their numbers, the newest first."""
        wanted = sa.select(BUNDLES).order_by(BUNDLES.c.started.desc(), BUNDLES.c.id.desc())
        if study:
            wanted = wanted.where(BUNDLES.c.study == study)
        with self.reading() as held:
            found = held.execute(wanted.limit(limit)).mappings().all()
            return [(row["id"], _entry(held, row)) for row in found]

    def entry(self, number: int) -> LedgerEntry | None:
        """The bundle of a number; None where there is none."""
        with self.reading() as held:
            wanted = sa.select(BUNDLES).where(BUNDLES.c.id == number)
            found = held.execute(wanted).mappings().first()
            return None if found is None else _entry(held, found)

    def count(self) -> int:
        """How many bundles there are."""
        with self.reading() as held:
            return int(held.execute(sa.select(sa.func.count()).select_from(BUNDLES)).scalar_one())

    def rows(self, asked: LedgerQuery) -> list[FoundAnswer]:
        """The answers asked for, the newest first."""
        joined = VERDICTS.join(BUNDLES, VERDICTS.c.bundle == BUNDLES.c.id)
        names = [name for name in FoundAnswer.model_fields if name not in ("bundle", "row")]
        of_bundle = [BUNDLES.c[name].label(f"bundle_{name}") for name in names]
        wanted = (
            sa.select(VERDICTS, *of_bundle)
            .select_from(joined)
            .where(*_conditions(asked))
            .order_by(BUNDLES.c.started.desc(), BUNDLES.c.id.desc(), VERDICTS.c.id)
        )
        with self.reading() as held:
            return [
                FoundAnswer(
                    bundle=row["bundle"],
                    row=_read(LedgerRow, row),
                    **{name: row[f"bundle_{name}"] for name in names},
                )
                for row in held.execute(wanted).mappings()
            ]


def whereabouts(folder: str, node: str, known: str) -> Whereabouts:
    """Whether a bundle is still in the folder it was entered from."""
    if node != node_name():
        return "elsewhere"
    place = Path(folder)
    if not (place / "plan.json").exists():
        return "gone"
    try:
        return "here" if identity(place) == known else "another bundle"
    except AlteredError:
        return "another bundle"


# statements


def _conditions(asked: LedgerQuery) -> Iterator[sa.ColumnElement[bool]]:
    for text in asked.words:
        for word in re.findall(r"[^\W_]+", text.lower()):
            # A plural finds what is written in the singular.
            stem = word.removesuffix("s") if len(word) > 3 else word
            yield VERDICTS.c.about.contains(stem, autoescape=True)
    equal = {BUNDLES.c.study: asked.study, BUNDLES.c.machine: asked.machine,
             VERDICTS.c.metric: asked.metric, VERDICTS.c.word: asked.word}  # fmt: skip
    for column, value in equal.items():
        if value:
            yield column == value
    for column, value in ((VERDICTS.c.target, asked.target), (VERDICTS.c.workload, asked.workload)):
        if value:
            spaced = sa.literal(" ").concat(column).concat(" ")
            yield spaced.contains(f" {value} ", autoescape=True)
    if asked.since:
        yield BUNDLES.c.started >= asked.since
    wanted = {"confirmed": True, BY_KIND: asked.kinds, "suggests": asked.leads}
    yield VERDICTS.c.strength.in_([strength for strength, is_asked in wanted.items() if is_asked])


def _insert(held: sa.Connection, entry: LedgerEntry) -> None:
    texts = _change_texts()
    values = entry.model_dump(exclude={"levels", "rows"})
    made = held.execute(BUNDLES.insert().values(**values)).inserted_primary_key
    assert made is not None, "every bundle has a number"
    levels = [{"bundle": made[0], **level.model_dump()} for level in entry.levels]
    rows = [
        {"bundle": made[0], "about": about(entry, row, texts), **row.model_dump()}
        for row in entry.rows
    ]
    for table, lines in ((LEVELS, levels), (VERDICTS, rows)):
        if lines:
            held.execute(table.insert(), lines)


def _remove(held: sa.Connection, number: int) -> None:
    for table in (VERDICTS, LEVELS):
        held.execute(table.delete().where(table.c.bundle == number))
    held.execute(BUNDLES.delete().where(BUNDLES.c.id == number))


@cache
def _change_texts() -> Mapping[str, str]:
    from assay.changes import CATALOGUE

    return {name: change.text for name, change in CATALOGUE.items()}


def _entry(held: sa.Connection, row: Mapping[Any, Any]) -> LedgerEntry:
    parts: dict[str, Any] = {}
    for name, table in (("levels", LEVELS), ("rows", VERDICTS)):
        wanted = sa.select(table).where(table.c.bundle == row["id"]).order_by(table.c.id)
        kept = set(table.c.keys()) - {"id", "bundle", "about"}
        found = held.execute(wanted).mappings()
        parts[name] = [{key: line[key] for key in kept} for line in found]
    return LedgerEntry(**{key: value for key, value in row.items() if key != "id"}, **parts)


def _read(model: type[LedgerRow], row: Mapping[Any, Any]) -> LedgerRow:
    return model(**{name: row[name] for name in model.model_fields})


# opening


def _engine(place: LedgerPlace) -> sa.Engine:
    try:
        if place.file is None:
            url = sa.make_url(place.url).set(drivername="postgresql+pg8000")
            return sa.create_engine(url, poolclass=sa.NullPool)
        place.file.parent.mkdir(parents=True, exist_ok=True)
        url = sa.URL.create("sqlite", database=str(place.file))
        engine = sa.create_engine(
            url, poolclass=sa.NullPool, connect_args={"timeout": BUSY_S, "isolation_level": None}
        )
    except ModuleNotFoundError as error:
        raise LedgerError(
            "a ledger in PostgreSQL needs the package pg8000",
            next_step="pip install 'assay[postgresql]'",
        ) from error
    except (SQLAlchemyError, OSError) as error:
        raise LedgerError(f"the ledger {place} cannot be opened: {_why(error)}") from error
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(held: sa.Connection) -> None:
    """SQLite's driver begins no transaction by itself, as it is opened here."""
    alone = held.get_execution_options().get(ALONE)
    held.exec_driver_sql("BEGIN IMMEDIATE" if alone else "BEGIN")


def _revision(held: sa.Connection) -> str | None:
    """The version of the tables; None where there are none."""
    if not sa.inspect(held).has_table("alembic_version"):
        return None
    return held.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(held: sa.Connection) -> None:
    """Bring the tables to this version. LedgerError where a newer one made them."""
    current = _revision(held)
    if current == HEAD:  # another process was faster
        return
    # Alembic takes long to import, and there is nothing to migrate nearly always.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = held
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise LedgerError(
            f"the ledger has tables of version {current}; this Assay knows {HEAD}",
            next_step="use the newer Assay, or name another ledger by ASSAY_LEDGER",
        )
    command.upgrade(config, "head")


@contextmanager
def _translated(place: LedgerPlace) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        why = _why(error)
        if place.file is not None and DAMAGED.search(why):
            raise DamagedLedgerError(
                f"the ledger {place} is damaged: {why}", next_step=REBUILD
            ) from error
        raise LedgerError(
            f"the ledger {place} cannot be used: {why}",
            next_step="the bundles are as they were; `assay ledger add BUNDLE` enters one later",
        ) from error


def _why(error: Exception) -> str:
    """The database's own words, without the statement and what was in it."""
    found = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return scrubbed(" ".join(str(found).split()))[:200]
