"""Sentences made of codes, rows and fields: what the terminal and the page share."""
