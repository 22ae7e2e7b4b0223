"""Simulated studies: what benchmarks/verdict.py counts and tests/verdict holds to its promise.

In the order of the flow: `noise` makes runs, `procedure` is Assay's way from runs to a verdict,
`rivals` are other people's, `rows` is one result, and each of `alarms`, `effects`, `families` and
`replays` holds the tables of one question. `tables` lists them all.
"""
