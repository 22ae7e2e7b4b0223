"""Three-valued conditions: beside every assignment of what is unknown, and beside a real cpp."""

from __future__ import annotations

import itertools
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.readiness.source.directives import directives, look
from assay.readiness.source.project import File
from assay.readiness.source.text import Text
from assay.readiness.source.tristate import ABSENT, MAYBE, NO, YES, condition
from assay.readiness.source.worlds import AARCH64, X86_64

COMPILERS = [("gcc", X86_64), ("aarch64-linux-gnu-gcc", AARCH64)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", NO),
        ("1 ? 0 : 1", NO),
        ("0x10 == 16 && 010 == 8", YES),
        ("defined __x86_64__ || defined(__aarch64__)", YES),
        ("defined(UNKNOWN) && 0", NO),
        ("UNKNOWN || !0", YES),
        ("UNKNOWN > 3", MAYBE),
        ("!defined(UNKNOWN)", MAYBE),
        ("__GNUC__ * 100 + __GNUC_MINOR__ >= 406", YES),
        ("__has_include(<auvx.h>) && 1", MAYBE),
        ("__GNUC_PREREQ(4, (3)) || 1", YES),
        ("1 << 3 | 1 ^ 8", YES),
        ("10 / 0", MAYBE),
        ("(1", MAYBE),
        ("", MAYBE),
        ("'a' == 97", MAYBE),
        ("1L + 2UL == 3u", YES),
        ("-1 < 0 && ~0 == -1", YES),
    ],
)
def test_an_expression_has_the_value_that_c_gives_it(text: str, value: int) -> None:
    """As a table, the odd ones among them."""
    assert condition(text, X86_64) == value


def test_deep_nesting_is_no_reason_to_fail() -> None:
    """A file may be hostile."""
    assert condition("(" * 5000 + "1" + ")" * 5000, X86_64) == MAYBE
    assert condition("!" * 5000 + "1", X86_64) == MAYBE


def test_macros_that_name_each_other_end() -> None:
    """A is B, and B is A."""
    assert condition("A", {"A": "B", "B": "A"}) == MAYBE


def expression(dice: random.Random, depth: int) -> str:
    """A random condition over three macros that nobody knows and two that are known."""
    if depth == 0 or dice.random() < 0.2:
        leaf = dice.choice(["A", "B", "C", "defined(ON)", "defined(OFF)", "0", "1"])
        return leaf if dice.random() < 0.7 else f"!{leaf}"
    operator = dice.choice(["&&", "||"])
    left, right = expression(dice, depth - 1), expression(dice, depth - 1)
    return f"({left} {operator} {right})"


def plainly(text: str, values: dict[str, int]) -> bool:
    """The slow twin: the value where everything is known, as Python computes it."""
    known = text.replace("defined(ON)", "1").replace("defined(OFF)", "0")
    known = re.sub(r"[ABC]", lambda m: str(values[m[0]]), known)
    known = re.sub(r"!(\d)", lambda m: str(int(m[1] == "0")), known)
    known = known.replace("&&", " and ").replace("||", " or ")
    return bool(eval(f"bool({known})"))


def test_what_is_said_holds_for_every_build() -> None:
    """YES where all assignments of the unknown make it true, NO where none does, else no claim."""
    dice = random.Random(8)
    claims = 0
    for _ in range(400):
        text = expression(dice, 3)
        value = condition(text, {"ON": "1", "OFF": ABSENT})
        worlds = [
            plainly(text, dict(zip("ABC", bits, strict=True)))
            for bits in itertools.product((0, 1), repeat=3)
        ]
        if value == YES:
            assert all(worlds), text
        if value == NO:
            assert not any(worlds), text
        claims += value != MAYBE
    assert claims > 100


@pytest.mark.server
@pytest.mark.parametrize(("compiler", "table"), COMPILERS, ids=["x86_64", "aarch64"])
def test_what_a_world_knows_is_what_its_compiler_says(
    compiler: str, table: dict[str, object]
) -> None:
    """Every macro of the table, against the compiler's own list."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True).stdout
    if compiler == "gcc" and not machine.startswith("x86_64"):
        pytest.skip("gcc compiles for another processor")
    told = subprocess.run(
        [compiler, "-dM", "-E", "-"], input="", capture_output=True, text=True, check=True
    ).stdout
    real = {line.split()[1].split("(")[0] for line in told.splitlines()}
    of_headers = {"__GLIBC__", "__GLIBC_MINOR__", "__WORDSIZE"}
    missing = [n for n, v in table.items() if isinstance(v, str) and n not in real | of_headers]
    wrongly_absent = [n for n, v in table.items() if v is ABSENT and n in real]
    assert (missing, wrongly_absent) == ([], [])


def random_source(dice: random.Random) -> list[str]:
    """A file whose conditions a compiler knows all: nested, with definitions on the way."""
    known = ["__x86_64__", "__aarch64__", "__linux__", "_WIN32", "__GNUC__", "LOCAL"]
    lines: list[str] = []
    stack: list[bool] = []
    for number in range(1200):
        roll = dice.random()
        name = dice.choice(known)
        test = dice.choice(
            [f"defined({name})", f"!defined {name}", f"{name} + 0 > 3",
             f"defined({name}) && !(defined({dice.choice(known)}))", f"{name} || 0"]
        )  # fmt: skip
        if roll < 0.15 and len(stack) < 6:
            kind = dice.choice(["#if", "# ifdef", "  #ifndef"])
            lines.append(f"{kind} {test if kind == '#if' else name}")
            stack.append(False)
        elif roll < 0.22 and stack and not stack[-1]:
            lines.append(f"#elif {test} /* or */")
        elif roll < 0.3 and stack and not stack[-1]:
            lines.append("#else // the rest")
            stack[-1] = True
        elif roll < 0.42 and stack:
            lines.append("#endif")
            stack.pop()
        elif roll < 0.5:
            lines.append(dice.choice(["#define LOCAL 7", "#undef LOCAL", "#define LOCAL 1"]))
        else:
            lines.append(f"mark_{number}_")
    return [*lines, *["#endif"] * len(stack)]


@pytest.mark.server
@pytest.mark.parametrize(("compiler", "table"), COMPILERS, ids=["x86_64", "aarch64"])
def test_the_lines_that_count_are_those_that_a_compiler_keeps(
    compiler: str, table: dict[str, object], tmp_path: Path
) -> None:
    """Of a random file in which nothing is unknown, all lines, exactly."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    lines = random_source(random.Random(22))
    path = tmp_path / "file.c"
    path.write_text("#undef LOCAL\n" + "\n".join(lines) + "\n")
    kept = subprocess.run(
        [compiler, "-E", "-P", "-w", str(path)], capture_output=True, text=True, check=True
    ).stdout
    text = Text(path.read_text(), "c")
    seen = look(directives(text), text.lines, (table, table), (YES, YES))
    ours = {
        match[0]
        for number, line in enumerate(text.raw.split("\n"), start=1)
        if (match := re.match(r"mark_\d+_", line)) and seen.arm[number] == YES
    }
    assert ours == set(re.findall(r"mark_\d+_", kept))
    assert len(ours) > 50
    assert MAYBE not in seen.arm[1 : text.lines]


def test_a_guard_against_including_twice_is_no_condition() -> None:
    """Else all headers would be uncertain."""
    text = Text("#ifndef X_H\n#define X_H\nint x;\n#endif\n", "c")
    seen = look(directives(text), text.lines, (X86_64, AARCH64), (YES, YES))
    assert seen.arm[3] == YES


def test_comments_and_strings_hide_directives_and_lines_keep_their_numbers() -> None:
    """A block comment over lines, a string with a comment's sign, a continued directive."""
    raw = (
        '/* #if 0\n*/ const char *s = "/*";\n#if defined(A) && \\\n    0\nhidden\n#endif\n'
        'R"(x\n/*)"\n'
    )
    text = Text(raw, "c")
    assert len(text.bare) == len(raw)
    assert text.bare.count("\n") == raw.count("\n")
    found = directives(text)
    assert [(d.name, d.line, d.last_line) for d in found] == [("if", 3, 4), ("endif", 6, 6)]
    seen = look(found, text.lines, (X86_64, AARCH64), (YES, YES))
    assert (seen.arm[2], seen.arm[5], seen.arm[7]) == (YES, NO, YES)
    assert '"/*"' in text.bare


def test_a_file_that_ends_in_an_open_condition_or_closes_too_many_is_read() -> None:
    """Broken sources exist."""
    for raw in ("#if 0\nx\n", "#endif\n#else\nx\n", "#if", '"\n', "/*"):
        file = File("a.c", raw)
        file.seen = look(file.directives, file.text.lines, (X86_64, AARCH64), (YES, YES))
        assert file.structure.functions == []
