"""A study of a real server, of which a test changes what it is about."""

from __future__ import annotations

STUDY = """
name = "s"
question = "q"
[target]
kind = "{target}"
{settings}
[workload]
kind = "{workload}"
{parameters}
[measure]
primary = "throughput"
warmup = "1s"
window = "1s"
[[factor]]
name = "{factor}"
change = "{change}"
{levels}
[design]
kind = "one-at-a-time"
[decide]
smallest = "5%"
margin = "5%"
budget = "30min"
"""


def study_text(**parts: str) -> str:
    """The study with these parts; `parameters` may go on with tables of their own."""
    return STUDY.format(**{"settings": "", "parameters": "", **parts})
