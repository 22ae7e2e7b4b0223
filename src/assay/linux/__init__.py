"""Readers of what the kernel shows: /proc, /sys, CPUs, pages, packets. They judge nothing."""
