"""Changes to the host: planned, announced on disk, written, looked at, and brought back."""

from assay.host.transaction.fixture import tree_at
from assay.host.transaction.items import file_item, has_value, path_of, value_item
from assay.host.transaction.plan import HostPlan, Item, new_id
from assay.host.transaction.run import (
    Status,
    abandoned,
    apply,
    confirm,
    forget,
    roll_back,
    statuses,
)
from assay.host.transaction.writable import HostTree, RefusedError

__all__ = [
    "HostPlan",
    "HostTree",
    "Item",
    "RefusedError",
    "Status",
    "abandoned",
    "apply",
    "confirm",
    "file_item",
    "forget",
    "has_value",
    "new_id",
    "path_of",
    "roll_back",
    "statuses",
    "tree_at",
    "value_item",
]
