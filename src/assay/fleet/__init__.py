"""Several machines: hosts with an agent each, and what is between them and the head.

`transport` is the interface that the rest knows. Ray stands behind `ray_transport` alone, and is
imported there and nowhere else: everything but `assay fleet` runs without it.
"""
