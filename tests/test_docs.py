"""What the documents show is what works: studies are read, commands run, names and links exist."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from assay.cli._commands import real
from assay.host import host_facts
from assay.record import Bundle
from assay.study import read, shipped
from fakes import FACTS, STUDY, FakeTarget, run_fake

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDTH = 120
README_LINES = 160
STUDIES = [
    (page.name, text)
    for page in PAGES
    for text in re.findall(r"```toml\n(.*?)```", page.read_text(), re.S)
]


def commands() -> Iterator[tuple[str, str]]:
    """Each line of an indented block that is a command, without its comment, with its page."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
        for line in text.splitlines():
            if re.match(r"    (assay|assayer|make|echo|zcat|perf|cargo)\s", line):
                yield page.name, re.split(r"\s+#\s", line.strip())[0]


PARSED_ONLY = {
    "assay load": "needs a server of the reader's",
    "assay serve": "runs until it is interrupted",
    "assay ui": "serves until it is interrupted; tests/ui look at it",
    "assay doctor": "looks at a server of the reader's; tests/diagnosis look at some",
    "assay compare": "measures commands of the reader's; tests/compare compares some",
    "assay run my-hint.toml": "measures for minutes; tests/cli and tests/bench run studies",
    "assay run http.toml": "measures for minutes; tests/targets/test_program_page.py runs it",
    "assay run --extend": "measures again; the prepared bundle is of a target that is not real",
    "assay bisect": "builds and measures; tests/bisection search",
    "assay pilot": "measures; tests/cli runs a pilot",
    "assay inspect nginx": "needs packages that are fetched; tests/readiness inspects them",
    "assay inspect /usr/sbin/nginx": "needs nginx; tests/readiness inspects it",
    "assay audit": "says no where a claim is wrong; tests/claims recompute them",
    "assay fleet": "needs hosts of the reader's; tests/fleet starts some",
    "assay host check": "says no on a machine with findings; tests/host judge machines",
}
"""Commands of which only names and options are checked, and why."""

NOT_RUN = {
    "make": "its target is looked up",
    "perf stat": "a tool of the reader's; tests/counters read what it prints",
    "cargo": "builds for minutes; it is how `make install` builds",
    "echo '{\"threads\": 2}' |": "measures; tests/test_native.py sends this request",
}
"""Commands that are not Assay's, or are checked in another way."""

COMMANDS = sorted({line: (page, line) for page, line in commands()}.values())
RUN = [c for c in COMMANDS if not c[1].startswith((*PARSED_ONLY, *NOT_RUN))]
PARSED = [c for c in COMMANDS if c[1].startswith(tuple(PARSED_ONLY))]
PRICES = "".join(
    f'[[price]]\nmachine = "{name}"\nprice = {price}\ncurrency = "EUR"\nperiod = "hour"\n'
    f'source = "made up"\n'
    for name, price in (("my-arm-16", 0.35), ("my-x86-16", 0.4))
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that the documents' commands name, under the same names."""
    folder = tmp_path_factory.mktemp("desk")
    fake = FakeTarget(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0
    )
    study = read("fake.toml", STUDY, Path("."), targets={"engine": fake})
    bundle: Bundle = run_fake(folder / "BUNDLE", fake, study, facts={**FACTS, **host_facts()})
    for other in ("BUNDLE_A", "BUNDLE_B"):
        shutil.copytree(bundle.folder, folder / other)
    runs = "block,arm,value\n" + "".join(
        f"{b},{arm},{100 + b % 3 + more}\n"
        for b in range(10)
        for arm, more in (("baseline", 0), ("new", 20))
    )
    (folder / "runs.csv").write_text(runs)
    (folder / "runs.csv.gz").write_bytes(gzip.compress(runs.encode()))
    for name, level in (("before.csv", 100), ("after.csv", 120)):
        rows = "".join(f"{level + b % 3}\n" for b in range(10))
        (folder / name).write_text(f"value\n{rows}")
    for name in ("counts.csv", "counts.txt"):
        rows = ("1000,,cycles,100,100.00,,", "2000,,instructions,100,100.00,,")
        (folder / name).write_text("\n".join(rows) + "\n")
    (folder / "prices.toml").write_text(PRICES)
    shutil.copy("/bin/true", folder / "librocksdb.so")
    samples = ROOT / "tests" / "data" / "imports"
    shutil.copytree(samples, folder, dirs_exist_ok=True)
    shutil.copytree(samples / "criterion", folder / "target" / "criterion")
    for run in ("1", "2"):
        shutil.copy(samples / f"sysbench-{run}.txt", folder / f"other-{run}.txt")
    for tree in ("SRC", "PATH"):
        (folder / tree).mkdir()
        (folder / tree / "pause.c").write_text("int main(void) { return 0; }\n")
    ready = shell(
        "assay host show --json > host.json; assay inspect SRC --write-baseline accepted.json; "
        "assay ledger add BUNDLE",
        folder,
    )
    assert ready.returncode == 0, ready.stderr
    return folder


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a reader would, with Assay's commands on the path."""
    where = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env={
            **os.environ,
            "PATH": where,
            "ASSAY_LEDGER": f"sqlite:///{folder}/ledger.sqlite3",
            "XDG_STATE_HOME": str(folder / "state"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("page", "text"), STUDIES, ids=[page for page, _ in STUDIES])
def test_a_study_shown_in_a_document_is_understood(page: str, text: str) -> None:
    """Copied from the page, it runs."""
    assert read(page, text, Path(".")).factors


@pytest.mark.parametrize(("page", "line"), RUN, ids=[f"{p}: {c}" for p, c in RUN])
def test_a_command_shown_in_a_document_works(page: str, line: str, desk: Path) -> None:
    """Copied from the page, it ends well and says nothing is wrong."""
    done = shell(line, desk)
    assert done.returncode == 0, f"{page}: {line}\n{done.stderr}"


@pytest.mark.parametrize(("page", "line"), PARSED, ids=[f"{p}: {c}" for p, c in PARSED])
def test_a_command_that_is_not_run_here_is_understood(page: str, line: str) -> None:
    """Its options exist and its values are of their kind."""
    _, name, *words = shlex.split(line)
    real(name).make_context(name, words)


def test_a_wrong_command_would_be_seen() -> None:
    """A check that cannot fail checks nothing."""
    with pytest.raises(Exception, match="--no-such-option"):
        real("run").make_context("run", ["quickstart", "--no-such-option"])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_targets_of_make_exist(page: Path) -> None:
    """Those of a benchmark by their file."""
    rules = (ROOT / "Makefile").read_text()
    for name in re.findall(r"(?:`|    )make ([a-z][a-z0-9-]*)", page.read_text()):
        bench = ROOT / "benchmarks" / (name.removeprefix("bench-").replace("-", "_") + ".py")
        fuzz = ROOT / "native/fuzz/fuzz_targets" / (name.removeprefix("fuzz-") + ".rs")
        listed = re.search(rf"^{name}:", rules, re.M)
        assert name in ("bench-", "fuzz-") or listed or bench.exists() or fuzz.exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_names_in_a_document_exist(page: Path) -> None:
    """`assay.decide` and the like, by import."""
    for dotted in re.findall(r"\bassay((?:\.\w+)+)\(?", code(page)):
        found: object = import_module("assay")
        module = "assay"
        for word in dotted.strip(".").split("."):
            module = f"{module}.{word}"
            try:
                found = getattr(found, word)
            except AttributeError:
                found = import_module(module)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_named_in_a_document_exist(page: Path) -> None:
    """Source files by the end of their path."""
    files = sources()
    for name in re.findall(r"`([\w/-]+\.(?:py|rs))`", page.read_text()):
        assert any(path.endswith(f"/{name}") for path in files), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_studies_that_a_document_runs_are_shipped(page: Path) -> None:
    """`assay run NAME`, where NAME is no file and no placeholder."""
    for name in re.findall(r"`assay run ([a-z][a-z0-9-]+)`", page.read_text()):
        assert name in shipped(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_documents_lead_to_files(page: Path) -> None:
    """Relative links only; those to the web are not followed."""
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda p: p.name)
def test_lines_of_a_document_are_short(page: Path) -> None:
    """At most 120 characters; a row of a table cannot be folded and may be longer, but for the
    README's."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        row = line.startswith("|") and page.name != "README.md"
        assert row or len(line) <= WIDTH, f"{page.name}:{number}: {len(line)} characters"


def test_the_readme_is_short() -> None:
    """One sitting."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


def test_every_page_is_linked_from_the_readme() -> None:
    """Directly, or from a page that it links."""
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text()))
    for name in list(linked):
        text = (ROOT / "docs" / name).read_text()
        linked |= set(re.findall(r"\]\(([\w-]+\.md)", text))
    assert {page.name for page in PAGES} - {"README.md"} <= linked


def test_there_are_studies_and_commands_to_check() -> None:
    """In the README and in the guides."""
    assert {page for page, _ in STUDIES} >= {"README.md", "studies.md"}
    assert {page for page, _ in commands()} >= {"README.md", "decide.md", "explain.md"}


def test_a_kept_bundle_becomes_a_table(desk: Path, tmp_path: Path) -> None:
    """With the words and intervals of its verdicts, and nothing else."""
    kept = tmp_path / "my-study"
    kept.mkdir()
    shutil.copy(desk / "BUNDLE" / "verdicts.json", kept)
    table = generator().results(tmp_path)
    assert "### my-study" in table
    rows = Bundle.open(desk / "BUNDLE").verdicts().verdicts
    helped = next(r for r in rows if r.word == "helps")
    assert f"| {helped.contrast.of} | helps | [" in table
    assert generator().results(tmp_path / "none") == "No bundle is kept yet.\n"


def generator() -> ModuleType:
    """`scripts/generate` as a module."""
    loader = SourceFileLoader("generate", str(ROOT / "scripts" / "generate"))
    spec = spec_from_loader("generate", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def code(page: Path) -> str:
    """What a page shows as code, a line for each piece."""
    text = page.read_text()
    return "\n".join(re.findall(r"`([^`\n]+)`", text) + re.findall(r"^    (.*)", text, re.M))


def sources() -> list[str]:
    """The path of every file under version control."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ["/" + name for name in listed.stdout.split()]
