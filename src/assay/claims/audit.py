"""The audit: every statement of some claim files, held against the cells it is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path

from assay.claims import figures, words
from assay.claims.expression import Node, SharesError, UnitsError
from assay.claims.figures import PERCENT, StatementFinding
from assay.claims.file import read_claim
from assay.claims.interval import UndefinedError
from assay.claims.model import Claim, Statement
from assay.claims.power import critique
from assay.claims.result import Audited, Result
from assay.core.errors import ClaimError, InputError, Problem
from assay.core.parameters import nearest

_JUDGES: dict[str, Callable[[Claim, Statement], StatementFinding]] = {
    "value": figures.value,
    "range": figures.spread,
    "percent": figures.percent,
    "same": figures.same,
    **dict.fromkeys(figures.FORMS, figures.compared),
    "compare": words.compared,
    "best": words.best,
    "rising": words.ordered,
    "falling": words.ordered,
    "linear": words.linear,
    "mask": words.mask,
}


def shipped_claims() -> dict[str, str]:
    """The claim files that come with Assay: their text by name."""
    folder = resources.files("assay") / "library" / "claims"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {f.name.removesuffix(".toml"): f.read_text("utf-8") for f in files}


def read_claims(paths: str | Path | Iterable[str | Path] = ()) -> list[Claim]:
    """Claim files by path, folder or shipped name; all that ship where none is named."""
    texts: dict[str, str] = {}
    for path in [paths] if isinstance(paths, str | Path) else paths:
        texts |= _located(str(path))
    if not texts:
        texts = shipped_claims()
    return [read_claim(name, text) for name, text in texts.items()]


def _located(wanted: str) -> dict[str, str]:
    path = Path(wanted)
    if path.is_file():
        return {wanted: _text(path)}
    if path.is_dir():
        found = {str(file): _text(file) for file in sorted(path.glob("*.toml"))}
        if found:
            return found
        raise InputError(f"{wanted} holds no claim file", next_step="it needs files named *.toml")
    library = shipped_claims()
    if wanted in library:
        return {wanted: library[wanted]}
    raise InputError(
        f"{wanted!r} is neither a file, a folder nor a shipped claim{nearest(wanted, library)}",
        next_step=f"these ship: {', '.join(library)}",
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", next_step="give a TOML file") from error


def audit(paths: str | Path | Iterable[str | Path] = ()) -> list[Audited]:
    """Every statement of the claim files named, in their order; all that ship where none is.

    Raises ClaimError with line and column where a file cannot be understood.
    """
    return [row for claim in read_claims(paths) for row in audit_claim(claim)]


def audit_claim(claim: Claim) -> list[Audited]:
    """Every statement of one claim."""
    rows, problems = [], []
    for statement in claim.statements:
        try:
            finding = judge(claim, statement)
        except UnitsError as error:
            problems.append(
                Problem(
                    *claim.document.where(statement.key),
                    f"{statement.says[:60]}: {error}",
                    "give statement and cells units that fit",
                )
            )
            continue
        rows.append(_row(claim, statement, finding))
    if problems:
        raise ClaimError(claim.document.name, problems)
    return rows


def judge(claim: Claim, statement: Statement) -> StatementFinding:
    """One statement against its evidence; UnitsError where the two cannot be compared."""
    lacking = claim.not_printed(_nodes(statement))
    if lacking:
        return StatementFinding(Result.UNCHECKED, None, _missing(claim, lacking))
    if statement.stated is not None and statement.stated.range is None:
        return StatementFinding(Result.UNCHECKED, None, "not printed: the number stated")
    try:
        return _JUDGES[statement.kind](claim, statement)
    except SharesError as error:
        reason = f"percentages of different things are added or compared: {error}"
        return StatementFinding(Result.WRONG_KIND, None, reason)
    except UndefinedError:
        return StatementFinding(Result.UNCHECKED, None, "a divisor can be zero within its rounding")


def _missing(claim: Claim, names: list[str]) -> str:
    """The cells that are not printed, and where that was looked for."""
    places = dict.fromkeys(claim.cells[name].place for name in names)
    where = "; ".join(place for place in places if place)
    return f"not printed: {', '.join(names)}" + (f" ({where})" if where else "")


def _nodes(statement: Statement) -> tuple[Node, ...]:
    of_parts = [node for nodes in statement.parts.values() for node in nodes]
    of_words = [node for c in statement.comparisons for node in (c.of, *c.others)]
    return (*of_parts, *of_words)


def _row(claim: Claim, statement: Statement, finding: StatementFinding) -> Audited:
    unit = statement.stated.unit if statement.stated else PERCENT
    found = finding.found
    recomputed = None
    if found is not None:
        recomputed = float(found.low / unit.scale), float(found.high / unit.scale)
    reasons = [finding.reason]
    if statement.assuming:
        reasons.append(f"Assuming {statement.assuming}")
    protocol = claim.protocols.get(statement.protocol)
    return Audited(
        claim=claim.name,
        source=claim.source,
        place=statement.place,
        statement=statement.says,
        stated=_stated(statement),
        recomputed=recomputed,
        result=finding.result,
        reason=". ".join(r for r in reasons if r),
        design=critique(claim, protocol) if protocol else "",
    )


def _stated(statement: Statement) -> str:
    """What is stated, in short: the number, or the word and how often it is to hold."""
    if statement.stated is not None:
        text, unit = statement.stated.text, statement.stated.unit.text
        return text if unit in text or text.endswith("%") else f"{text} {unit}"
    if statement.kind == "mask":
        return ", ".join(statement.options["masks"])
    if statement.kind == "same":
        return f"the same, within {100 * statement.options['within']:g} %"
    word = "best" if statement.kind == "best" else statement.word or statement.kind
    if statement.comparisons:
        word = statement.comparisons[0].word(word)
    many = len(statement.comparisons) > 1 and word != "mixed"
    return f"{word} in {statement.within}" if many else word
