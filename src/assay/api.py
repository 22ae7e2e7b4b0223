"""The Python door to studies: the same steps the command line takes, in one call each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from assay.bench import Watcher, prepare, run
from assay.bench.resumption import require_same_machine, uses
from assay.bisection import Found, SearchBundle, SearchWatcher
from assay.bisection.running import Wanted, prepare_search, search
from assay.bisection.subject import subject_of, subject_of_bundle
from assay.core import password
from assay.core.errors import AssayError, InputError
from assay.diagnosis import Diagnosis, Examined, Trial, diagnose, find_subject, gather
from assay.diagnosis.studies import numbered
from assay.diagnosis.trials import text_on, trial_of, tried
from assay.export import BundleFrames, bundle_frames
from assay.export.frames import Library
from assay.host import host_facts
from assay.ledger import entered
from assay.record import Bundle
from assay.study import locate, read
from assay.verdict.rows import Verdicts


def run_study(
    study: str,
    out: str | Path | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    full: bool = False,
    watcher: Watcher | None = None,
) -> tuple[Bundle, Verdicts]:
    """Run a study (a file or a shipped name) into a new bundle.

    `overrides` maps dotted keys of the study file to TOML values. Raises the
    errors of `assay.core.errors`; whatever was measured by then is in the bundle.
    """
    password.take()
    name, text, base = locate(study)
    checked = read(name, text, base, overrides)
    folder = Path(out) if out else default_folder(checked.name)
    bundle = prepare(
        checked,
        folder,
        host_facts(),
        base=base,
        seed=seed,
        overrides=overrides,
        full=full,
        watcher=watcher,
    )
    with entered(bundle.folder, warnings.warn):
        return bundle, run(bundle, watcher)


def resume_study(
    folder: str | Path, *, extend: bool = False, watcher: Watcher | None = None
) -> Verdicts:
    """Go on with an interrupted study, or make a finished one that is undecided half as long again.

    Raises the errors of `assay.core.errors`: InputError where there is nothing to extend.
    """
    password.take()
    bundle = Bundle.open(Path(folder))
    require_same_machine(bundle, host_facts())
    with entered(bundle.folder, warnings.warn):
        return run(bundle, watcher, extend=extend)


def adopt_study(folder: str | Path, out: str | Path | None = None) -> tuple[Bundle, list[str]]:
    """A copy of somebody else's bundle to go on with, and what that runs or changes on this
    machine, a line each. Nothing of it runs before `resume_study`.

    Raises AlteredError where the bundle was altered, BundleError where `out` is taken.
    """
    theirs = Bundle.open(Path(folder))
    copy = theirs.copied(Path(out) if out else default_folder(theirs.plan.study))
    return copy, uses(copy)


def bisect(
    good: str,
    bad: str,
    study: str,
    repo: str | Path = ".",
    *,
    over: str | None = None,
    paths: Sequence[str] = (),
    expected: float | None = None,
    budget_s: float | None = None,
    out: str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    watcher: SearchWatcher | None = None,
) -> tuple[SearchBundle, Found]:
    """Search which commit from `good` to `bad` changed the study's metric, in a new bundle.

    `over` searches the levels of a factor of the study instead. `paths` keeps commits that touch
    them. `expected` is the smallest effect worth finding, as a fraction. Raises the errors of
    `assay.core.errors`; whatever was measured by then is in the bundle.
    """
    password.take()
    located = locate(study)
    place = None if over else Path(repo)
    subject = subject_of(located, repo=place, over=over, overrides=overrides)
    folder = Path(out) if out else default_folder(f"bisect-{subject.study.name}")
    wanted = Wanted(good, bad, paths, expected, budget_s, seed, overrides)
    bundle = prepare_search(subject, wanted, folder, host_facts(), watcher=watcher)
    with entered(bundle.folder, warnings.warn):
        return bundle, search(bundle, subject, watcher)


def resume_bisect(folder: str | Path, watcher: SearchWatcher | None = None) -> Found:
    """Go on with an interrupted search. Raises the errors of `assay.core.errors`."""
    password.take()
    bundle = SearchBundle.open(Path(folder))
    require_same_machine(bundle, host_facts())
    with entered(bundle.folder, warnings.warn):
        return search(bundle, subject_of_bundle(bundle), watcher)


def doctor(
    server: str | int = "",
    *,
    attach: str = "",
    seconds: float = 60.0,
    smallest: float = 0.02,
) -> Diagnosis:
    """Look at a running server, by its PID or name or at its address, and say what to try first.

    `smallest` is the gain, a fraction, below which a candidate is ruled out. Nothing of the server
    is changed. Raises InputError and MissingError where it is not there or not here.
    """
    password.take()
    found = gather(find_subject(str(server), attach), seconds)
    return diagnose(found, smallest)


def measure_candidates(
    found: Diagnosis,
    folder: str | Path,
    *,
    budget_s: float = 900.0,
    most: int = 1,
    examined: Examined | None = None,
    watcher: Watcher | None = None,
) -> Diagnosis:
    """The diagnosis with the studies of its first candidates, run one after the other within a
    budget that they share evenly.

    Studies and bundles go into `folder`, where `write_studies` may have been before. They start
    servers of Assay's own; with `examined` they change the examined server itself and put it back.
    A study that cannot be run is told in its trial. Raises InputError where no candidate has a
    study, or where another file has its name.
    """
    password.take()
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    chosen = tried(found, most)
    budget = {"decide.budget": f'"{budget_s / len(chosen):.0f}s"'}
    trials = []
    for number, candidate in enumerate(chosen, start=1):
        name = numbered(number, candidate)
        study = place / (name if examined is None else name.replace(".toml", "-attached.toml"))
        bundle = study.with_suffix("")
        _written(study, text_on(candidate, examined))
        try:
            _, verdicts = run_study(str(study), bundle, overrides=budget, watcher=watcher)
        except AssayError as error:
            trials.append(Trial(candidate.name, str(bundle), why=error.message))
        else:
            trials.append(trial_of(candidate, bundle, verdicts))
    return replace(found, trials=trials)


def _written(file: Path, text: str) -> None:
    """A file with this text, which may be there already; no other file is overwritten."""
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError as error:
        raise InputError(f"{file} is there already", next_step="name another folder") from error


def open_bundle(folder: str | Path) -> Bundle:
    """The bundle in a folder; BundleError if there is none."""
    return Bundle.open(Path(folder))


def load_bundle(folder: str | Path, frames: Library = "pandas") -> BundleFrames:
    """The bundle in a folder with its runs, intervals and verdicts as frames of pandas or polars.

    Raises the errors of `assay.core.errors`: MissingError without the library, AlteredError where
    the bundle was altered.
    """
    return bundle_frames(Bundle.open(Path(folder)), frames)


def default_folder(study: str) -> Path:
    """Where a study's bundle goes when nobody says: ./bundles/STUDY-TIME, and nowhere else."""
    plain = re.sub(r"[^\w.+-]", "-", study).lstrip(".-")[:80] or "study"
    return Path("bundles") / f"{plain}-{datetime.now():%Y%m%d-%H%M%S}"
