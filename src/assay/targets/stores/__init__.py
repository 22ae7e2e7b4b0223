"""Embedded stores as targets: one file each, and in `framework` what both share."""
