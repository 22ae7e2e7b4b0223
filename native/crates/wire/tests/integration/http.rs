//! HTTP without I/O: answers whole, split and spoilt; heads against another parser (httparse).

use assay_wire::http::codec::{
    BodyReader, Framing, HEAD_MAX, Head, HeadReader, parse_head, reason,
};
use proptest::prelude::*;

const OPEN: bool = true;
const CLOSES: bool = false;

/// Bytes of an answer, its status, its body, whether the connection stays open.
const SAMPLES: &[(&[u8], u16, &[u8], bool)] = &[
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello", OPEN),
    (b"HTTP/1.1 200 OK\r\ncontent-LENGTH:\t5 \r\nA: b\r\n\r\nhello", 200, b"hello", OPEN),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, b"", OPEN),
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", 404, b"no", OPEN),
    (b"HTTP/1.1 204 \r\n\r\n", 204, b"", OPEN),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304, b"", OPEN),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=\"y\"\r\n, \r\nworld!\r\n0\r\n\r\n",
        200,
        b"hello, \r\nworld!",
        OPEN,
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1\r\nx\r\n000\r\nSum: 1\r\nB: 2\r\n\r\n",
        200,
        b"x",
        OPEN,
    ),
    (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 200, b"x", CLOSES),
    (b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx", 200, b"x", CLOSES),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x", CLOSES),
    (
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
        200,
        b"x",
        OPEN,
    ),
];

/// Reads one answer that arrives in pieces; status, body, whether it stays open, bytes used.
fn read(reader: &mut HeadReader, stream: &[u8], pieces: usize) -> (u16, Vec<u8>, bool, usize) {
    let (mut start, mut end, mut body) = (0, 0, Vec::new());
    let mut begun: Option<(Head, BodyReader)> = None;
    loop {
        assert!(end < stream.len(), "the answer does not end");
        end = (end + pieces).min(stream.len());
        if begun.is_none()
            && let Some((bytes, head)) = reader.next(&stream[start..end]).unwrap()
        {
            start += bytes;
            begun = Some((head, BodyReader::new(head.framing)));
        }
        if let Some((head, reader)) = &mut begun {
            let part = &stream[start..end];
            let progress = reader.next(part, |piece| body.extend_from_slice(piece)).unwrap();
            start += progress.bytes;
            if progress.is_over {
                return (head.status, body, head.stays_open, start);
            }
        }
    }
}

#[test]
fn an_answer_means_the_same_however_its_bytes_arrive() {
    // The same reader for all, as it remembers: first, next of the same bytes, after another.
    let mut reader = HeadReader::default();
    for (bytes, status, body, stays_open) in SAMPLES {
        let expected = (*status, body.to_vec(), *stays_open, bytes.len());
        for pieces in (1..=bytes.len()).rev().chain([1, 2, 1]) {
            assert_eq!(read(&mut reader, bytes, pieces), expected, "pieces of {pieces}");
            let fresh = read(&mut HeadReader::default(), bytes, pieces);
            assert_eq!(fresh, expected, "pieces of {pieces} to a reader that knows nothing");
        }
        let longer = [bytes, &b"HTTP/1.1 200 OK"[..]].concat();
        assert_eq!(read(&mut reader, &longer, longer.len()), expected, "with more behind it");
    }
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    let head = parse_head(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    assert_eq!(head, Head { status: 200, framing: Framing::UntilClose, stays_open: false });
    let mut reader = BodyReader::new(head.framing);
    let progress = reader.next(b"anything", |_| ()).unwrap();
    assert_eq!((progress.bytes, progress.is_over), (8, false));
    assert!(reader.ends_with_connection());
    assert!(!BodyReader::new(Framing::Length(5)).ends_with_connection());
}

#[test]
fn an_answer_to_head_has_no_body_whatever_it_says() {
    let head = parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n").unwrap();
    assert_eq!(head.framing, Framing::Length(99));
    assert_eq!(head.without_body().framing, Framing::Empty);
}

#[test]
fn the_reason_is_what_follows_the_status() {
    assert_eq!(reason(b"HTTP/1.1 404 Not Found\r\n\r\n"), "Not Found");
    assert_eq!(reason(b"HTTP/1.1 404\r\n\r\n"), "");
}

#[test]
fn what_could_be_read_in_two_ways_is_an_error() {
    let wrong: &[&[u8]] = &[
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\nA: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];
    for bytes in wrong {
        assert!(parse_head(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
    }
    let endless = vec![b'x'; HEAD_MAX + 1];
    assert!(HeadReader::default().next(&endless).is_err());
}

#[test]
fn chunks_that_are_framed_wrongly_are_an_error() {
    let wrong: &[&[u8]] = &[
        b"x\r\n",
        b"\r\n",
        b"5\n",
        b"-1\r\n",
        b"+1\r\n",
        b"1 2\r\n",
        b"1\r\nab\r\n",
        b"1234567890ABCDEF\r\n",
        b"1\r\na\n",
    ];
    for bytes in wrong {
        let result = BodyReader::new(Framing::Chunked).next(bytes, |_| ());
        assert!(result.is_err(), "{}", String::from_utf8_lossy(bytes));
    }
    let long_line = [b"5;".as_slice(), &[b'x'; 5000]].concat();
    assert!(BodyReader::new(Framing::Chunked).next(&long_line, |_| ()).is_err());
    let trailers = [b"0\r\n".as_slice(), &b"A: b\r\n".repeat(HEAD_MAX / 6 + 1)].concat();
    assert!(BodyReader::new(Framing::Chunked).next(&trailers, |_| ()).is_err());
}

/// Status and `Content-Length` as httparse sees them.
fn by_httparse(bytes: &[u8]) -> Option<(u16, Option<Vec<u8>>)> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let is_whole = response.parse(bytes).ok()?.is_complete();
    let length =
        response.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    is_whole.then_some((response.code?, length.map(|field| field.value.to_vec())))
}

fn any_head() -> impl Strategy<Value = Vec<u8>> {
    let field = ("[A-Za-z][A-Za-z0-9-]{0,12}", "[ -~]{0,20}")
        .prop_filter("has a meaning", |(name, _)| {
            !["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase())
        })
        .prop_map(|(name, value)| format!("{name}: {value}\r\n"));
    let fields = proptest::collection::vec(field, 0..8);
    let length = proptest::option::of(0_u64..1_000_000);
    (100_u16..1000, fields, length).prop_map(|(status, fields, length)| {
        let length = length.map(|length| format!("Content-Length: {length}\r\n"));
        let text = [fields.concat(), length.unwrap_or_default()].concat();
        format!("HTTP/1.1 {status} Some Words\r\n{text}\r\n").into_bytes()
    })
}

fn agrees_with_httparse(bytes: &[u8], head: Head) {
    let Some((status, length)) = by_httparse(bytes) else { return };
    assert_eq!(head.status, status);
    if let Framing::Length(bytes) = head.framing {
        let text = String::from_utf8(length.unwrap()).unwrap();
        assert_eq!(text.trim().parse::<u64>().unwrap(), bytes);
    }
}

proptest! {
    #[test]
    fn heads_are_what_another_parser_sees(bytes in any_head()) {
        prop_assert!(by_httparse(&bytes).is_some());
        agrees_with_httparse(&bytes, parse_head(&bytes).unwrap());
    }

    #[test]
    fn spoilt_heads_are_an_error_or_what_another_parser_sees(
        mut bytes in any_head(),
        spoils in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        for (place, byte) in spoils {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        if let Ok(Some((length, head))) = HeadReader::default().next(&bytes) {
            agrees_with_httparse(&bytes[..length], head);
        }
    }

    #[test]
    fn noise_gives_progress_or_an_error(
        bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"\r\n\r\n\r\n0123abc; ".as_slice())],
            0..80,
        )
    ) {
        let _ = HeadReader::default().next(&bytes);
        let _ = parse_head(&bytes);
        if let Ok(progress) = BodyReader::new(Framing::Chunked).next(&bytes, |_| ()) {
            prop_assert!(progress.bytes <= bytes.len());
        }
    }
}
