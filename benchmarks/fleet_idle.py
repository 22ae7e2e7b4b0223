"""What does a host of a fleet cost while nothing is asked of it, and while a window is measured?

A fleet of one comes up on loopback, an agent is placed, and then rounds are made: Ray's processes
are watched for some seconds as they are, and for as long while they are stopped as for a window, in
a random order. Printed are the median over the rounds and the worst round, of CPU time and of
wake-ups. At the end nothing of the fleet is left. Needs Ray.

Goal: stopped, at most one wake-up and one millisecond of CPU a second in the worst round.

    python benchmarks/fleet_idle.py [--quick] [--json] [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from outcome import Row, write_bounded

from assay.core.errors import FleetError
from assay.fleet import nodes
from assay.fleet.inventory import read_inventory
from assay.fleet.keys import security
from assay.fleet.ray_transport import connected
from assay.fleet.rays import IdleCost
from assay.fleet.transport import Link, placed

INVENTORY = """
name = "idle-{port}"
head = "here"
port = {port}

[[host]]
name = "here"
address = "127.0.0.1"
"""
PORT = 7490
STATES = {"as it is": False, "stopped": True}
GOALS = {"wake-ups": 1.0, "CPU": 1.0}
UNITS = {"wake-ups": "1/s", "CPU": "ms/s"}

Costs = dict[str, list[IdleCost]]


def measured(link: Link, rounds: int, seconds: float, seed: int) -> Costs:
    """By state, one cost a round."""
    order, found = random.Random(seed), {state: [] for state in STATES}
    for _ in range(rounds):
        for state in order.sample(list(STATES), len(STATES)):
            request = {"seconds": seconds, "stopped": STATES[state]}
            answer = link.call("idle", request, seconds + 30.0)
            found[state].append(IdleCost.model_validate(answer))
    return found


def rows(found: Costs) -> Iterator[Row]:
    """The median of the rounds, between the best and the worst."""
    for state, costs in found.items():
        values = {
            "wake-ups": [cost.wakeups_per_s for cost in costs],
            "CPU": [cost.cpu_ms_per_s for cost in costs],
        }
        for what, each in values.items():
            goal = f"<= {GOALS[what]:g}" if STATES[state] else ""
            yield Row(
                f"Ray, {state}: {what}",
                f"{costs[0].processes} processes",
                UNITS[what],
                statistics.median(each),
                low=min(each),
                high=max(each),
                goal=goal,
                met=not goal or max(each) <= GOALS[what],
            )


def run(rounds: int, seconds: float, seed: int) -> list[Row]:
    """A fleet of one, watched; it is gone at the end."""
    with tempfile.TemporaryDirectory(prefix="assay-fleet-idle-") as folder:
        file = Path(folder, "idle.toml")
        file.write_text(INVENTORY.format(port=PORT))
        inventory = read_inventory(file)
        host = inventory.hosts["here"]
        try:
            secure = security(inventory)
            nodes.start(inventory, host, secure)
            environment = nodes.environment(secure)
            with (
                connected(inventory.address, environment, host.address) as hosts,
                placed(hosts, host.name, 30.0) as link,
            ):
                return list(rows(measured(link, rounds, seconds, seed)))
        finally:
            nodes.end(inventory, host)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=9, help="windows of each kind")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a window")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rounds, seconds = (1, 0.5) if options.quick else (options.rounds, options.seconds)
    try:
        found = run(rounds, seconds, options.seed)
    except FleetError as error:
        sys.stderr.write(f"{error.message}\nnext: {error.next_step}\n")
        return int(error.exit_code)
    write_bounded("fleet_idle", found, options.json)
    return 0 if options.quick or all(row.met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
