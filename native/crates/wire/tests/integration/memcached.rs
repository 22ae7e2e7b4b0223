//! memcached's text protocol without I/O: replies of the specification, whole, split and spoilt.

use assay_wire::memcached::codec::{
    Batch, Item, KEY_MAX, Kind, LINE_MAX, Reply, Scanner, Step, VALUE_MAX, decode, is_key,
};
use proptest::prelude::*;

/// Bytes of one reply, what they mean, and what the scanner says of them.
const SAMPLES: &[(&[u8], &str, Kind)] = &[
    (b"STORED\r\n", "STORED", Kind::Done),
    (b"DELETED\r\n", "DELETED", Kind::Done),
    (b"TOUCHED\r\n", "TOUCHED", Kind::Done),
    (b"OK\r\n", "OK", Kind::Done),
    (b"RESET\r\n", "RESET", Kind::Done),
    (b"NOT_STORED\r\n", "not NOT_STORED", Kind::NotDone),
    (b"EXISTS\r\n", "not EXISTS", Kind::NotDone),
    (b"NOT_FOUND\r\n", "not NOT_FOUND", Kind::NotDone),
    (b"END\r\n", "[]", Kind::NotDone),
    (b"0\r\n", "number 0", Kind::Done),
    (b"18446744073709551615\r\n", "number 18446744073709551615", Kind::Done),
    (b"5 \r\n", "number 5", Kind::Done),
    (b"VERSION 1.6.18\r\n", "version 1.6.18", Kind::Done),
    (b"ERROR\r\n", "error ERROR", Kind::Error),
    (b"ERROR: shutdown not enabled\r\n", "error ERROR: shutdown not enabled", Kind::Error),
    (b"CLIENT_ERROR bad data chunk\r\n", "error CLIENT_ERROR bad data chunk", Kind::Error),
    (b"VALUE k 0 3\r\nabc\r\nEND\r\n", "[k 0 \"abc\"]", Kind::Done),
    (b"VALUE k 4294967295 0\r\n\r\nEND\r\n", "[k 4294967295 \"\"]", Kind::Done),
    (b"VALUE k 0 2 77\r\n\r\n\r\nEND\r\n", "[k 0 \"\\r\\n\" 77]", Kind::Done),
    (
        b"VALUE a 0 5\r\nEND\r\n\r\nVALUE b 1 1\r\nx\r\nEND\r\n",
        "[a 0 \"END\\r\\n\", b 1 \"x\"]",
        Kind::Done,
    ),
    (
        b"VALUE a 0 1\r\nx\r\nSERVER_ERROR out of memory\r\n",
        "error SERVER_ERROR out of memory",
        Kind::Error,
    ),
    (
        b"STAT pid 12\r\nSTAT inter NULL\r\nSTAT empty \r\nEND\r\n",
        "[pid=12, inter=NULL, empty=]",
        Kind::Done,
    ),
    (
        b"STAT libevent 2.1.12-stable and more\r\nEND\r\n",
        "[libevent=2.1.12-stable and more]",
        Kind::Done,
    ),
];

fn show(reply: &Reply<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let item = |item: Item<'_>| match item {
        Item::Value { key, flags, data, unique } => {
            let unique = unique.map(|unique| format!(" {unique}")).unwrap_or_default();
            format!("{} {flags} {:?}{unique}", text(key), text(data))
        }
        Item::Stat { name, value } => format!("{}={}", text(name), text(value)),
    };
    match reply {
        Reply::Items(items) => format!("[{}]", items.map(item).collect::<Vec<_>>().join(", ")),
        Reply::Done(word) => text(word),
        Reply::NotDone(word) => format!("not {}", text(word)),
        Reply::Number(number) => format!("number {number}"),
        Reply::Version(version) => format!("version {}", text(version)),
        Reply::Error(words) => format!("error {}", text(words)),
    }
}

#[test]
fn commands_are_lines_and_a_value_stands_behind_its_own() {
    let mut batch = Batch::default();
    batch.get(b"k");
    batch.set(b"k", b"a\r\nb");
    batch.set(b"empty", b"");
    batch.set(b"long", &[b'v'; 1234]);
    batch.delete(b"k");
    batch.command(&[b"stats", b"settings"]);
    batch.command(&[b"cas", b"k", b"0", b"0", b"1", b"77"]);
    batch.data(b"x");
    let long = "v".repeat(1234);
    let expected = format!(
        "get k\r\nset k 0 0 4\r\na\r\nb\r\nset empty 0 0 0\r\n\r\nset long 0 0 1234\r\n{long}\r\n\
         delete k\r\nstats settings\r\ncas k 0 0 1 77\r\nx\r\n"
    );
    assert_eq!((str::from_utf8(batch.bytes()).unwrap(), batch.len()), (expected.as_str(), 7));
    batch.clear();
    assert!(batch.is_empty() && batch.bytes().is_empty());
}

#[test]
fn a_batch_goes_out_in_windows_that_sockets_hold() {
    let mut batch = Batch::default();
    assert_eq!(batch.window(0), None);
    let sizes = [10, 20_000, 20_000, 100_000, 10, 10];
    sizes.iter().for_each(|size| batch.set(b"k", &vec![b'x'; *size]));
    let (mut first, mut windows, mut sent) = (0, Vec::new(), Vec::new());
    while let Some((bytes, count)) = batch.window(first) {
        sent.extend_from_slice(bytes);
        windows.push(count);
        first += count;
    }
    assert_eq!((windows, sent.as_slice()), (vec![2, 1, 1, 2], batch.bytes()));
}

#[test]
fn a_key_is_a_word_of_at_most_250_bytes() {
    assert!(is_key(b"k") && is_key(&[b'k'; KEY_MAX]) && is_key("gr\u{fc}n".as_bytes()));
    let long = [b'k'; KEY_MAX + 1];
    for bytes in [b"".as_slice(), b"a b", b"a\r\nflush_all", b"a\n", b"\0", b"\x7f", &long] {
        assert!(!is_key(bytes), "{bytes:?}");
    }
}

#[test]
#[should_panic(expected = "13")]
fn a_key_with_a_line_break_is_never_sent() {
    Batch::default().get(b"a\r\nflush_all");
}

#[test]
fn replies_mean_what_the_specification_says() {
    for (bytes, meaning, _) in SAMPLES {
        let (length, reply) = decode(bytes).unwrap().unwrap();
        assert_eq!((length, show(&reply).as_str()), (bytes.len(), *meaning));
    }
}

#[test]
fn part_of_a_reply_is_none_yet_and_what_follows_one_is_left_alone() {
    for (bytes, meaning, _) in SAMPLES {
        for end in 0..bytes.len() {
            let part = decode(&bytes[..end]).unwrap();
            assert!(part.is_none(), "{end} bytes of {meaning} are no reply: {part:?}");
        }
        let longer = [bytes, &b"VALUE and"[..]].concat();
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
            let Step::End { bytes, kind } = scanner.next(&stream[start..end]).unwrap() else {
                break;
            };
            start += bytes;
            found.push((start, kind));
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
fn a_value_can_be_passed_without_being_kept() {
    let mut scanner = Scanner::default();
    assert_eq!(scanner.next(b"VALUE k 0 100\r\nabc").unwrap(), Step::More);
    assert_eq!(scanner.discard(), 18);
    assert_eq!(scanner.next(&[b'x'; 97]).unwrap(), Step::More);
    assert_eq!(scanner.discard(), 97);
    assert_eq!(scanner.next(b"\r\nEN").unwrap(), Step::More);
    assert_eq!(scanner.discard(), 2);
    assert_eq!(scanner.next(b"END\r\n").unwrap(), Step::End { bytes: 5, kind: Kind::Done });
}

#[test]
fn what_no_server_may_send_is_an_error() {
    let wrong: &[&[u8]] = &[
        b"HTTP/1.1 400 Bad Request\r\n",
        b"+PONG\r\n",
        b"HD\r\n",
        b"stored\r\n",
        b"\r\n",
        b"\n",
        b"STORED\n",
        b"VALUE k 0\r\n",
        b"VALUE k 0 \r\n",
        b"VALUE k 0 x\r\n",
        b"VALUE k 0 -1\r\n",
        b"VALUE k 4294967296 1\r\n",
        b"VALUE k 0 1 2 3\r\n",
        b"VALUE k 0 1073741825\r\n",
        b"VALUE k 0 18446744073709551616\r\n",
        b"VALUE k 0 1\r\nab\r\n",
        b"VALUE k 0 1\r\na\n\n",
        b"VALUE k 0 1\r\na\r\nSTAT pid 1\r\n",
        b"VALUE k 0 1\r\na\r\nSTORED\r\n",
        b"STAT pid 1\r\nVALUE k 0 1\r\n",
        b"STAT pid 1\r\n7\r\n",
        b"7x\r\n",
        b"18446744073709551616\r\n",
    ];
    for bytes in wrong {
        assert!(decode(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn lines_and_values_are_bounded_and_a_claimed_length_is_only_waited_for() {
    let line = |bytes: usize| [b"VERSION ", vec![b'a'; bytes - 8].as_slice(), b"\r\n"].concat();
    assert!(decode(&line(LINE_MAX)).unwrap().is_some());
    let long = line(LINE_MAX + 1);
    for end in LINE_MAX..=long.len() {
        let is_refused = decode(&long[..end]).is_err();
        assert_eq!(is_refused, end > LINE_MAX + 1, "{end} of {} bytes", long.len());
    }
    let claimed = format!("VALUE k 0 {VALUE_MAX}\r\nabc");
    assert!(decode(claimed.as_bytes()).unwrap().is_none());
}

/// Walks through whatever a reply may be.
fn is_read(bytes: &[u8]) {
    let scanned = Scanner::default().next(bytes);
    match decode(bytes) {
        Ok(Some((length, reply))) => {
            let Step::End { bytes, kind } = scanned.unwrap() else { panic!("a reply has an end") };
            assert_eq!(bytes, length);
            assert_eq!(matches!(reply, Reply::Error(_)), kind == Kind::Error);
            show(&reply);
        }
        Ok(None) => assert_eq!(scanned.unwrap(), Step::More),
        Err(_) => assert!(scanned.is_err()),
    }
}

proptest! {
    #[test]
    fn values_of_any_bytes_are_read_back(
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..5),
    ) {
        let mut bytes = Vec::new();
        for value in &values {
            bytes.extend(format!("VALUE k 1 {}\r\n", value.len()).as_bytes());
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"END\r\n");
        let (length, reply) = decode(&bytes).unwrap().unwrap();
        prop_assert_eq!(length, bytes.len());
        let Reply::Items(items) = reply else { panic!("{reply:?}") };
        let read: Vec<_> = items
            .map(|item| match item {
                Item::Value { data, .. } => data.to_vec(),
                Item::Stat { .. } => panic!("{item:?}"),
            })
            .collect();
        prop_assert_eq!(read, values);
    }

    #[test]
    fn spoilt_replies_and_noise_are_read_or_refused(
        sample in 0..SAMPLES.len(),
        spoils in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        noise in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"VALUESTATENDORKk 019\r\n".as_slice())],
            0..60,
        ),
    ) {
        let mut bytes = SAMPLES[sample].0.to_vec();
        for (place, byte) in spoils {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        is_read(&bytes);
        is_read(&noise);
        is_read(&[bytes, noise].concat());
    }
}
