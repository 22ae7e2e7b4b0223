"""What works with fewer rights than root has: the table of docs/threats.md, cell by cell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fault_kit import cache, temporary
from test_fault_at import ENGINE, MARIADB, of_the_host

__all__ = ["cache", "temporary"]

ROOT = Path(__file__).parent.parent
LOOSE = ROOT / "tests" / "loose.py"

LOWERED = {
    "ordinary user": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
    "root without capabilities": ["setpriv", "--bounding-set=-all", "--no-new-privs"],
    "read-only root": ["env"],
}

COMMANDS = ("verify", "show", "report", "explain")
"""Of a bundle that the study made."""

CELLS = {
    ("ordinary user", "engine"): "",
    ("ordinary user", "mariadb"): "",
    ("ordinary user", "host"): "may not be written by this user",
    ("root without capabilities", "engine"): "",
    ("root without capabilities", "mariadb"): "a user of its own, which takes CAP_CHOWN",
    ("read-only root", "engine"): "",
    ("read-only root", "mariadb"): "",
    ("read-only root", "host"): "next: make /var/lib/assay writable",
}
"""By rights and study, what the study is refused with, at exit code 3; none where it runs."""

ENTER = """
set -e
folder=$1 kind=$2; shift 2
for needed in $NEEDED; do  # what of the way to it is closed to others, is opened here
    closed= way=$needed
    while [ "$way" != / ]; do
        [ -n "$(find "$way" -maxdepth 0 -perm -o+x)" ] || closed=$way
        way=$(dirname "$way")
    done
    if [ -n "$closed" ]; then
        kept=$(mktemp -d "$folder/kept-XXXX")
        mount --bind "$needed" "$kept"
        mount -t tmpfs -o mode=755 none "$closed"
        mkdir -p "$needed"
        mount --bind "$kept" "$needed"
    fi
done
mkdir "$folder/own"
mount -t tmpfs -o mode=777 none "$folder/own"
cp "$folder/study.toml" "$folder/own"
chmod 755 "$folder"
[ "$kind" != "read-only root" ] || mount -o remount,bind,ro /
cd "$folder/own"
exec "$@"
"""
"""In a namespace of mounts of its own: what is mounted is gone with the last command."""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have less")
@pytest.mark.parametrize(("kind", "study"), CELLS)
def test_a_study_runs_or_is_refused_in_a_sentence(kind: str, study: str, temporary: Path) -> None:
    """And its bundle is read with the same rights."""
    texts = {"engine": ENGINE, "mariadb": MARIADB, "host": of_the_host()}
    (temporary / "study.toml").write_text(texts[study])
    own = temporary / "own"
    places = {name: str(own) for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR")}
    env = {**os.environ, **places, "NEEDED": f"{sys.base_prefix} {ROOT}"}
    assay = f'"{sys.executable}" "{LOOSE}"'
    steps = [f"{assay} run study.toml --out b", *(f"{assay} {verb} b" for verb in COMMANDS)]
    enter = ["unshare", "--mount", "sh", "-c", ENTER, "sh", str(temporary), kind]
    command = [*enter, *LOWERED[kind], "sh", "-c", " && ".join(steps)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=170)
    said = done.stdout + done.stderr
    refusal = CELLS[kind, study]
    assert done.returncode == (3 if refusal else 0), said
    assert " ".join(refusal.split()) in " ".join(said.split()), said
    assert "Traceback" not in said, said
    assert not list(own.iterdir())
