"""Real servers as targets: one file each, and in `framework` what all of them share."""
