"""Who may not write the host's values is told so before anything is written, on this very host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.host.facts import host_facts
from assay.host.rules import View, findings
from assay.host.transaction import HostPlan, apply, tree_at, value_item
from assay.targets import traits_of
from rights_kit import as_nobody

SWAPPINESS = Path("/proc/sys/vm/swappiness")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def other_value() -> str:
    return "11" if SWAPPINESS.read_text().strip() == "10" else "10"


@needs_root
def test_a_normal_user_is_told_which_right_is_missing_and_nothing_is_written() -> None:
    tree, before = tree_at(Path("/")), SWAPPINESS.read_text()

    def work() -> str:
        item = value_item(tree, "vm.swappiness", other_value())
        return apply(HostPlan.of([item], tree), tree).state

    said = as_nobody(work)
    assert "may not be written by this user" in said
    assert "as root" in said
    assert SWAPPINESS.read_text() == before


@needs_root
def test_a_normal_user_sees_facts_findings_and_plans() -> None:
    """Looking needs no right; what cannot be seen is said, and no error."""

    def work() -> str:
        tree = tree_at(Path("/"))
        list(findings(View(tree, "redis", os.getpid(), traits_of("redis"))))
        plan = HostPlan.of([value_item(tree, "vm.swappiness", other_value())], tree)
        return f"{len(plan.items)} planned on {host_facts()['arch']}"

    host_facts()
    assert as_nobody(work) == f"1 planned on {os.uname().machine}"


READ_ONLY = """
set -e
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
exec "$@"
"""


@needs_root
def test_in_a_container_whose_settings_are_read_only_a_plan_is_refused(tmp_path: Path) -> None:
    """Even for root: the reason is the mount, and the plan belongs on the host."""
    tree, before = tree_at(Path("/")), SWAPPINESS.read_text()
    plan = tmp_path / "plan.json"
    plan.write_text(HostPlan.of([value_item(tree, "vm.swappiness", other_value())], tree).text())
    assay = [sys.executable, "-c", "from assay.cli import main; main()", "host", "apply", str(plan)]
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", *assay]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "/proc/sys/vm/swappiness may not be written" in done.stderr
    assert "read-only here, as in a container" in " ".join(done.stderr.split())
    assert SWAPPINESS.read_text() == before
