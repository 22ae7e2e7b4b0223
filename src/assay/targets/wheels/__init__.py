"""Libraries as servers: a database that lives in a Python wheel gets a process and a protocol.

`serve.py` is the program, which loads the library and the package `shim`, and nothing
else of Assay; `wheel` is how targets find the library and start the program.
"""
