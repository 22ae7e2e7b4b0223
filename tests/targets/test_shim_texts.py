"""The shim's pure parts: PostgreSQL's messages, and statements as texts."""

from __future__ import annotations

import struct

import pytest

from assay.targets.wheels.shim import texts, wire


def framed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


def startup(code: int, words: bytes = b"") -> bytes:
    return struct.pack(">ii", len(words) + 8, code) + words


def test_messages_are_whole_or_not_there_however_they_arrive() -> None:
    """Byte by byte, as the network may give them."""
    sent = startup(3 << 16, b"user\0load\0\0") + framed(b"Q", b"SELECT 1\0") + framed(b"X", b"")
    incoming, found, first = wire.Incoming(), [], None
    for place in range(len(sent)):
        incoming.feed(sent[place : place + 1])
        if first is None:
            first = incoming.startup()
        elif (message := incoming.message()) is not None:
            found.append(message)
    assert first == (3 << 16, {"user": "load", "": ""}) or first[1]["user"] == "load"
    assert found == [(b"Q", b"SELECT 1\0"), (b"X", b"")]


@pytest.mark.parametrize("length", [-1, 0, 3, (1 << 30) + 1])
def test_a_length_that_cannot_be_is_refused_before_its_bytes_are_waited_for(length: int) -> None:
    """A false length would have a server wait for ever."""
    incoming = wire.Incoming()
    incoming.feed(b"Q" + struct.pack(">i", length))
    with pytest.raises(wire.WireError, match="length"):
        incoming.message()


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (wire.query_of, b"SELECT 1"),
        (wire.parse_of, b"s\0SELECT 1\0\0"),
        (wire.bind_of, b"p\0s\0\0\1"),
        (wire.execute_of, b"p\0\0\0"),
        (wire.describe_of, b"S"),
        (wire.query_of, b"\xff\0"),
        (wire.describe_of, b"Zs\0"),
    ],
)
def test_a_body_that_ends_too_early_or_means_nothing_is_an_error(read, body: bytes) -> None:
    """Whatever bytes come, there is an answer or an error of the protocol."""
    with pytest.raises(wire.WireError):
        read(body)


def test_values_beside_a_statement_are_refused() -> None:
    """What is served is statements without parameters, and it says so."""
    assert wire.bind_of(b"p\0s\0\0\0\0\0\0\1\0\1") == ("p", "s", [1])
    with pytest.raises(wire.WireError, match="parameters") as caught:
        wire.bind_of(b"p\0s\0\0\0\0\1\0\0\0\1x\0\0")
    assert caught.value.code == "0A000"


def test_rows_are_texts_or_the_integers_that_were_asked_for() -> None:
    """NULL has a length of -1 and no bytes."""
    columns = [wire.Column("a", wire.INT8), wire.Column("b")]
    rows = [[b"7", b"xy"], [None, b""]]
    texts_ = wire.data_rows(rows)
    assert texts_ == framed(b"D", b"\0\2\0\0\0\0017\0\0\0\2xy") + framed(
        b"D", b"\0\2\xff\xff\xff\xff\0\0\0\0"
    )
    formats = wire.formats_for(columns, [1, 0])
    binary = wire.data_rows(rows[:1], columns, formats)
    assert binary == framed(b"D", b"\0\2\0\0\0\x08" + struct.pack(">q", 7) + b"\0\0\0\2xy")
    with pytest.raises(wire.WireError, match="b is served as a text"):
        wire.formats_for(columns, [1])
    with pytest.raises(wire.WireError, match="3 formats for 2 columns"):
        wire.formats_for(columns, [0, 0, 0])


def test_an_error_has_its_state_and_no_zero_byte_within() -> None:
    """A zero byte ends a field."""
    message = wire.error("42601", "what\0is this")
    assert message[:1] == b"E"
    assert message[5:].split(b"\0") == [
        b"SERROR",
        b"VERROR",
        b"C42601",
        b"Mwhat is this",
        b"",
        b"",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        (" ; ;", []),
        ("-- only this", []),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', \"a;b\"; SELECT 'it''s;'", ["SELECT ';', \"a;b\"", "SELECT 'it''s;'"]),
        ("SELECT 1 -- a; b\n; /* c; d */ SELECT 2 - 1", ["SELECT 1 -- a; b", "SELECT 2 - 1"]),
    ],
)
def test_a_semicolon_ends_a_statement_where_it_stands_free(text: str, expected: list[str]) -> None:
    """Not in a text, a name or a comment."""
    assert list(texts.statements(text)) == expected


@pytest.mark.parametrize(
    ("statement", "rows", "tag"),
    [
        ("SELECT 1", 3, "SELECT 3"),
        ("(SELECT 1)", 1, "SELECT 1"),
        ("with a as (select 1) select * from a", 1, "SELECT 1"),
        ("insert into t values (1)", 1, "INSERT 0 1"),
        ("DELETE FROM t", 9, "DELETE 9"),
        ("CREATE TABLE t (a INT)", 0, "CREATE TABLE"),
        ("VACUUM ANALYZE hits", 0, "VACUUM"),
        ("begin", 0, "BEGIN"),
    ],
)
def test_a_tag_says_what_was_run_and_on_how_many_rows(statement: str, rows: int, tag: str) -> None:
    """Clients read counts from it."""
    assert texts.tag(statement, rows) == tag


def test_a_copy_is_known_by_its_words() -> None:
    """Others than from the client, in the text format, are not taken."""
    assert texts.copied("COPY hits FROM STDIN") == ("hits", "")
    assert texts.copied("copy h (a, b) from stdin WITH (FORMAT text)") == ("h", "(a, b)")
    assert texts.copied("COPY hits FROM 'file'") is None
    assert texts.copied("SELECT 1") is None
    with pytest.raises(ValueError, match="only the text format"):
        texts.copied("COPY hits FROM STDIN (FORMAT csv)")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"plain", b"plain"),
        (rb"\N", None),
        (rb"a\tb\\c\nd", b"a\tb\\c\nd"),
        (rb"\101\x42\q", b"ABq"),
        (rb"x\N", b"xN"),
    ],
)
def test_escapes_mean_what_postgresql_says(value: bytes, expected: bytes | None) -> None:
    """NULL only where it stands alone."""
    assert texts.unescaped(value) == expected
