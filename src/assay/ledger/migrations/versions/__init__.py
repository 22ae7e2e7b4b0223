"""A migration a file, named by the revision that it leads to."""
