//! Every contestant is correct, and the check finds those that are not.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use assay_workload::Mix;

use crate::check::{alone, check, small, together};
use crate::contestants;
use crate::inputs::{Draw, Inputs};
use crate::peer::{BATCH, Field, Peer, Session, Shape, copy_out};

const SHAPES: [Shape; 2] = [
    Shape { records: 0, fields: 1, field_bytes: 100 },
    Shape { records: 0, fields: 10, field_bytes: 100 },
];

#[test]
fn every_contestant_ends_with_the_values_of_an_ordered_map() {
    for contestant in contestants::all() {
        for shape in SHAPES {
            check(&contestant, shape, Path::new("/dev/shm")).unwrap();
        }
    }
}

/// An ordered map with one fault.
struct Faulty {
    records: Mutex<BTreeMap<u64, Vec<u8>>>,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    LosesAnUpdateInAThousand,
    ForgetsOneInsert,
    WritesTheWrongField,
    ReadsHalfOfTheRecord,
    TearsAFieldNowAndThen,
    FindsWhatIsNotThere,
}

struct FaultySession<'a> {
    store: &'a Faulty,
    calls: Cell<u32>,
}

impl Peer for Faulty {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut FaultySession { store: self, calls: Cell::new(0) })
    }
}

impl FaultySession<'_> {
    /// True once in every `every` calls.
    fn is_turn(&self, every: u32) -> bool {
        self.calls.set(self.calls.get() + 1);
        self.calls.get().is_multiple_of(every)
    }
}

impl Session for FaultySession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let records = self.store.records.lock().unwrap();
        let Some(record) = records.get(&key) else {
            return Ok(self.store.fault == Fault::FindsWhatIsNotThere);
        };
        let half = record.len() / 2;
        match self.store.fault {
            Fault::ReadsHalfOfTheRecord => copy[..half].copy_from_slice(&record[..half]),
            _ => copy_out(record, copy),
        }
        Ok(true)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let mut records = self.store.records.lock().unwrap();
        let Some(record) = records.get_mut(&key) else { return Ok(false) };
        match self.store.fault {
            Fault::LosesAnUpdateInAThousand if self.is_turn(1000) => {}
            Fault::WritesTheWrongField => Field { number: 0, ..field }.write_to(record),
            Fault::TearsAFieldNowAndThen if self.is_turn(1000) => {
                record[..50].copy_from_slice(&field.bytes[..50]);
            }
            _ => field.write_to(record),
        }
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        if self.store.fault != Fault::ForgetsOneInsert || !self.is_turn(300) {
            self.store.records.lock().unwrap().insert(key, record.to_vec());
        }
        Ok(())
    }
}

fn outcomes(fault: Fault) -> (Result<()>, Result<()>) {
    let (shape, operations) = (small(SHAPES[1]), 200 * BATCH);
    let draw = Draw { shape, mix: Mix::A, threads: 2, operations, seed: 7 };
    let inputs = Inputs::new(&draw).unwrap();
    let faulty = Faulty { records: Mutex::default(), fault };
    let alone = alone(&faulty, &inputs);
    (alone, together(&faulty, &inputs, 2))
}

#[test]
fn a_store_with_a_fault_cannot_race() {
    let (alone, together) = outcomes(Fault::None);
    alone.and(together).unwrap();
    for fault in [
        Fault::LosesAnUpdateInAThousand,
        Fault::ForgetsOneInsert,
        Fault::WritesTheWrongField,
        Fault::ReadsHalfOfTheRecord,
        Fault::FindsWhatIsNotThere,
    ] {
        assert!(outcomes(fault).0.is_err(), "{fault:?} is not found");
    }
    let (_, together) = outcomes(Fault::TearsAFieldNowAndThen);
    assert!(together.is_err(), "two threads do not see a torn field");
}
