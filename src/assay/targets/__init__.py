"""Servers under test. One file each, and one line in the registry below."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.targets.base import Launch, Measured, OnInterval, Server, Target
from assay.targets.engine import ENGINE
from assay.targets.micro import MICRO

TARGETS: Mapping[str, Target] = MappingProxyType({t.kind: t for t in (ENGINE, MICRO)})

__all__ = ["TARGETS", "Launch", "Measured", "OnInterval", "Server", "Target"]
