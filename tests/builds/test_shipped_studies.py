"""Studies that ship with patches and flags: each patch is used, labelled and fits; each builds.

What takes minutes or fetches much has the mark `large`: `make test-builds`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import pytest

from assay.bench.preflight import fit
from assay.builds import differences
from assay.builds.patches import patched, touched
from assay.builds.recipe_file import shipped_recipes
from assay.builds.source import distribution
from assay.core.errors import FileError, MissingError
from assay.host import host_facts
from assay.study import Study, locate, read, shipped
from assay.targets import TARGETS

PATCHES = sorted(
    Path(str(resources.files("assay") / "library" / "patches")).glob("*.patch"),
    key=lambda path: path.name,
)
SMALL = ("nginx",)
"""Sources that other tests fetch too."""

BUILT = {
    "nginx-pause-patch": (),
    "postgresql-crc": pytest.mark.large,
    "postgresql-spin-delay": pytest.mark.large,
    "redis-o3-link": pytest.mark.large,
    "redis-o3-lto": pytest.mark.large,
}


def program_of(patch: Path) -> str:
    return patch.name.partition("-")[0]


def studies() -> Mapping[str, Study]:
    """Those with a program to build."""
    found = {name: read(*locate(name)) for name in shipped()}
    return {name: study for name, study in found.items() if study.build is not None}


def test_every_shipped_patch_is_of_a_shipped_study_of_its_program() -> None:
    """None lies about, and none is for another program."""
    used = {}
    for study in studies().values():
        assert study.build is not None
        for factor in study.factors.values():
            for level in factor.levels.values():
                patches = level.application.variation.patches if level.application.variation else ()
                used |= dict.fromkeys(patches, study.build.program.recipe.name)
    assert sorted(used) == PATCHES
    assert {program_of(patch): recipe for patch, recipe in used.items()} == {
        name: name for name in used.values()
    }


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_every_shipped_patch_says_what_it_does_and_whose_it_is(patch: Path) -> None:
    """One to a file under the GPL changes one line and quotes no more than the two around it."""
    text = patch.read_text()
    head, _, body = text.partition("--- a/")
    assert "Written for Assay" in head
    assert "licence" in head or "GPL" in head
    lines = body.splitlines()[2:]
    if "GPL" in head:
        assert [line[0] for line in lines] == ["@", " ", "-", "+", " "]
    assert touched(text)


@pytest.mark.parametrize(
    "patch",
    [pytest.param(p, marks=() if program_of(p) in SMALL else pytest.mark.large) for p in PATCHES],
    ids=lambda path: path.stem,
)
def test_every_shipped_patch_fits_the_distributions_source(patch: Path, tmp_path: Path) -> None:
    """Exactly: there is no fuzz."""
    source = distribution(shipped_recipes()[program_of(patch)].package)
    with tarfile.open(source.path) as archive:
        for member in archive:
            _, _, name = member.name.partition("/")
            if name in touched(patch.read_text()):
                place = tmp_path / name
                place.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None
                place.write_bytes(content.read())
    changed = patched([patch], tmp_path)
    assert changed
    for name, content in changed.items():
        assert content != (tmp_path / name).read_bytes()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [pytest.param(n, marks=marks) for n, marks in BUILT.items()])
def test_a_shipped_study_of_builds_is_built_and_differs_as_it_says(name: str) -> None:
    """In the functions that it says it touches; levels of another machine are left out."""
    study = fit(read(*locate(name)), host_facts(), TARGETS)
    base, *others = study.built.values()
    assert others
    assert all(differences(base, other) for other in others)


@pytest.mark.parametrize("name", ["flags-armv8", "mariadb-arm"])
def test_a_study_of_one_machine_is_refused_elsewhere_before_anything_is_built(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building takes minutes: nobody is to wait for a patch that changes nothing here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    facts = {**host_facts(), "arch": "x86_64"}
    with pytest.raises(MissingError, match="needs aarch64; this is x86_64"):
        fit(read(*locate(name)), facts, TARGETS)
    assert not list(tmp_path.rglob("*"))


def test_a_machine_belongs_to_a_build() -> None:
    """The levels of other changes know what they need."""
    text = shipped()["mariadb-spin"].replace('name = "delay"', 'name = "delay"\nmachine = "x86_64"')
    with pytest.raises(FileError, match="machine belongs to builds"):
        read("mariadb-spin", text, Path.cwd())
