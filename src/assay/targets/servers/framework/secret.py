"""Secrets of one started server: random, known to Assay and to that server, and gone with it.

A server gets them in a file of its own, as a hash wherever it takes one; the load and whoever asks
get them on standard input. They are in no argument, environment, log or bundle.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

BYTES = 24
"""Too many to be tried, so that nothing has to make trying slow."""


@dataclass(frozen=True)
class Secrets:
    """Passwords: of the load's user, and of the one by which Assay itself asks."""

    load: str = field(repr=False)
    admin: str = field(repr=False)


def draw() -> Secrets:
    """New ones."""
    return Secrets(secrets.token_urlsafe(BYTES), secrets.token_urlsafe(BYTES))


def redis_hash(password: str) -> str:
    """As rules of Redis' access lists take it."""
    return hashlib.sha256(password.encode()).hexdigest()


def mysql_hash(password: str) -> str:
    """As `IDENTIFIED BY PASSWORD` takes it."""
    once = hashlib.sha1(password.encode()).digest()
    return "*" + hashlib.sha1(once).hexdigest().upper()


def scram_verifier(password: str) -> str:
    """As `ALTER ROLE ... PASSWORD` of PostgreSQL takes it, of one round: a login costs a client
    that many, and a random password needs no more."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    told = [base64.b64encode(part).decode() for part in (salt, client, server)]
    return f"SCRAM-SHA-256$1:{told[0]}${told[1]}:{told[2]}"
