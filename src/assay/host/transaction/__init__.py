"""Changes to the host: planned, announced on disk, written, looked at, and brought back."""

from assay.host.transaction.fixture import tree_at
from assay.host.transaction.items import file_item, has_value, path_of, value_item
from assay.host.transaction.plan import Item, Plan, new_id
from assay.host.transaction.run import Status, apply, confirm, forget, recover, roll_back, statuses
from assay.linux.tree import RefusedError, Tree

__all__ = [
    "Item",
    "Plan",
    "RefusedError",
    "Status",
    "Tree",
    "apply",
    "confirm",
    "file_item",
    "forget",
    "has_value",
    "new_id",
    "path_of",
    "recover",
    "roll_back",
    "statuses",
    "tree_at",
    "value_item",
]
