"""A git repository of a small server in which one commit, known to us, made it slower."""
