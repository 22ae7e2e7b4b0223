"""The workload `script`: files of a user's own on real servers, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.address import parse_url
from assay.core.errors import AssayError, InputError, MissingError
from assay.load import Load
from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.scripts import script_request
from server_kit import own_folders

__all__ = ["own_folders"]

READ = "\\set aid random(1, 100 * :scale)\nSELECT balance FROM accounts WHERE aid = :aid;\n"
WRITE = """-- as pgbench's own
\\set aid random_zipfian(1, 100 * :scale, 1.5)
\\set delta random(-50, 50)
BEGIN;
UPDATE accounts SET balance = balance + :delta
 WHERE aid = :aid; INSERT INTO history (aid, delta, note) VALUES (:aid, :delta, 'a:b ; ?');
COMMIT;
"""
TABLES = """
CREATE TABLE accounts (aid INT PRIMARY KEY, balance BIGINT NOT NULL);
CREATE TABLE history (aid INT, delta INT, note CHAR(9));
INSERT INTO accounts SELECT {series}, 0 FROM {source};
"""
ROWS = {
    "postgresql": {"series": "s", "source": "generate_series(1, 100 * :scale) s"},
    "mariadb": {"series": "s.seq", "source": "seq_1_to_200 s"},
}


def launch(kind: str, files: list[str], **given: Any) -> Launch:
    """A short run of scripts."""
    target = TARGETS[kind]
    settings = {n: p.default for n, p in target.settings.items() if p.default is not None}
    parameters = {"files": files, "scale": 2}
    for name in ("prepare", "scale"):
        if name in given:
            parameters[name] = given.pop(name)
    settings |= {"connections": 4, **given}
    return Launch(settings, "script", parameters, seed=3, warmup_s=0.05, window_s=0.4)


def measured(made: Launch, kind: str, log: Path) -> Any:
    """What a run measured."""
    TARGETS[kind].check(made)
    server = TARGETS[kind].start(made, log)
    try:
        return server.measure(lambda done, spent: None)
    finally:
        server.stop()


def written(tmp_path: Path, name: str, text: str) -> str:
    """A file with a text."""
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


@pytest.mark.parametrize("kind", ROWS)
def test_scripts_of_pgbench_run_on_sql_servers(kind: str, tmp_path: Path) -> None:
    """Two files by weight, on tables that a third one made."""
    files = [f"{written(tmp_path, 'read.sql', READ)}@3", written(tmp_path, "write.sql", WRITE)]
    tables = written(tmp_path, "tables.sql", TABLES.format(**ROWS[kind]))
    found = measured(launch(kind, files, prepare=tables), kind, tmp_path / "log")
    assert found.complete
    assert found.operations > 20
    assert found.errors == 0
    assert found.metrics["latency_geomean"] > 1000
    assert found.metrics["latency_p99"] > found.metrics["latency_p50"]


@pytest.mark.parametrize("kind", ROWS)
def test_a_statement_that_a_server_refuses_is_said(kind: str, tmp_path: Path) -> None:
    """With its text, before anything is measured."""
    made = launch(kind, [written(tmp_path, "wrong.sql", "SELECT * FROM nowhere WHERE x = 1;")])
    server = TARGETS[kind].start(made, tmp_path / "log")
    try:
        with pytest.raises(AssayError, match=r"SELECT \* FROM nowhere.*refused"):
            server.measure(lambda done, spent: None)
    finally:
        server.stop()


def test_commands_of_redis_are_lines(tmp_path: Path) -> None:
    """With variables in braces, and quotes as one types them."""
    text = '\\set id random(1, 50)\n# both\nSET key:{id} "a b{id}"\nGET key:{id}\n'
    filled = written(tmp_path, "fill", "\n".join(f"SET key:{n} 0" for n in range(1, 51)))
    made = launch("redis", [written(tmp_path, "both", text)], prepare=filled)
    found = measured(made, "redis", tmp_path / "log")
    assert found.operations > 20
    assert found.errors == 0


def test_an_error_of_the_server_is_an_operation_that_failed(tmp_path: Path) -> None:
    """Which voids a run."""
    found = measured(
        launch("redis", [written(tmp_path, "wrong", "SET key")]), "redis", tmp_path / "log"
    )
    assert found.errors == found.operations > 20


def test_paths_have_weights(tmp_path: Path) -> None:
    """On a server that Assay does not know; a path that is not there is a failure."""
    (tmp_path / "files").mkdir()
    for number in range(1, 4):
        (tmp_path / "files" / f"{number}.html").write_text("x" * number)
    text = "\\set n random(1, 3)\n9 /{n}.html\n/1.html?x={n}\n"
    start = [
        "python3",
        "-m",
        "http.server",
        "--bind",
        "127.0.0.1",
        "--directory",
        "{dir}",
        "{port}",
    ]
    made = launch(
        "program",
        [written(tmp_path, "paths", text)],
        start=start,
        template=str(tmp_path / "files"),
        url="http://127.0.0.1:{port}/",
    )
    found = measured(made, "program", tmp_path / "log")
    assert found.operations > 20
    assert found.errors == 0
    wrong = written(tmp_path, "wrong", "/nowhere.html\n")
    other = replace(made, parameters={**made.parameters, "files": [wrong]})
    assert measured(other, "program", tmp_path / "log").errors > 20


def test_each_path_is_a_script_with_the_variables_and_its_weight(tmp_path: Path) -> None:
    """Times that of its file."""
    file = written(tmp_path, "paths", "\\set n random(1, 3)\n\n9 /{n}\n# none\n/b\n")
    request = script_request({"files": [f"{file}@2"], "scale": 4}, "http")
    assert request == {
        "scripts": [
            {"name": "/{n}", "weight": 18, "text": "\\set n random(1, 3)\n/{n}"},
            {"name": "/b", "weight": 2, "text": "\\set n random(1, 3)\n/b"},
        ],
        "given": {"scale": 4},
        "prepare": "",
    }


def test_the_command_line_sends_scripts_too(tmp_path: Path) -> None:
    """One file as a text, several as a list."""
    files = [written(tmp_path, "a.sql", "SELECT 1;"), written(tmp_path, "b.sql", "SELECT 2;")]
    for given, names in ((files[0], ["a"]), (files, ["a", "b"])):
        load = Load(parse_url("mysql://127.0.0.1/x", {}), "script", {"files": given, "scale": 3})
        workload = load.request()["workload"]
        assert workload["kind"] == "script"
        assert [script["name"] for script in workload["scripts"]] == names
        assert workload["given"] == {"scale": 3}


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("postgresql", "SELECT :x;", "mine, line 1: no .*set gives x a value"),
        ("mariadb", "\\sleep 5\n", "mine, line 1: .*sleep is not known"),
        ("redis", "SET 'a", "SET 'a.* is not a command of Redis"),
    ],
)
def test_a_mistake_in_a_script_is_said_before_anything_starts(
    kind: str, text: str, said: str, tmp_path: Path
) -> None:
    """With the script and the line."""
    made = launch(kind, [written(tmp_path, "mine.sql", text)])
    with pytest.raises(InputError, match=said):
        TARGETS[kind].check(made)


def test_files_that_are_none_are_said(tmp_path: Path) -> None:
    """Their names, and lines that are no path."""
    with pytest.raises(MissingError, match=r"nowhere\.sql cannot be read"):
        script_request({"files": ["nowhere.sql"], "scale": 1}, "mysql")
    with pytest.raises(InputError, match="has no files"):
        script_request({"scale": 1}, "mysql")
    with pytest.raises(InputError, match="paths, line 2: 'GET /' is no path"):
        script_request({"files": [written(tmp_path, "paths", "/a\nGET /\n")], "scale": 1}, "http")
