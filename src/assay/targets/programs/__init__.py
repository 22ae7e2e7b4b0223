"""Servers that a study starts by itself, with Assay's own load or any generator's."""
