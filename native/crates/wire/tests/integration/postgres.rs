//! Messages of PostgreSQL, from bytes and to bytes.

use assay_wire::ServerErrorKind;
use assay_wire::postgres::codec::{Authentication, Message, next, rows_of_tag};
use assay_wire::postgres::{TransactionState, messages, report};
use assay_wire::sql::{Type, Value};
use proptest::prelude::*;

use crate::postgres_messages as server;

/// All messages of a stream that comes in pieces, in words; the error ends them.
fn decode(pieces: &[&[u8]]) -> Vec<String> {
    let (mut buffer, mut found) = (Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        let mut used = 0;
        loop {
            match next(&buffer[used..]) {
                Ok(Some((bytes, message))) => {
                    used += bytes;
                    walk(&message);
                    found.push(format!("{message:?}"));
                }
                Ok(None) => break,
                Err(error) => {
                    found.push(error.to_string());
                    return found;
                }
            }
        }
        buffer.drain(..used);
    }
    found
}

/// Looks at all that a message holds.
fn walk(message: &Message<'_>) {
    match message {
        Message::DataRow(fields) => assert_eq!(fields.iter().count(), fields.count()),
        Message::RowDescription(description) => assert!(description.columns().count() < 65_536),
        Message::Error(report) | Message::Notice(report) => {
            let _ = (report.error(), report.is_end(), report.field(b'x'));
        }
        Message::CommandComplete { tag } => {
            rows_of_tag(tag);
        }
        _ => {}
    }
}

fn one(bytes: &[u8]) -> Message<'_> {
    let (used, message) = next(bytes).unwrap().unwrap();
    assert_eq!(used, bytes.len());
    message
}

#[test]
fn whole_or_split_at_every_byte_the_messages_are_the_same() {
    let messages = server::one_of_each();
    let stream = messages.concat();
    let whole = decode(&[&stream]);
    assert_eq!(whole.len(), messages.len());
    for place in 0..=stream.len() {
        let (first, second) = stream.split_at(place);
        assert_eq!(decode(&[first, second]), whole, "split at {place}");
    }
    let bytes: Vec<_> = stream.chunks(1).collect();
    assert_eq!(decode(&bytes), whole);
}

#[test]
fn each_kind_of_message_is_told_from_the_others() {
    let all = server::one_of_each();
    let kinds: Vec<String> = all
        .iter()
        .map(|bytes| format!("{:?}", one(bytes)))
        .map(|text| text.chars().take_while(|letter| letter.is_alphanumeric()).collect())
        .collect();
    let mut expected = vec!["Authentication"; 12];
    expected.extend(["ParameterStatus", "BackendKeyData"]);
    expected.extend(["ReadyForQuery"; 3]);
    expected.extend(["ParameterDescription", "RowDescription", "RowDescription"]);
    expected.extend(["DataRow", "DataRow", "CommandComplete", "CommandComplete", "EmptyQuery"]);
    expected.extend(["Error", "Error", "Notice", "ParseComplete", "BindComplete"]);
    expected.extend(["CloseComplete", "NoData", "PortalSuspended", "Notification", "CopyIn"]);
    expected.extend(["CopyOut", "CopyBoth", "CopyData", "CopyDone", "NegotiateProtocolVersion"]);
    assert_eq!(kinds, expected);
}

#[test]
fn what_messages_hold_is_read() {
    let salt = server::authentication(5, b"salt");
    let asked = Authentication::Md5 { salt: *b"salt" };
    assert_eq!(one(&salt), Message::Authentication(asked));
    assert_eq!(one(&server::ready(b'E')), Message::ReadyForQuery(TransactionState::Failed));
    let setting = server::message(b'S', b"a\0b\0");
    assert_eq!(one(&setting), Message::ParameterStatus { name: b"a", value: b"b" });
    let values = [Some(&b"one"[..]), None, Some(b"")];
    let row = server::data_row(&values);
    let Message::DataRow(fields) = one(&row) else { panic!() };
    assert_eq!(fields.iter().collect::<Vec<_>>(), values);
    let columns = server::row_description(&[("id", 20), ("name", 25)]);
    let Message::RowDescription(description) = one(&columns) else { panic!() };
    let columns: Vec<_> = description.columns().map(|c| (c.name, c.type_oid, c.format)).collect();
    assert_eq!(columns, [(&b"id"[..], 20, 1), (b"name", 25, 1)]);
    let heard = server::message(b'A', b"\0\0\0\x07c\0p\0");
    let expected = Message::Notification { process: 7, channel: b"c", payload: b"p" };
    assert_eq!(one(&heard), expected);
}

#[test]
fn errors_give_their_code_words_and_kind() {
    for (code, kind) in [
        ("40P01", ServerErrorKind::Deadlock),
        ("40001", ServerErrorKind::Conflict),
        ("55P03", ServerErrorKind::LockTimeout),
        ("23505", ServerErrorKind::DuplicateKey),
        ("42601", ServerErrorKind::Other),
        ("", ServerErrorKind::Other),
    ] {
        assert_eq!(report::kind_of(code.as_bytes()), kind);
    }
    let fields = [(b'S', "FEHLER"), (b'V', "ERROR"), (b'C', "23505"), (b'M', "no"), (b'H', "try")];
    let bytes = server::report(b'E', &fields);
    let Message::Error(report) = one(&bytes) else { panic!() };
    assert_eq!(report.error().to_string(), "the server says 23505: no (hint: try)");
    assert!(!report.is_end());
    for fields in [&[(b'S', "FATAL")][..], &[(b'S', "SCHWER"), (b'V', "PANIC")]] {
        let bytes = server::report(b'E', fields);
        let Message::Error(report) = one(&bytes) else { panic!() };
        assert!(report.is_end());
    }
}

#[test]
fn tags_end_with_a_count_or_with_none() {
    for (tag, rows) in [
        ("INSERT 0 5", 5),
        ("UPDATE 0", 0),
        ("SELECT 123456789", 123_456_789),
        ("BEGIN", 0),
        ("", 0),
        ("12", 12),
    ] {
        assert_eq!(rows_of_tag(tag.as_bytes()), rows, "{tag}");
    }
    rows_of_tag(&[b'9'; 100]);
}

#[test]
fn what_is_no_message_is_refused_as_soon_as_its_header_is_there() {
    for (header, word) in [
        (&b"HTTP/1.1"[..], "is this a PostgreSQL server?"),
        (b"-ERR ", "is this a PostgreSQL server?"),
        (b"Z\0\0\0\x03", "length 3"),
        (b"d\x04\0\0\x01", "length 67108865"),
        (b"d\xff\xff\xff\xff", "length 4294967295"),
    ] {
        assert!(next(&header[..4]).unwrap().is_none());
        let error = next(header).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(next(b"d\x04\0\0\0").unwrap().is_none());
}

#[test]
fn a_body_that_is_too_short_or_too_long_is_refused() {
    for bytes in server::one_of_each() {
        let (kind, body) = (bytes[0], &bytes[5..]);
        // These may have any length.
        let is_free = match kind {
            b'd' | b'K' | b'C' => true,
            b'R' => [8, 10, 11, 12, 77].contains(&body[3]),
            _ => false,
        };
        if is_free {
            continue;
        }
        let longer = server::message(kind, &[body, b"x"].concat());
        assert!(next(&longer).is_err(), "{longer:?}");
        if let Some((_, shorter)) = body.split_last() {
            let shorter = server::message(kind, shorter);
            assert!(next(&shorter).is_err(), "{shorter:?}");
        }
    }
    // A value's length that is negative, or past the row's end.
    for length in [-2_i32, i32::MIN, 5, i32::MAX] {
        let body = [&[0, 1], &length.to_be_bytes()[..], b"four"].concat();
        assert!(next(&server::message(b'D', &body)).is_err());
    }
}

#[test]
fn what_clients_send_is_what_the_protocol_says() {
    let mut out = Vec::new();
    messages::startup(&mut out, &[("user", "me")]).unwrap();
    assert_eq!(out, b"\0\0\0\x11\0\x03\0\0user\0me\0\0");
    out.clear();
    messages::password(&mut out, b"pw").unwrap();
    assert_eq!(out, b"p\0\0\0\x07pw\0");
    out.clear();
    messages::sasl_initial(&mut out, "M", b"abc").unwrap();
    assert_eq!(out, b"p\0\0\0\x0dM\0\0\0\0\x03abc");
    out.clear();
    messages::sasl_response(&mut out, b"abc").unwrap();
    assert_eq!(out, b"p\0\0\0\x07abc");
    out.clear();
    messages::query(&mut out, "X").unwrap();
    assert_eq!(out, b"Q\0\0\0\x06X\0");
    out.clear();
    messages::parse(&mut out, "n", "X", &[Type::Int, Type::Text]).unwrap();
    assert_eq!(out, b"P\0\0\0\x12n\0X\0\0\x02\0\0\0\x14\0\0\0\x19");
    out.clear();
    messages::describe(&mut out, "n").unwrap();
    assert_eq!(out, b"D\0\0\0\x07Sn\0");
    out.clear();
    messages::copy_data(&mut out, b"ab").unwrap();
    assert_eq!(out, b"d\0\0\0\x06ab");
    out.clear();
    messages::copy_fail(&mut out, "w").unwrap();
    assert_eq!(out, b"f\0\0\0\x06w\0");
    assert!(messages::query(&mut out, "a\0b").is_err());
}

#[test]
fn values_are_bound_in_the_shortest_form() {
    let (i, t) = (Type::Int, Type::Text);
    let int = Value::Int(258);
    for (parameters, values, expected) in [
        (&[][..], &[][..], &b"\x0042\0\0\0\0\0"[..]),
        (
            &[i, i],
            &[int, Value::Null],
            b"\x0042\0\0\x01\0\x01\0\x02\0\0\0\x08\0\0\0\0\0\0\x01\x02\xff\xff\xff\xff",
        ),
        (&[t], &[Value::Text(b"ab")], b"\x0042\0\0\0\0\x01\0\0\0\x02ab"),
        (
            &[t, i],
            &[Value::Text(b""), int],
            b"\x0042\0\0\x02\0\0\0\x01\0\x02\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x01\x02",
        ),
    ] {
        let (mut head, mut out) = (Vec::new(), Vec::new());
        messages::bind_head(&mut head, parameters).unwrap();
        messages::bind(&mut out, 42, &head, parameters, values, b"tail").unwrap();
        let length = (expected.len() as u32 + 8).to_be_bytes();
        assert_eq!(out, [b"B", &length[..], expected, b"tail"].concat());
    }
    let error = messages::bind(&mut Vec::new(), 0, b"", &[i, t], &[int, int], b"").unwrap_err();
    assert!(error.to_string().contains("value 1 is not of the type"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_give_messages_or_an_error_and_the_same_when_split(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        kind in proptest::sample::select(&b"123ACDEGHIKNRSTVWZcdnstv"[..]),
        place in any::<prop::sample::Index>(),
    ) {
        decode(&[&bytes]);
        // With a header that is believed the body is looked at.
        let stream = server::message(kind, &bytes);
        let (first, second) = stream.split_at(place.index(stream.len()));
        prop_assert_eq!(decode(&[first, second]), decode(&[&stream]));
    }

    #[test]
    fn a_stream_with_false_bytes_gives_messages_or_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
    ) {
        let mut stream = server::one_of_each().concat();
        for (place, byte) in changes {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        stream.truncate(end.index(stream.len() + 1));
        let (first, second) = stream.split_at(place.index(stream.len() + 1));
        prop_assert_eq!(decode(&[first, second]), decode(&[&stream]));
    }
}
