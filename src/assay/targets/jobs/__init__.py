"""Commands that are run to their end."""
