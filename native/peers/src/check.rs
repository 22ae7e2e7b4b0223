//! Correctness before speed: a contestant that loses, mixes up or tears records does not race.
//!
//! One thread against an ordered map, operation by operation and then in batches; then two threads,
//! whose reads must give whole fields and nothing else, for a lost race would show as speed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use assay_workload::hash::fnv1a_64;
use assay_workload::values::is_whole;
use assay_workload::{Mix, OperationKind};

use crate::contestants::Contestant;
use crate::inputs::{Draw, Inputs};
use crate::peer::{BATCH, Field, Peer, Session, Setup, Shape};
use crate::scratch::Scratch;
use crate::turn::{Turn, on_threads};

const RECORDS: u64 = 2000;
/// Loaded in bulk; the rest are inserted one by one.
const LOADED: u64 = 1500;
const OPERATIONS: usize = 200 * BATCH;
/// Records that threads meet at.
const HOT: u64 = 4;
const SEED: u64 = 7;

/// The sizes of a check: those of the race, with few records.
pub fn small(shape: Shape) -> Shape {
    Shape { records: RECORDS, ..shape }
}

/// Runs both checks on a fresh store of `contestant`.
pub fn check(contestant: &Contestant, shape: Shape, parent: &std::path::Path) -> Result<()> {
    let scratch = Scratch::new(parent)?;
    let shape = small(shape);
    let threads = contestant.threads_max.min(2);
    let operations = OPERATIONS;
    let inputs = Inputs::new(&Draw { shape, mix: Mix::A, threads, operations, seed: SEED })?;
    let peer = (contestant.open)(&Setup { shape, folder: scratch.path() })?;
    alone(peer.as_ref(), &inputs)
        .and_then(|()| together(peer.as_ref(), &inputs, threads))
        .with_context(|| format!("{} is not correct and cannot race", contestant.name))
}

type Twin = BTreeMap<u64, Vec<u8>>;

/// One thread beside an ordered map.
pub fn alone(peer: &dyn Peer, inputs: &Inputs) -> Result<()> {
    let records = inputs.records();
    let mut loaded = records;
    loaded.shape.records = LOADED;
    peer.load(&loaded)?;
    let mut twin = Twin::new();
    records.each(|key, record| {
        twin.insert(key, record.to_vec());
        Ok(())
    })?;
    peer.with_session(&mut |session| {
        let mut add = |key, record: &[u8]| session.insert(key, record);
        records.range(LOADED, RECORDS, &mut add)?;
        equals(session, &twin, records.shape)?;
        let (singly, batched) = inputs.list(0).split_at(OPERATIONS / 2);
        for batch in singly.chunks(1).chain(batched.chunks(BATCH)) {
            step(session, &mut twin, batch, inputs)?;
        }
        equals(session, &twin, records.shape)?;
        let mut copy = vec![0; records.shape.copy_bytes()];
        ensure!(!session.get(1, &mut copy)?, "key 1 is found and does not exist");
        Ok(())
    })
}

/// Runs a batch on both; a read at its end must have copied what the twin has.
fn step(
    session: &mut dyn Session,
    twin: &mut Twin,
    batch: &[assay_workload::Operation],
    inputs: &Inputs,
) -> Result<()> {
    let (values, shape) = (inputs.values(), inputs.records().shape);
    let Some(last) = batch.last() else { return Ok(()) };
    for operation in batch.iter().filter(|operation| operation.kind == OperationKind::Update) {
        let record = twin.get_mut(&operation.key).context("the twin lacks a key")?;
        Field::of(operation, values).write_to(record);
    }
    let expected = &twin[&last.key];
    let mut copy = vec![0; shape.copy_bytes()];
    let missed = session.execute(batch, values, &mut copy)?;
    ensure!(missed == 0, "{missed} operations of a batch found no record");
    let is_read = last.kind == OperationKind::Read;
    ensure!(!is_read || copy.starts_with(expected), "key {:#x} reads as something else", last.key);
    Ok(())
}

fn equals(session: &mut dyn Session, twin: &Twin, shape: Shape) -> Result<()> {
    for (&key, expected) in twin {
        let mut copy = vec![0; shape.copy_bytes()];
        ensure!(session.get(key, &mut copy)?, "key {key:#x} is lost");
        ensure!(copy.starts_with(expected), "key {key:#x} has another value than it should");
    }
    Ok(())
}

/// Threads that all read and write: every field that anybody reads is whole.
pub fn together(peer: &dyn Peer, inputs: &Inputs, threads: usize) -> Result<()> {
    // Pinning is not needed here, but two threads on one CPU would seldom meet.
    let cpus = crate::host::cpus()?;
    on_threads(threads.min(cpus.len()), &cpus, |thread, gate| {
        peer.with_session(&mut |session| {
            gate.pass()?;
            clash(session, inputs, thread)
        })?;
        Ok(Turn { operations: 0, seconds: 0.0 })
    })?;
    peer.with_session(&mut |session| inputs.records().each(|key, _| whole(session, key, inputs)))
}

fn clash(session: &mut dyn Session, inputs: &Inputs, thread: usize) -> Result<()> {
    for operation in inputs.list(thread) {
        let key = fnv1a_64(operation.number % HOT);
        let field = Field::of(operation, inputs.values());
        if operation.kind == OperationKind::Update {
            ensure!(session.update(key, field)?, "key {key:#x} is lost");
        } else {
            whole(session, key, inputs)?;
        }
    }
    Ok(())
}

fn whole(session: &mut dyn Session, key: u64, inputs: &Inputs) -> Result<()> {
    let shape = inputs.records().shape;
    let mut copy = vec![0; shape.copy_bytes()];
    ensure!(session.get(key, &mut copy)?, "key {key:#x} is lost");
    let mut fields = copy[..shape.record_bytes()].chunks(shape.field_bytes);
    ensure!(fields.all(is_whole), "key {key:#x} has a torn field");
    Ok(())
}
