"""Price: a catalogue of machines, and what a measured throughput is worth in money."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.price.catalogue import Price, find_price, prices, read_prices, shipped_prices
    from assay.price.gain import Bounds, Priced, Ratio, Worth, worth
    from assay.price.measured import MeasuredRatio, of_arms, of_bundles

__getattr__, __dir__ = lazily(
    __name__,
    catalogue="Price find_price prices read_prices shipped_prices",
    gain="Bounds Priced Ratio Worth worth",
    measured="MeasuredRatio of_arms of_bundles",
)

__all__ = [
    "Bounds",
    "MeasuredRatio",
    "Price",
    "Priced",
    "Ratio",
    "Worth",
    "find_price",
    "of_arms",
    "of_bundles",
    "prices",
    "read_prices",
    "shipped_prices",
    "worth",
]
