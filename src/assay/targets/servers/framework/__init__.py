"""Real servers as targets: what is common to all of them, written once (docs/servers.md).

An adapter (`adapter`) says what is particular to one server. `target` and `server`
give it the life of a target, over processes (`process`), copies of prepared data
(`store`) and what /proc shows of them (`proc`).
"""
