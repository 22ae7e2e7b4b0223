"""The ground floor: errors, units, addresses, TOML with positions, digests, metrics, the cache."""
