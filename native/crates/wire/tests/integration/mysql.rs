//! Any bytes at all from a server of MySQL give an answer or an error; the same bytes give the same
//! answer wherever they are cut.

use assay_wire::WireError;
use assay_wire::mysql::Row;
use assay_wire::mysql::answer::{Answer, Event, Preparation, Shape};
use assay_wire::mysql::bytes::{put_length, put_string};
use assay_wire::mysql::codec::{Next, Packets, begin, finish};
use assay_wire::mysql::packets::{Done, Greeting, Prepared, Turn};
use assay_wire::mysql::rows::Columns;
use assay_wire::sql::Row as _;
use proptest::prelude::*;

fn shapes() -> impl Strategy<Value = Shape> {
    (any::<bool>(), any::<bool>())
        .prop_map(|(deprecate_eof, cache_metadata)| Shape { deprecate_eof, cache_metadata })
}

fn definition(kind: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for name in ["def", "", "", "", "c", ""] {
        put_string(&mut out, name.as_bytes());
    }
    out.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
    out
}

fn end(shape: Shape, has_more: bool) -> Vec<u8> {
    let status = if has_more { 8 } else { 0 };
    if shape.deprecate_eof {
        vec![0xFE, 0, 0, status, 0, 0, 0]
    } else {
        vec![0xFE, 0, 0, status, 0]
    }
}

/// An answer of two results, of so many rows each; then one without rows.
fn answer(shape: Shape, rows: usize) -> Vec<u8> {
    let mut payloads = Vec::new();
    for is_told in [true, !shape.cache_metadata] {
        let mut count = vec![3];
        if shape.cache_metadata {
            count.push(u8::from(is_told));
        }
        payloads.push(count);
        if is_told {
            payloads.extend([8, 253, 246].map(definition));
        }
        if !shape.deprecate_eof {
            payloads.push(vec![0xFE, 0, 0, 0, 0]);
        }
        for row in 0..rows {
            let mut payload = vec![0, u8::from(row % 3 == 0) << 3];
            payload.extend_from_slice(&(row as i64 - 5).to_le_bytes());
            if row % 3 > 0 {
                put_string(&mut payload, &vec![b't'; row * 100]);
            }
            put_string(&mut payload, format!("{row}.00").as_bytes());
            payloads.push(payload);
        }
        payloads.push(end(shape, true));
    }
    payloads.push(vec![0, 252, 44, 1, 0, 2, 0, 0, 0]);
    stream(&payloads)
}

fn stream(payloads: &[Vec<u8>]) -> Vec<u8> {
    let (mut out, mut number) = (Vec::new(), 1);
    for payload in payloads {
        let start = begin(&mut out);
        out.extend_from_slice(payload);
        number = finish(&mut out, start, number);
    }
    out
}

/// Everything that an input says, if its pieces end at `cuts`, and how it ends.
fn said(shape: Shape, input: &[u8], cuts: impl IntoIterator<Item = usize>) -> Vec<String> {
    let (mut packets, mut columns) = (Packets::default(), Columns::default());
    packets.expect(1);
    let (mut answer, mut said, mut used) = (Answer::new(shape), Vec::new(), 0);
    for end in cuts.into_iter().chain([input.len()]) {
        loop {
            let payload = match packets.next(&input[used..end.max(used)]) {
                Ok(Next::More) => break,
                Ok(Next::Part { bytes }) => {
                    used += bytes;
                    continue;
                }
                Ok(Next::Packet { payload, bytes }) => {
                    used += bytes;
                    payload
                }
                Err(error) => {
                    said.push(error.to_string());
                    return said;
                }
            };
            match answer.take(payload, &mut columns) {
                Ok(Event::Nothing) => {}
                Ok(Event::Row(payload)) => said.push(row(payload, &columns)),
                Ok(Event::End(completion)) => {
                    said.push(format!("{completion:?}"));
                    return said;
                }
                Ok(Event::Failed(error)) | Err(error) => {
                    said.push(error.to_string());
                    return said;
                }
            }
        }
    }
    said
}

fn row(payload: &[u8], columns: &Columns) -> String {
    let row = match Row::read(payload, columns.get()) {
        Ok(row) => row,
        Err(error) => return error.to_string(),
    };
    let shown = |error: WireError| error.to_string();
    let values = (0..=row.columns()).rev().map(|column| {
        format!("{:?} {:?}", row.int(column).map_err(shown), row.text(column).map_err(shown))
    });
    values.collect::<Vec<_>>().join(", ")
}

const SHAPES: [Shape; 4] = [
    Shape { deprecate_eof: true, cache_metadata: true },
    Shape { deprecate_eof: true, cache_metadata: false },
    Shape { deprecate_eof: false, cache_metadata: true },
    Shape { deprecate_eof: false, cache_metadata: false },
];

#[test]
fn an_answer_is_the_same_wherever_it_is_cut() {
    for shape in SHAPES {
        let input = answer(shape, 4);
        let whole = said(shape, &input, []);
        assert_eq!(whole.len(), 9, "{whole:?}");
        assert_eq!(whole[8], "Completion { rows: 8, affected: 300 }");
        assert!(whole[1].contains("Ok(Some(-4))") && whole[1].contains("Ok(Some(1))"));
        assert_eq!(said(shape, &input, 0..input.len()), whole, "byte by byte");
        for cut in 0..input.len() {
            assert_eq!(said(shape, &input, [cut]), whole, "cut at {cut}");
            // One that ends here has said the beginning of it.
            let begun = said(shape, &input[..cut], []);
            assert_eq!(begun, whole[..begun.len()]);
            assert!(begun.len() < whole.len(), "{cut}");
        }
    }
}

#[test]
fn columns_that_are_not_told_must_be_known_in_their_number() {
    let shape = Shape { deprecate_eof: true, cache_metadata: true };
    let input = stream(&[vec![3, 0]]);
    assert!(said(shape, &input, [])[0].contains("3 columns without definitions; 0 are known"));
    let input = stream(&[vec![0xFB, b'/', b'x']]);
    assert!(said(shape, &input, [])[0].contains("asks for a file"));
}

#[test]
fn a_claimed_number_of_columns_is_not_believed() {
    let mut count = Vec::new();
    put_length(&mut count, u64::MAX);
    let shape = Shape { deprecate_eof: true, cache_metadata: false };
    assert_eq!(said(shape, &stream(&[count, definition(8)]), []), Vec::<String>::new());
}

#[test]
fn a_preparation_ends_with_its_last_definition() {
    for shape in SHAPES {
        for (parameters, columns) in [(0, 0), (2, 0), (0, 2), (2, 3)] {
            let mut payloads = vec![vec![0, 9, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]];
            for count in [parameters, columns] {
                payloads.extend((0..count).map(|_| definition(8)));
                if count > 0 && !shape.deprecate_eof {
                    payloads.push(vec![0xFE, 0, 0, 0, 0]);
                }
            }
            let mut preparation = Preparation::new(shape);
            let (last, others) = payloads.split_last().unwrap();
            for payload in others {
                assert!(preparation.take(payload).unwrap().is_none());
            }
            let prepared = preparation.take(last).unwrap().unwrap().unwrap();
            let (parameters, columns) = (u16::from(parameters), u16::from(columns));
            assert_eq!(prepared, Prepared { id: 9, columns, parameters });
            assert_eq!(preparation.columns.get().len(), usize::from(columns));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_give_an_answer_or_an_error(
        payload in prop::collection::vec(any::<u8>(), 0..300),
        head in prop::sample::select(vec![0_u8, 1, 3, 10, 0xFB, 0xFC, 0xFE, 0xFF]),
        kinds in prop::collection::vec(any::<u8>(), 0..20),
        shape in shapes(),
    ) {
        let payload = [&[head], &payload[..]].concat();
        let _ = Greeting::read(&payload);
        let _ = Turn::read(&payload);
        let _ = Done::read(&payload);
        let _ = Done::read_eof(&payload);
        let _ = Prepared::read(&payload);
        let mut preparation = Preparation::new(shape);
        let _ = preparation.take(&payload).and_then(|_| preparation.take(&payload));
        let mut columns = Columns::default();
        for kind in kinds {
            let _ = columns.push(&definition(kind));
        }
        row(&payload, &columns);
        said(shape, &payload, []);
        said(shape, &stream(&[payload.clone(), payload]), []);
    }

    #[test]
    fn answers_with_wrong_bytes_give_an_answer_or_an_error(
        shape in shapes(),
        other in shapes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut input = answer(shape, 5);
        for (place, byte) in &changes {
            *place.get_mut(&mut input) = *byte;
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(said(shape, &input, cuts), said(shape, &input, []));
        said(other, &input, []);
    }
}
