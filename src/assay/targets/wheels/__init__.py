"""Libraries as servers: a database that lives in a Python wheel gets a process and a protocol.

`serve.py` starts the program `shim`, which loads the library and itself, and nothing
else of Assay; `wheel` is how targets find the library and start the program.
"""
