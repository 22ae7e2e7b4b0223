"""Assay: does a low-level change make a data server faster, how surely, and why.

The command line is a thin layer over what stands here:

    decide        verdicts for anybody's measurements
    run_study     run a study and return its verdicts
    bisect        which commit, or level of a factor, changed a metric
    resume_bisect go on with a search that was interrupted
    doctor        what to try first on a running server, and the most that it can give
    measure_candidates  the studies of what doctor would try, run: bound beside effect
    adopt_study   a copy of somebody else's bundle to go on with, and what that would run
    resume_study  go on with one that was interrupted, or extend one that is undecided
    load_bundle   a bundle on disk as frames for a notebook
    open_bundle   a bundle on disk: its plan, runs and verdicts
    differences   where a bundle does not recompute to what it says
    audit         published statements held against the tables they were made from
    machine_noise how this machine's speed wanders, and what a study on it takes
    worth         a ratio of throughputs and two prices: gain, saving, break-even
"""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.api import (
        adopt_study,
        bisect,
        doctor,
        load_bundle,
        measure_candidates,
        open_bundle,
        resume_bisect,
        resume_study,
        run_study,
    )
    from assay.bench.machine_noise import MachineNoise, machine_noise
    from assay.claims import Audited, audit
    from assay.core.errors import AssayError
    from assay.price import Price, Ratio, Worth, worth
    from assay.record import Bundle, differences
    from assay.stats import Decision, Verdict, decide
    from assay.verdict.rows import Verdicts

__getattr__, __dir__ = lazily(
    __name__,
    **{
        "core.errors": "AssayError",
        "api": (
            "adopt_study bisect doctor load_bundle measure_candidates open_bundle resume_bisect "
            "resume_study run_study"
        ),
        "bench.machine_noise": "MachineNoise machine_noise",
        "claims": "Audited audit",
        "price": "Price Ratio Worth worth",
        "record": "Bundle differences",
        "stats": "Decision Verdict decide",
        "verdict.rows": "Verdicts",
    },
)

__all__ = [
    "AssayError",
    "Audited",
    "Bundle",
    "Decision",
    "MachineNoise",
    "Price",
    "Ratio",
    "Verdict",
    "Verdicts",
    "Worth",
    "adopt_study",
    "audit",
    "bisect",
    "decide",
    "differences",
    "doctor",
    "load_bundle",
    "machine_noise",
    "measure_candidates",
    "open_bundle",
    "resume_bisect",
    "resume_study",
    "run_study",
    "worth",
]
