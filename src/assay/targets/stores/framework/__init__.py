"""Stores that are libraries as targets: what is common to them, written once (docs/servers.md).

RocksDB and SQLite have no server: the load runs in the process that has loaded the
library. That process is `assayer store`, whatever the build of the library, so that two
builds differ in the library's file and in nothing else. A store (`kind`) says what is
particular to one; `target` and `server` give it the life of a target.
"""
