"""The ledger's tables as this version has them; `migrations` brings older ones here.

bundles    a row for each bundle, its folder and machine
levels     what each arm of it did
verdicts   its answers, with the words by which they are found
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

HEAD = "0001"
"""The newest migration."""

metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _numbers(*names: str) -> list[Column[int]]:
    return [Column(name, Integer, nullable=False) for name in names]


def _jsons(*names: str) -> list[Column[object]]:
    return [Column(name, JSON, nullable=False) for name in names]


def _bundle() -> Column[int]:
    return Column(
        "bundle", Integer, ForeignKey("bundles.id", ondelete="CASCADE"), nullable=False, index=True
    )


BUNDLES = Table(
    "bundles",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identity", String(64), nullable=False, index=True),
    Column("study", Text, nullable=False, index=True),
    Column("started", Text, nullable=False, index=True),
    *_texts("folder", "node", "kind", "question", "study_sha256", "assay", "design", "primary"),
    *_texts("baseline", "stopped", "told_apart", "recommended", "end", "machine"),
    *_numbers("statistics", "blocks", "runs", "voids", "failures"),
    *_jsons("facts", "servers", "conditions", "cases", "arms"),
    Column("checked", Boolean, nullable=False),
    UniqueConstraint("identity", "node", "folder"),
)

LEVELS = Table(
    "levels",
    metadata,
    Column("id", Integer, primary_key=True),
    _bundle(),
    *_texts("case", "arm", "metric"),
    Column("value", Float, nullable=False),
    *_numbers("runs"),
)

VERDICTS = Table(
    "verdicts",
    metadata,
    Column("id", Integer, primary_key=True),
    _bundle(),
    *_texts("case", "scope", "kind", "of", "given", "against", "arm", "metric", "request"),
    *_texts("word", "strength", "target", "workload", "reason"),
    Column("estimate", Float),
    Column("low", Float),
    Column("high", Float),
    *_numbers("blocks"),
    *_jsons("changes"),
    Column("about", Text, nullable=False),
)
