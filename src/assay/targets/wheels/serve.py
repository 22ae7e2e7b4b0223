"""Starts the package `shim` by its path: `python serve.py --library duckdb ...`.

So Python loads the package beside this file, and no other part of Assay.
"""

from __future__ import annotations

from runpy import run_module

if __name__ == "__main__":
    run_module("shim", run_name="__main__")
