"""An inspection from paths to what is printed and written, with a census that is played back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typer.testing import CliRunner

from assay.changes import CATALOGUE, GENERIC
from assay.cli import app
from assay.readiness import RULES, InspectedFile, inspection
from assay.study import shipped
from readiness_kit import deb_bytes, message, site

ELF = b"\x7fELF\x02\x01\x01" + bytes(57)
SPIN = site("spin-loop", "ngx_spinlock", 0x4242, hint="none", by="helper")
RUN = CliRunner()
Census = Callable[[dict[str, dict[str, Any]]], None]


@pytest.fixture
def census(monkeypatch: pytest.MonkeyPatch) -> Census:
    """Play back messages, by the contents of files: the byte after the header is their number."""

    def play(told: dict[str, dict[str, Any]]) -> None:
        def survey(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
            for path in paths:
                data = told[path.read_bytes()[len(ELF) :].decode()]
                kind = "refused" if "why" in data else "census"
                yield kind, {**data, "path": str(path)}

        monkeypatch.setattr(inspection, "survey", survey)

    return play


def elf(path: Path, mark: str) -> Path:
    """A file that the census is played back for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ELF + mark.encode())
    return path


def asked(*words: object) -> tuple[int, str, str]:
    """What `assay inspect` answers: exit code, stdout, stderr."""
    result = RUN.invoke(app, ["inspect", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_every_rule_names_a_study_that_ships_or_a_change_of_the_catalogue() -> None:
    """So that `assay run` or a study of one's own can settle it."""
    known = {*shipped(), *CATALOGUE, *GENERIC}
    assert {rule.id: rule.study for rule in RULES if rule.study not in known} == {}
    assert len({rule.id for rule in RULES}) == len(RULES) == 35


def test_every_finding_of_every_kind_names_one_too(tmp_path: Path) -> None:
    """Rules may name a better one for a server."""
    from assay.readiness.binary.dispatch import CLASSES
    from assay.readiness.binary.spinning import _SERVERS as OF_BINARIES
    from assay.readiness.source.pauses import _SERVERS as OF_SOURCES

    named = {*OF_BINARIES.values(), *OF_SOURCES.values(), *(study for *_, study in CLASSES)}
    assert named <= set(shipped())


def test_a_binary_with_a_grave_finding_answers_no(tmp_path: Path, census: Census) -> None:
    """The table says what, where, why and which study."""
    census({"1": message(sites=[SPIN], counts={"lse": 2, "yield": 0})})
    code, out, _ = asked(elf(tmp_path / "nginx", "1"))
    assert code == 1
    assert "S2 B05  ngx_spinlock" in out
    assert "assay run nginx-pause" in out
    assert "lse 2" in out


def test_a_binary_with_nothing_grave_answers_yes(tmp_path: Path, census: Census) -> None:
    """Facts are no reason for exit code 1."""
    census({"1": message(facts={"bti": True})})
    code, out, _ = asked(elf(tmp_path / "server", "1"))
    assert code == 0
    assert "B19" in out
    assert "B19" not in asked(tmp_path / "server", "--no-facts")[1]


def test_json_has_one_object_for_each_file(tmp_path: Path, census: Census) -> None:
    """With the keys of the contract, for binaries, sources and what was refused."""
    helper = {"name": "__aarch64_cas4_acq", "address": 0x900, "calls": 7}
    census({"1": message(sites=[SPIN], helpers=[helper]), "2": {"why": "32-bit is not judged"}})
    elf(tmp_path / "t" / "a", "1")
    elf(tmp_path / "t" / "b", "2")
    (tmp_path / "t" / "x.c").write_text("int f(int *x) { return __sync_fetch_and_add(x, 1); }\n")
    code, out, _ = asked("--json", tmp_path / "t")
    told = {Path(file["path"]).name: file for file in json.loads(out)}
    TypeAdapter(list[InspectedFile]).validate_json(out, strict=True)
    assert code == 1
    assert set(told) == {"a", "b", "x.c", ""}
    assert told["a"]["arch"] == "aarch64"
    assert told["a"]["helpers"] == [{"name": "__aarch64_cas4_acq", "address": "0x900", "calls": 7}]
    found = next(f for f in told["a"]["findings"] if f["rule"] == "B05")
    assert found["function"] == "ngx_spinlock"
    assert found["address"] == "0x4242"
    assert found["study"] == "ydb-spinlock"
    assert told["b"]["refused"] == "32-bit is not judged"
    assert told["x.c"]["findings"][0]["line"] == 1
    assert told[""]["coverage"] == {"files": 1, "lines": 2}
    assert len({tuple(sorted(file)) for file in told.values()}) == 1


def test_the_twin_on_amd64_is_found_by_its_name(tmp_path: Path, census: Census) -> None:
    """Inside two packages, whatever the folder of their architecture is called."""
    census(
        {
            "arm": message(counts={"isb": 0}),
            "x86": message(arch="x86_64", counts={"pause": 4}),
            "other": message(arch="x86_64", counts={"pause": 0}),
        }
    )
    arm = tmp_path / "x_1_arm64.deb"
    arm.write_bytes(deb_bytes({"./usr/lib/aarch64-linux-gnu/x.so": ELF + b"arm"}))
    x86 = tmp_path / "x_1_amd64.deb"
    names = {"./usr/lib/x86_64-linux-gnu/x.so": ELF + b"x86", "./bin/other": ELF + b"other"}
    x86.write_bytes(deb_bytes(names))
    _, out, _ = asked(arm, "--against", x86)
    assert "no spin hint at all" in out
    assert "4 pauses" in out
    assert "--against" not in out


def test_a_twin_that_is_no_x86_is_an_error(tmp_path: Path, census: Census) -> None:
    """Two files of one architecture cannot be compared so."""
    census({"1": message()})
    code, _, err = asked(elf(tmp_path / "a", "1"), "--against", elf(tmp_path / "b", "1"))
    assert code == 2
    assert "no x86-64 file" in err


def test_the_host_may_be_this_one_or_a_saved_one(tmp_path: Path, census: Census) -> None:
    """A host.json among the paths is the host, and is not inspected."""
    census({"1": message(sites=[site("unguarded", **{"class": "crc32"})])})
    host = tmp_path / "host.json"
    facts = {"arch": "aarch64", "page_bytes": 65536, "cpu_features": ["asimd"]}
    host.write_text(json.dumps(facts))
    code, out, _ = asked("--for-host", host, elf(tmp_path / "a", "1"))
    assert code == 1
    assert "this host lacks it" in out
    host.write_text("{}")
    code, _, err = asked("--for-host", host, tmp_path / "a")
    assert code == 2
    assert "facts of a host" in err


def test_what_cannot_be_inspected_is_said_and_ends_with_code_2(tmp_path: Path) -> None:
    """If there was nothing else."""
    (tmp_path / "empty").write_bytes(b"")
    code, out, _ = asked(tmp_path / "empty")
    assert code == 2
    assert "it is empty" in out
    assert asked(tmp_path / "nothing")[0] == 2


def test_a_baseline_accepts_what_was_there_and_nothing_new(tmp_path: Path, census: Census) -> None:
    """Moved code stays accepted; a new loop does not; a loop that is gone is said to be."""
    census(
        {
            "1": message(sites=[SPIN]),
            "2": message(sites=[{**SPIN, "address": 0x9000}]),
            "3": message(sites=[SPIN, site("spin-loop", "new", 0x10, hint="none", by="lse")]),
            "4": message(),
        }
    )
    path, base = tmp_path / "server", tmp_path / "base.json"
    assert asked(elf(path, "1"), "--write-baseline", base)[0] == 0
    assert asked(elf(path, "1"), "--baseline", base)[0] == 0
    assert asked(elf(path, "2"), "--baseline", base)[0] == 0
    code, out, _ = asked(elf(path, "3"), "--baseline", base)
    assert code == 1
    assert "(accepted)" in out
    code, _, err = asked(elf(path, "4"), "--baseline", base)
    assert code == 0
    assert "1 accepted findings are gone" in err


def test_a_file_that_is_no_baseline_is_an_error(tmp_path: Path, census: Census) -> None:
    """Not JSON, another form, not there."""
    census({"1": message()})
    path = elf(tmp_path / "a", "1")
    for text in ("no", "[]", '{"form": "x", "accepted": []}'):
        (tmp_path / "base").write_text(text)
        assert asked(path, "--baseline", tmp_path / "base")[0] == 2
    assert asked(path, "--baseline", tmp_path / "none")[0] == 2


def test_a_finding_has_a_page_with_its_disassembly(tmp_path: Path, census: Census) -> None:
    """By its rule, or by the letters that stand beside it."""
    census({"1": message(sites=[SPIN])})
    path = elf(tmp_path / "nginx", "1")
    _, out, _ = asked(path, "--finding", "b05")
    assert "0x4242: d503203f  yield" in out
    assert "cure" in out
    print_of = json.loads(asked(path, "--json")[1])[0]["findings"][0]["fingerprint"]
    assert asked(path, "--finding", print_of[:8])[1] == out
    assert asked(path, "--finding", "zz")[0] == 2


class _Page(HTMLParser):
    """What a page holds: elements, attributes that load something, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "src" or (name == "href" and not (value or "").startswith("#")):
                self.loads.append(f"{tag} {value}")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_html_page_needs_nothing_and_escapes_all(tmp_path: Path, census: Census) -> None:
    """A function, a file and a listing that are markup come out as text."""
    evil = "<img src=x onerror=alert(1)>"
    spin = {**SPIN, "function": evil, "listing": [f"{evil}: 0 {evil}"]}
    census({"1": message(sites=[spin])})
    page = tmp_path / "page.html"
    asked(elf(tmp_path / "<b>server", "1"), "--html", page)
    seen = _Page(page.read_text())
    assert evil in seen.text
    assert "<b>server" in seen.text
    assert "ydb-spinlock" in seen.text
    assert seen.loads == []
    assert not {"img", "script", "b", "link", "iframe"} & set(seen.tags)
    assert seen.tags.count("article") == len(json.loads(asked("--json", tmp_path / "<b>server")[1])
                                             [0]["findings"])  # fmt: skip


class Strict(BaseModel):
    """A part of SARIF 2.1.0 as its schema has it: what is used, and nothing else."""

    model_config = ConfigDict(extra="forbid")


class Text(Strict):
    text: str = Field(min_length=1)


class Configuration(Strict):
    level: str = Field(pattern="^(none|note|warning|error)$")


class SarifRule(Strict):
    id: str
    shortDescription: Text
    fullDescription: Text
    help: Text
    defaultConfiguration: Configuration


class Driver(Strict):
    name: str
    version: str
    rules: list[SarifRule]


class Tool(Strict):
    driver: Driver


class Artifact(Strict):
    uri: str = Field(pattern=r"^[A-Za-z0-9._~!$&'()*+,;=:@%/-]+$")


class Region(Strict):
    startLine: int = Field(ge=1)


class Address(Strict):
    absoluteAddress: int = Field(ge=-1)


class Physical(Strict):
    artifactLocation: Artifact
    region: Region | None = None
    address: Address | None = None


class Logical(Strict):
    name: str
    kind: str


class Location(Strict):
    physicalLocation: Physical
    logicalLocations: list[Logical] = []


class Suppression(Strict):
    kind: str = Field(pattern="^(inSource|external)$")
    justification: str


class Result(Strict):
    ruleId: str
    ruleIndex: int = Field(ge=0)
    level: str = Field(pattern="^(none|note|warning|error)$")
    kind: str = Field(pattern="^(fail|informational)$")
    message: Text
    locations: list[Location] = Field(min_length=1)
    partialFingerprints: dict[str, str]
    properties: dict[str, str]
    suppressions: list[Suppression] = []
    baselineState: str | None = Field(None, pattern="^(new|unchanged)$")


class Note(Strict):
    level: str
    message: Text


class Invocation(Strict):
    executionSuccessful: bool
    toolExecutionNotifications: list[Note]


class Run(Strict):
    tool: Tool
    columnKind: str = Field(pattern="^(utf16CodeUnits|unicodeCodePoints)$")
    invocations: list[Invocation]
    results: list[Result]


class Log(Strict):
    schema_: str = Field(alias="$schema")
    version: str = Field(pattern=r"^2\.1\.0$")
    runs: list[Run] = Field(min_length=1, max_length=1)


def test_sarif_has_the_shape_of_its_schema(tmp_path: Path, census: Census) -> None:
    """Rules found by their index, lines for sources, addresses for binaries, no level for facts."""
    census({"1": message(sites=[SPIN], facts={"bti": True})})
    top = tmp_path / "a tree"
    elf(top / "server", "1")
    (top / "x.c").write_text("\nint f(int *x) { return __sync_fetch_and_add(x, 1); }\n")
    out = tmp_path / "out.sarif"
    (tmp_path / "empty").write_bytes(b"")
    asked(top, tmp_path / "empty", "--sarif", out)
    run = Log.model_validate_json(out.read_text()).runs[0]
    by_rule = {result.ruleId: result for result in run.results}
    assert by_rule["B05"].locations[0].physicalLocation.address.absoluteAddress == 0x4242
    assert by_rule["S06"].locations[0].physicalLocation.region.startLine == 2
    assert (
        by_rule["S06"].locations[0].physicalLocation.artifactLocation.uri.endswith("a%20tree/x.c")
    )
    assert (by_rule["B19"].level, by_rule["B19"].kind) == ("none", "informational")
    for result in run.results:
        assert run.tool.driver.rules[result.ruleIndex].id == result.ruleId
    assert "it is empty" in run.invocations[0].toolExecutionNotifications[0].message.text


def test_sarif_says_what_is_new_and_what_was_accepted(tmp_path: Path, census: Census) -> None:
    """With a baseline."""
    new = site("spin-loop", "new", 0x10, hint="none", by="lse")
    census({"1": message(sites=[SPIN]), "2": message(sites=[SPIN, new])})
    path, base, out = tmp_path / "server", tmp_path / "base.json", tmp_path / "out.sarif"
    asked(elf(path, "1"), "--write-baseline", base)
    asked(elf(path, "2"), "--baseline", base, "--sarif", out)
    results = Log.model_validate_json(out.read_text()).runs[0].results
    told = {r.locations[0].logicalLocations[0].name: r for r in results if r.ruleId == "B05"}
    assert told["ngx_spinlock"].baselineState == "unchanged"
    assert told["ngx_spinlock"].suppressions
    assert told["new"].baselineState == "new"
    assert not told["new"].suppressions
