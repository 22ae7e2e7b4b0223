"""What `assay compare` was asked: commands with their names, and what is measured of them."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.errors import InputError
from assay.core.metrics import PRINTED_HIGHER, PRINTED_LOWER, Better
from assay.core.parameters import nearest

METRICS = {"wall": "wall_time", "cpu": "cpu_time", "memory": "peak_memory"}
"""What can be measured of any command, by the word of `--metric`."""

NAME_MAX = 60
SHELL_LETTERS = frozenset("|&;<>()$`*?[]~#")
"""What means something to a shell, and nothing to a command."""


@dataclass(frozen=True)
class Contender:
    """One command: its name, its words, and variables of its own ("X=1")."""

    name: str
    words: tuple[str, ...]
    env: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """The whole question. Durations and the percentage as written ("500ms", "2%"); words of
    commands as the study has them. `scan`: by name the values that {NAME} stands for."""

    contenders: tuple[Contender, ...]
    metric: str = "wall_time"
    value: str | None = None
    unit: str = "value"
    better: Better = "higher"
    smallest: str = "2%"
    warmup: str = "0ms"
    window: str = "500ms"
    patience: str = "600s"
    directory: Path | None = None
    prepare: tuple[str, ...] = ()
    between_arms: tuple[str, ...] = ()
    cleanup: tuple[str, ...] = ()
    any_code: bool = False
    scan: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def primary(self) -> str:
        """The metric that gets verdicts."""
        if self.value is None:
            return self.metric
        return f"{PRINTED_HIGHER if self.better == 'higher' else PRINTED_LOWER}.{self.unit}"

    @property
    def also(self) -> list[str]:
        """Those that are shown beside it."""
        return [m for m in METRICS.values() if m != self.primary]

    def cases(self) -> list[dict[str, str]]:
        """What the names of a scan stand for, in each case; one empty case without a scan."""
        names = list(self.scan)
        values = itertools.product(*(self.scan[n] for n in names))
        return [dict(zip(names, v, strict=True)) for v in values]


def words_of_shell(text: str, shell: str) -> tuple[str, ...]:
    """The words of a command: split as a shell would, or given to `sh -c`; InputError if the text
    asks for a shell that it does not get."""
    if shell == "sh":
        return ("sh", "-c", text)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{text!r}: {error}", next_step="close the quote") from None
    if not words:
        raise InputError("a command is empty", next_step="assay compare 'CMD A' 'CMD B'")
    bare = [w for w in words if w in ("|", "||", "&&", ";", ">", ">>", "<", "&", "2>&1")]
    if bare:
        raise InputError(
            f"{text!r} has {bare[0]!r}, which is a word like any other without a shell",
            next_step="add --shell sh; its own start is then measured too",
        )
    return words


def contenders(
    commands: Sequence[str],
    names: Sequence[str],
    envs: Sequence[str],
    baseline: str | None,
    shell: str,
) -> tuple[Contender, ...]:
    """The commands of a command line, the baseline first."""
    if len(names) > len(commands):
        raise InputError(
            f"{len(names)} names for {len(commands)} commands", next_step="give each one name"
        )
    called = [*names, *(_name(c) for c in commands[len(names) :])]
    twice = [n for n in called if called.count(n) > 1]
    if twice:
        raise InputError(
            f"two commands would be called {twice[0]!r}", next_step="name them: --name A --name B"
        )
    own: dict[str, list[str]] = {name: [] for name in called}
    for text in envs:
        name, colon, pair = text.partition(":")
        if not colon or "=" not in pair or pair.startswith("="):
            raise InputError(f"--env {text}: write NAME:VARIABLE=value", next_step="--env A:X=1")
        if name not in own:
            raise _no_command(name, called, "--env")
        own[name].append(pair)
    if baseline is not None and baseline not in called:
        raise _no_command(baseline, called, "--baseline")
    found = [
        Contender(name, words_of_shell(command, shell), tuple(own[name]))
        for name, command in zip(called, commands, strict=True)
    ]
    return tuple(sorted(found, key=lambda c: c.name != (baseline or called[0])))


def scanned(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`--scan threads=1,2,4`, several of them."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        listed = tuple(v for v in values.split(",") if v)
        if not equals or not name.isidentifier() or not listed or len(set(listed)) < len(listed):
            raise InputError(
                f"--scan {text}: write NAME=VALUE,VALUE with different values",
                next_step="--scan threads=1,2,4",
            )
        found[name] = listed
    return found


def _name(command: str) -> str:
    name = " ".join(command.split())
    return name if len(name) <= NAME_MAX else name[: NAME_MAX - 1] + "…"


def _no_command(name: str, called: Sequence[str], option: str) -> InputError:
    return InputError(
        f"{option}: no command is called {name!r}{nearest(name, called)}",
        next_step=f"they are called {', '.join(called)}",
    )
