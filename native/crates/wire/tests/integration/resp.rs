//! RESP without I/O: the decoder against samples of the specification, the scanner against the
//! decoder, both on bytes whole, split and spoilt.

use assay_wire::resp::codec::{DEPTH_MAX, Kind, LINE_MAX, Reply, Scanner, Step, command, decode};
use proptest::prelude::*;

/// Bytes of one reply, what they mean, and what the scanner says of them.
const SAMPLES: &[(&[u8], &str, Kind)] = &[
    (b"+OK\r\n", "+OK", Kind::Value),
    (b"+\r\n", "+", Kind::Value),
    (b"-WRONGTYPE no list\r\n", "-WRONGTYPE no list", Kind::Error),
    (b":-42\r\n", ":-42", Kind::Value),
    (b":9223372036854775807\r\n", ":9223372036854775807", Kind::Value),
    (b"$5\r\na\r\nbc\r\n", "$\"a\\r\\nbc\"", Kind::Value),
    (b"$0\r\n\r\n", "$\"\"", Kind::Value),
    (b"$-1\r\n", "_", Kind::Null),
    (b"*-1\r\n", "_", Kind::Null),
    (b"_\r\n", "_", Kind::Null),
    (b"*0\r\n", "*[]", Kind::Value),
    (b"*3\r\n:1\r\n$-1\r\n*2\r\n+a\r\n-b\r\n", "*[:1 _ *[+a -b]]", Kind::Value),
    (b"~2\r\n+a\r\n#t\r\n", "~[+a #true]", Kind::Value),
    (b"%2\r\n+k\r\n:1\r\n+l\r\n_\r\n", "%[+k :1 +l _]", Kind::Value),
    (b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n", ">[+invalidate *[$\"k\"]]", Kind::Push),
    (b",1.5\r\n", ",1.5", Kind::Value),
    (b",-inf\r\n", ",-inf", Kind::Value),
    (b"#f\r\n", "#false", Kind::Value),
    (b"(-3492890328409238509324850943850943825024385\r\n", "(", Kind::Value),
    (b"!9\r\nERR it is\r\n", "-ERR it is", Kind::Error),
    (b"=8\r\ntxt:some\r\n", "=txt:some", Kind::Value),
    (b"|1\r\n+ttl\r\n*2\r\n:3\r\n:4\r\n-ERR x\r\n", "-ERR x", Kind::Error),
    (b"|1\r\n+a\r\n:1\r\n|1\r\n+b\r\n:2\r\n_\r\n", "_", Kind::Null),
    (b"*2\r\n|1\r\n+a\r\n:1\r\n:7\r\n:8\r\n", "*[:7 :8]", Kind::Value),
];

fn show(reply: Reply<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = |items: assay_wire::resp::codec::Items<'_>| {
        assert_eq!(items.count() as u64, items.len(), "as many items as announced");
        items.map(show).collect::<Vec<_>>().join(" ")
    };
    match reply {
        Reply::Simple(bytes) => format!("+{}", text(bytes)),
        Reply::Error(bytes) => format!("-{}", text(bytes)),
        Reply::Integer(number) => format!(":{number}"),
        Reply::Bulk(bytes) => format!("${:?}", text(bytes)),
        Reply::Null => "_".to_owned(),
        Reply::Double(number) => format!(",{number}"),
        Reply::Boolean(truth) => format!("#{truth}"),
        Reply::BigNumber(digits) => {
            assert_eq!(digits, b"-3492890328409238509324850943850943825024385");
            "(".to_owned()
        }
        Reply::Verbatim(format, bytes) => format!("={}:{}", text(&format), text(bytes)),
        Reply::Array(items) => format!("*[{}]", all(items)),
        Reply::Set(items) => format!("~[{}]", all(items)),
        Reply::Push(items) => format!(">[{}]", all(items)),
        Reply::Map(items) => format!("%[{}]", all(items)),
    }
}

#[test]
fn a_command_is_an_array_of_bulks() {
    let mut output = b"kept".to_vec();
    command(&mut output, &[b"SET", b"", &[0, 13, 10], &[b'v'; 1234]]);
    let mut expected = b"kept*4\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n\0\r\n\r\n$1234\r\n".to_vec();
    expected.extend([b'v'; 1234]);
    expected.extend(b"\r\n");
    assert_eq!(output, expected);
}

#[test]
fn replies_mean_what_the_specification_says() {
    for (bytes, meaning, _) in SAMPLES {
        let (length, reply) = decode(bytes).unwrap().unwrap();
        assert_eq!((length, show(reply).as_str()), (bytes.len(), *meaning));
    }
}

#[test]
fn part_of_a_reply_is_none_yet_and_what_follows_one_is_left_alone() {
    for (bytes, meaning, _) in SAMPLES {
        for end in 0..bytes.len() {
            let part = decode(&bytes[..end]).unwrap();
            assert!(part.is_none(), "{end} bytes of {meaning} are no reply: {part:?}");
        }
        let longer = [bytes, &b"$9\r\nand"[..]].concat();
        assert_eq!(decode(&longer).unwrap().unwrap().0, bytes.len());
    }
}

/// Ends and kinds of replies that arrive in pieces; bytes are taken off whenever they can be.
fn scan(stream: &[u8], pieces: usize, discards: bool) -> Vec<(usize, Kind)> {
    let (mut scanner, mut found) = (Scanner::default(), Vec::new());
    let (mut start, mut end) = (0, 0);
    while end < stream.len() {
        end = (end + pieces).min(stream.len());
        while start < end {
            match scanner.next(&stream[start..end]).unwrap() {
                Step::End { bytes, kind } => {
                    start += bytes;
                    found.push((start, kind));
                }
                Step::More => break,
            }
        }
        if discards && start < end {
            start += scanner.discard();
        }
    }
    found
}

#[test]
fn the_scanner_finds_every_end_however_the_bytes_arrive() {
    let stream: Vec<u8> = SAMPLES.iter().flat_map(|sample| sample.0).copied().collect();
    let ends = SAMPLES.iter().scan(0, |end, sample| {
        *end += sample.0.len();
        Some((*end, sample.2))
    });
    let expected: Vec<_> = ends.collect();
    for pieces in 1..=stream.len() {
        assert_eq!(scan(&stream, pieces, false), expected, "pieces of {pieces}");
        assert_eq!(scan(&stream, pieces, true), expected, "pieces of {pieces}, discarding");
    }
}

#[test]
fn a_bulk_can_be_passed_without_being_kept_but_an_error_is_kept_whole() {
    let mut scanner = Scanner::default();
    assert_eq!(scanner.next(b"$100\r\nabc").unwrap(), Step::More);
    assert_eq!(scanner.discard(), 9);
    assert_eq!(scanner.next(&[b'x'; 97]).unwrap(), Step::More);
    assert_eq!(scanner.discard(), 97);
    assert_eq!(scanner.next(b"\r\n").unwrap(), Step::End { bytes: 2, kind: Kind::Value });
    assert_eq!(scanner.next(b"!9\r\nERR i").unwrap(), Step::More);
    assert_eq!(scanner.discard(), 0);
    let end = scanner.next(b"!9\r\nERR it is\r\n").unwrap();
    assert_eq!(end, Step::End { bytes: 15, kind: Kind::Error });
}

#[test]
fn what_no_server_may_send_is_an_error() {
    let wrong: &[&[u8]] = &[
        b"OK\r\n",
        b"+a\rb\r\n",
        b"$x\r\n",
        b"$-2\r\n",
        b"$+1\r\n",
        b"$1234567890123456789\r\n",
        b"$1\r\nabc",
        b"$\r\n",
        b"%-1\r\n",
        b"!-1\r\n",
        b"$1\rx",
        b"\r\n",
    ];
    for bytes in wrong {
        assert!(decode(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        let scanned = Scanner::default().next(bytes);
        assert!(scanned.is_err(), "scanner: {}", String::from_utf8_lossy(bytes));
    }
    let only_decoded: &[&[u8]] = &[
        b":\r\n",
        b":1x\r\n",
        b"_x\r\n",
        b",x\r\n",
        b"#x\r\n",
        b"(1x\r\n",
        b"(\r\n",
        b"=3\r\ntxt\r\n",
    ];
    for bytes in only_decoded {
        assert!(decode(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn lines_and_depth_are_bounded_and_a_claimed_length_is_only_waited_for() {
    let long = [b"+".as_slice(), &vec![b'a'; LINE_MAX + 2]].concat();
    assert!(decode(&long).is_err() && Scanner::default().next(&long).is_err());
    let nested = [b"*1\r\n".repeat(DEPTH_MAX + 1), b":1\r\n".to_vec()].concat();
    assert!(decode(&nested[4..]).unwrap().is_some());
    assert!(decode(&nested).is_err());
    assert!(decode(b"$999999999999999999\r\nabc").unwrap().is_none());
    assert!(decode(b"*999999999999999999\r\n+a\r\n").unwrap().is_none());
    let many = b"*999999999999999999\r\n".repeat(30);
    assert!(Scanner::default().next(&many).is_err());
}

/// Bytes of any one reply.
fn any_reply() -> impl Strategy<Value = Vec<u8>> {
    let sample = (0..SAMPLES.len()).prop_map(|place| SAMPLES[place].0.to_vec());
    let bulk = proptest::collection::vec(any::<u8>(), 0..40).prop_map(|payload| {
        [format!("${}\r\n", payload.len()).as_bytes(), &payload, b"\r\n"].concat()
    });
    prop_oneof![sample, bulk].prop_recursive(4, 40, 6, |inner| {
        let marks = proptest::sample::select(b"*~>%|".as_slice());
        (marks, proptest::collection::vec(inner, 1..6)).prop_map(|(mark, elements)| {
            let pairs = mark == b'%' || mark == b'|';
            let count = if pairs { elements.len() / 2 } else { elements.len() };
            let used = if pairs { count * 2 } else { count };
            let mut bytes = format!("{}{count}\r\n", mark as char).into_bytes();
            elements[..used].iter().for_each(|element| bytes.extend(element));
            // What an attribute belongs to.
            if mark == b'|' {
                bytes.extend(b":1\r\n");
            }
            bytes
        })
    })
}

fn kind_of(reply: &Reply<'_>) -> Kind {
    match reply {
        Reply::Error(_) => Kind::Error,
        Reply::Null => Kind::Null,
        Reply::Push(_) => Kind::Push,
        _ => Kind::Value,
    }
}

/// What must hold of scanner and decoder for any bytes at all.
fn agree(bytes: &[u8]) {
    let scanned = Scanner::default().next(bytes);
    match decode(bytes) {
        Ok(Some((length, reply))) => {
            assert_eq!(scanned.unwrap(), Step::End { bytes: length, kind: kind_of(&reply) });
            show_any(reply);
        }
        Ok(None) => assert!(!matches!(scanned, Ok(Step::End { .. })), "{bytes:?}"),
        // The scanner takes no offence at what lines say.
        Err(_) => {}
    }
}

/// Walks through a reply that may be anything.
fn show_any(reply: Reply<'_>) {
    if let Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Map(items) = reply
    {
        assert_eq!(items.count() as u64, items.len());
        items.for_each(show_any);
    }
}

proptest! {
    #[test]
    fn scanner_and_decoder_agree_on_every_reply(bytes in any_reply()) {
        prop_assert_eq!(decode(&bytes).unwrap().unwrap().0, bytes.len());
        agree(&bytes);
    }

    #[test]
    fn scanner_and_decoder_agree_on_spoilt_replies(
        mut bytes in any_reply(),
        spoils in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        for (place, byte) in spoils {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        agree(&bytes);
    }

    #[test]
    fn scanner_and_decoder_agree_on_noise(
        bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"+-:$*_,#(!=~>%|\r\n019tf".as_slice())],
            0..60,
        )
    ) {
        agree(&bytes);
    }
}
