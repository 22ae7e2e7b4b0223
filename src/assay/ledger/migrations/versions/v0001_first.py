"""The first tables: bundles, levels of their arms, verdicts.

Written out, and not taken from `tables.py`: that holds what the newest migration leads to.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer, nullable=False) for name in names]


def _jsons(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.JSON, nullable=False) for name in names]


def _bundle() -> sa.Column[int]:
    key = sa.ForeignKey("bundles.id", ondelete="CASCADE")
    return sa.Column("bundle", sa.Integer, key, nullable=False, index=True)


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "bundles",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("identity", sa.String(64), nullable=False, index=True),
        sa.Column("study", sa.Text, nullable=False, index=True),
        sa.Column("started", sa.Text, nullable=False, index=True),
        *_texts("folder", "node", "kind", "question", "study_sha256", "assay", "design", "primary"),
        *_texts("baseline", "stopped", "told_apart", "recommended", "end", "machine"),
        *_numbers("statistics", "blocks", "runs", "voids", "failures"),
        *_jsons("facts", "servers", "conditions", "cases", "arms"),
        sa.Column("checked", sa.Boolean, nullable=False),
        sa.UniqueConstraint("identity", "node", "folder"),
    )
    op.create_table(
        "levels",
        sa.Column("id", sa.Integer, primary_key=True),
        _bundle(),
        *_texts("case", "arm", "metric"),
        sa.Column("value", sa.Float, nullable=False),
        *_numbers("runs"),
    )
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer, primary_key=True),
        _bundle(),
        *_texts("case", "scope", "kind", "of", "given", "against", "arm", "metric", "request"),
        *_texts("word", "strength", "target", "workload", "reason"),
        sa.Column("estimate", sa.Float),
        sa.Column("low", sa.Float),
        sa.Column("high", sa.Float),
        *_numbers("blocks"),
        *_jsons("changes"),
        sa.Column("about", sa.Text, nullable=False),
    )
