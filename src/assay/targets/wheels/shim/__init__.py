"""A small server of PostgreSQL's protocol around a database library.

    wire       bytes in, messages out, and back: no socket, no library
    texts      statements as texts: where they end, what they are, COPY
    engine     what a library must be able to do, and what goes wrong with it
    session    one connection: messages to the library, results to messages
    server     listens, gives each connection a thread, ends in order
    __main__   the program: `serve.py` beside the package starts it by its path

It imports nothing of Assay, so that the process holds the library and little besides.
"""
