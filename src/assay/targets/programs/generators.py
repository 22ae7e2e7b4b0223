"""The generators whose output is known: one line each, in the files of their form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from assay.targets.programs.json_generators import JSON_GENERATORS
from assay.targets.programs.printed_load import Generator
from assay.targets.programs.text_generators import TEXT_GENERATORS

GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {g.name: g for g in (*TEXT_GENERATORS, *JSON_GENERATORS)}
)
