"""A study whose runs are made on a host of a fleet: the head's side.

The bundle is the head's: each run comes home as it ends, and is appended and chained as on one
machine. A study goes on where it began, on the same host of the same name: another one would be
another machine, and no run of it belongs into the same block.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.bench.machine_runs import OnStep
from assay.bench.resumption import require_same_machine
from assay.core.digest import digest
from assay.core.errors import BundleError, FleetError
from assay.fleet.agent import AgentHello
from assay.fleet.host_study import MadeRuns, PreparedStudy
from assay.fleet.keeper import LONGEST_STOP_S
from assay.fleet.transport import Link
from assay.host import Waiting
from assay.plan import Plan
from assay.record import Bundle, RunProfile, RunRecord, Step, require_free

HOST = "fleet"
"""The key of `host.json` that says where the runs were made."""
PREPARE_S = 3600.0
"""How long a plan may take: programs are built, pilots are run."""
RUN_S = 600.0
"""What a run may take besides warm-up and window: data are loaded, a server starts."""


class PlacedRuns:
    """Makes the runs of a bundle on the host of a link."""

    def __init__(self, link: Link, bundle: Bundle) -> None:
        self._link, self._bundle, self._plan = link, bundle, bundle.plan

    def undo(self) -> None:
        """Opens the study there, which takes back what an agent that was killed left."""
        bundle = self._bundle
        asked = {
            "key": key_of(bundle.folder),
            "text": bundle.study,
            "plan": (bundle.folder / "plan.json").read_text(),
            "facts": bundle.host,
        }
        self._link.call("open", asked, RUN_S)

    def settle(self, waiting: Waiting) -> None:
        self._link.call("settle", patience_s=RUN_S)

    def make(
        self, steps: Sequence[Step], first: int, as_it_is: bool, on_step: OnStep
    ) -> list[RunRecord]:
        asked = {"steps": [vars(step) for step in steps], "first": first, "as_it_is": as_it_is}
        measured_s = len(steps) * (self._plan.warmup_s + self._plan.window_s)
        answer = self._link.call("runs", asked, RUN_S + 2 * measured_s)
        made = MadeRuns.model_validate(answer)
        for run, text in made.logs.items():
            self._bundle.log(run).write_text(text)
        for run, packed in made.profiles.items():
            profile = RunProfile.unpacked(base64.b64decode(packed), f"profile of run {run}")
            self._bundle.write_profile(run, profile)
        return [RunRecord.model_validate(record) for record in made.records]


def prepare_placed(
    link: Link,
    folder: Path,
    name: str,
    text: str,
    *,
    seed: int | None = None,
    overrides: Mapping[str, str] | None = None,
    full: bool = False,
) -> Bundle:
    """A new bundle of a study that a host has planned; no run that counts is made.

    FleetError if the host is emulated or a window is longer than Ray may be stopped; else what
    `assay.bench.prepare` raises.
    """
    require_free(folder)
    hello = AgentHello.model_validate(link.call("hello", patience_s=60.0))
    _require_real(link.host, hello)
    asked = {"key": key_of(folder), "name": name, "text": text, "seed": seed, "full": full}
    found = link.call("prepare", {**asked, "overrides": dict(overrides or {})}, PREPARE_S)
    prepared = PreparedStudy.model_validate(found)
    plan = Plan.model_validate_json(prepared.plan)
    _require_short(plan)
    where = {"host": link.host, "boot": hello.boot}
    return Bundle.create(folder, text, plan, {**prepared.facts, HOST: where})


def require_same_host(link: Link, bundle: Bundle) -> None:
    """BundleError unless the runs of a bundle were made on this host, since the same boot."""
    began: dict[str, Any] = bundle.host.get(HOST, {})
    if began.get("host") != link.host:
        raise BundleError(
            f"{bundle.folder} was begun on {began.get('host', 'this machine, without a fleet')}, "
            f"not on {link.host}",
            next_step="go on there, or begin anew in another folder",
        )
    hello = AgentHello.model_validate(link.call("hello", patience_s=60.0))
    require_same_machine(bundle, hello.facts)
    if began.get("boot") != hello.boot:
        raise BundleError(
            f"{link.host} has started anew since {bundle.folder} was begun: it may be another "
            "machine by now",
            next_step="begin the study anew in another folder",
        )


def key_of(folder: Path) -> str:
    """The name of a study's folder on its host: a bundle's, and what tells it from others."""
    whole = str(folder.resolve())
    plain = re.sub(r"[^a-z0-9.-]+", "-", folder.name.lower()).strip("-.")[:40]
    return f"{plain or 'study'}-{digest(whole.encode())[:16]}"


def _require_real(host: str, hello: AgentHello) -> None:
    if hello.is_emulated:
        raise FleetError(
            f"{host} is emulated: it shows behaviour only, and no time of it is a result",
            next_step="run the study on a host whose processor it is",
        )


def _require_short(plan: Plan) -> None:
    """A window in which Ray would have to go on is not quiet."""
    together = len(plan.arms) if plan.measuring == "slices" else 1
    measured_s = together * (plan.warmup_s + plan.window_s)
    if measured_s > LONGEST_STOP_S:
        raise FleetError(
            f"warm-up and window take {measured_s:.0f} s, and Ray may be stopped for "
            f"{LONGEST_STOP_S:.0f} s at most",
            next_step="--set measure.window='\"5s\"', or run the study on that host itself",
        )
