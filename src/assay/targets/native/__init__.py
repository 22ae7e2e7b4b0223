"""Targets inside the native binary: the embedded engine, and single mechanisms (`micro`)."""
