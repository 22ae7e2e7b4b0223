"""The reader of the native protocol, against examples that the binary's own tests read too."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay import native

EXAMPLES = Path(__file__).parent.parent / "native" / "crates" / "assayer" / "examples" / "protocol"
RESULTS = {
    "facts": native.Facts,
    "job": native.JobResult,
    "census": native.Census,
    "census-images": native.Surveyed,
    "object": native.Surveyed,
    "profile": native.ProfileResult,
    "sample": native.Sampled,
    "serve": native.Served,
    "hits": native.HitsTable,
    "store-prepare": native.DataState,
}


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda p: p.stem)
def test_captured_output_is_read_whole(example: Path) -> None:
    """Both sides declare the types by themselves; neither takes an unknown field."""
    result = RESULTS.get(example.stem, native.RunResult)
    messages = [native.parse(line, result) for line in example.read_text().splitlines()]
    assert messages
    ends = native.Failure | native.Checked | native.StoreOptions | result
    assert isinstance(messages[-1], ends)
    assert not any(isinstance(m, ends) for m in messages[:-1])


def test_there_is_an_example_of_every_verb() -> None:
    """And of an error."""
    names = {p.stem for p in EXAMPLES.glob("*.jsonl")}
    verbs = {
        "engine",
        "micro-lock",
        "micro-crc32c",
        "load",
        "serve",
        "facts",
        "census",
        "object",
        "job",
    }
    verbs |= {
        "profile",
        "sample",
        "store-options",
        "store-prepare",
        "store-rocksdb",
        "store-sqlite",
    }
    assert verbs | {"error"} <= names
