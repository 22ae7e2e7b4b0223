"""The five seeds as they ship: what was judged by hand, line by line, stays as it was judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

import assay
from assay.claims import Audited, AuditedRow, Result, shipped_claims
from assay.cli import app
from assay.core.errors import InputError

ROOT = Path(__file__).parent.parent.parent
KEYS = ["claim", "place", "reason", "recomputed", "result", "source", "stated", "statement"]


@pytest.fixture(scope="module")
def rows() -> list[Audited]:
    """Every statement of every claim that ships."""
    return assay.audit()


def test_every_row_has_its_place_and_a_reason(rows: list[Audited]) -> None:
    """Whoever doubts a line can look it up."""
    assert {r.claim for r in rows} == set(shipped_claims())
    assert all(r.place and r.statement and r.stated and r.source for r in rows)
    assert all(r.reason for r in rows)


@pytest.mark.parametrize(
    ("claim", "statement", "result", "recomputed"),
    [
        ("mariadb-arm", "money.cpu.saving", Result.WRONG_KIND, 58.8),
        ("mariadb-arm", "money.io.saving", Result.WRONG_KIND, 65.3),
        ("mariadb-arm", "yearly.huawei.saving", Result.FOLLOWS, 41.4),
        ("mariadb-arm", "62.4 Ghz", Result.FOLLOWS, 62.4),
        ("nginx-isb", "a 2-5% increase", Result.NOT, None),
        ("nginx-isb", "highest uplift: 8 CPUs", Result.UNCHECKED, None),
        ("ydb-arm", "ARM is 50% faster", Result.NOT, 45.0),
        ("ydb-arm", "ARM is 25% faster", Result.NOT, 25.9),
        ("ydb-arm", "NewOrder transactions per second", Result.NOT, 0.0167),
        ("ydb-arm", "hits_upload.x86_postgres.minutes", Result.NOT, 28.8),
        ("ase-memscale", "throughput by 236%", Result.WRONG_KIND, 136.5),
        ("ase-memscale", "TSX improved every measure", Result.NOT, None),
        ("ase-memscale", "TSX+SNAP worsened every measure", Result.FOLLOWS, None),
        ("ase-memscale", "total spinlock contention fell", Result.WRONG_KIND, None),
        ("ase-hugepages", "1,880,096,768 (no unit", Result.FOLLOWS, 1_880_096_768),
        ("ase-hugepages", "~10 CPU clock cycles", Result.NOT, None),
        ("ase-hugepages", "counters.reads.hp1g", Result.FOLLOWS, 353_844.8),
        ("tidb-arm", "all the CPUs except 0 and 8", Result.FOLLOWS, None),
    ],
)
def test_what_was_judged_by_hand_stays_so(
    rows: list[Audited], claim: str, statement: str, result: Result, recomputed: float | None
) -> None:
    """A change of the auditor that changes one of these is looked at again."""
    (row,) = [r for r in rows if r.claim == claim and statement in r.statement]
    assert row.result is result, row
    if recomputed is not None:
        assert row.recomputed is not None
        low, high = row.recomputed
        assert (low + high) / 2 == pytest.approx(recomputed, rel=2e-3)


def test_no_claim_file_says_what_is_to_come_out() -> None:
    """The words of the four answers are not in them."""
    for text in shipped_claims().values():
        for result in Result:
            assert f'"{result}"' not in text


def test_paths_folders_and_names_are_found(tmp_path: Path) -> None:
    """And what is none of them is answered with the nearest name."""
    (tmp_path / "mine.toml").write_text(shipped_claims()["tidb-arm"])
    for path in (str(tmp_path), tmp_path / "mine.toml", "tidb-arm", ROOT / "claims"):
        assert "tidb-arm" in {r.claim for r in assay.audit([path])}
    with pytest.raises(InputError, match="did you mean 'tidb-arm'"):
        assay.audit(["tidb-arn"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no claim file"):
        assay.audit([tmp_path / "empty"])


def run(*words: str | Path) -> Any:
    """The command, in this process."""
    return CliRunner().invoke(app, [str(w) for w in words], prog_name="assay")


def test_the_command_prints_a_table_and_exits_1(tmp_path: Path) -> None:
    """No colour where there is no terminal; JSON is the list that is documented."""
    shown = run("audit", "mariadb-arm")
    assert shown.exit_code == 1
    assert "wrong kind" in shown.stdout
    assert "\x1b" not in shown.stdout
    listed = json.loads(run("audit", "mariadb-arm", "--json").stdout)
    TypeAdapter(list[AuditedRow]).validate_json(json.dumps(listed), strict=True)
    assert all(sorted(row) == KEYS for row in listed)
    contradicted = json.loads(run("audit", "--contradicted", "--json").stdout)
    assert {row["result"] for row in contradicted} == {"does not follow", "wrong kind"}
    fine = tmp_path / "fine.toml"
    fine.write_text(
        'title = "t"\nsource = "s"\n[value]\na = { is = "2 s" }\n'
        '[[statement]]\nsays = "two"\nplace = "1"\nstated = "2 s"\nfrom = "a"\n'
    )
    assert run("audit", fine).exit_code == 0
    fine.write_text('title = "t"\nsource = 3\n')
    wrong = run("audit", fine)
    assert (wrong.exit_code, f"{fine}:2:1: source should be a text" in wrong.stderr) == (2, True)
