"""Price: a catalogue of machines, and what a measured throughput is worth in money."""

from assay.price.catalogue import Price, find_price, prices, read_prices, shipped_prices
from assay.price.gain import Bounds, Ratio, Worth, worth
from assay.price.measured import Measured, of_arms, of_bundles

__all__ = [
    "Bounds",
    "Measured",
    "Price",
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
