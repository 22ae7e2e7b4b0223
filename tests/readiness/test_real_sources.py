"""Real sources: the findings that the published threads are about, at lines that are looked up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.builds.source import distribution
from assay.readiness.finding import ReadinessFinding
from assay.readiness.inputs import gather
from assay.readiness.source import Project, judge, read


def scanned(package: str, scratch: Path) -> tuple[Project, list[ReadinessFinding]]:
    """The sources of a package of Debian's, out of their tar archive, and what is found there."""
    (tree,) = gather([distribution(package).path], scratch).trees
    project = read(tree)
    return project, judge(project)


def lines_with(project: Project, name: str, pattern: str) -> list[int]:
    """Where a file of the tree has a pattern: the truth that findings are compared with."""
    file = min((f for f in project.files if f.name.endswith(name)), key=lambda f: len(f.name))
    return [file.text.line_of(m.start()) for m in re.finditer(pattern, file.text.raw)]


def test_the_pause_of_nginx_that_is_empty_on_arm_is_found_at_its_line(tmp_path: Path) -> None:
    """The #else of the condition whose other branch is a pause; no other empty definition."""
    project, found = scanned("nginx", tmp_path)
    branch = (
        r'#define ngx_cpu_pause\(\) +__asm__ \("pause"\)\n#else\n(?=#define ngx_cpu_pause\(\)\n)'
    )
    name = "src/os/unix/ngx_atomic.h"
    truth = [line + 2 for line in lines_with(project, name, branch)]
    of_rule = [f for f in found if f.rule == "S01"]
    assert [f.line for f in of_rule] == truth
    assert all(f.path.endswith(name) and f.severity == "S2" for f in of_rule)
    assert "ngx_rwlock.c" in of_rule[0].evidence
    assert {f.function for f in found if f.rule == "S05"} == {"ngx_unlock", "ngx_rwlock_downgrade"}


@pytest.mark.large
def test_the_misspelt_header_of_rocksdb_is_found(tmp_path: Path) -> None:
    """A check that can never succeed, and so no CRC instruction on aarch64."""
    project, found = scanned("rocksdb", tmp_path)
    truth = lines_with(project, "CMakeLists.txt", r"check_cxx_symbol_exists\(getauxval auvx\.h")
    of_rule = [f for f in found if f.rule == "S09"]
    assert [f.line for f in of_rule] == truth
    assert [f.severity for f in of_rule] == ["S1"]
