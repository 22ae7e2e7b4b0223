//! YCSB's operations on a session, and the look at all records.

use assay_workload::hash::fnv1a_64;
use assay_workload::{KeyText, Operation, OperationKind, Plan, Stream};

use crate::look::{KeySums, Look, Shape};
use crate::{Session, Store, StoreError};

/// Carries out one operation of `stream`. Every record that comes back is checked. A
/// read-modify-write is a read and then an update, as YCSB does it. An insert is acknowledged
/// however it ends: the window of outstanding inserts would fill up otherwise.
///
/// # Errors
/// Those of the session; `Missing` and `Wrong` for what came back.
pub fn carry_out(
    session: &mut dyn Session,
    stream: &Stream,
    operation: &Operation,
    shape: Shape,
) -> Result<(), StoreError> {
    let key = KeyText::new(operation.key);
    match operation.kind {
        OperationKind::Read => read(session, key, shape),
        OperationKind::Update => update(session, stream, operation, key),
        OperationKind::Insert => {
            let inserted = session.insert(operation.key, shape, stream.values());
            stream.acknowledge(operation);
            inserted
        }
        OperationKind::Scan => scan(session, key, u64::from(operation.length), shape),
        OperationKind::ReadModifyWrite => {
            read(session, key, shape)?;
            update(session, stream, operation, key)
        }
    }
}

fn read(session: &mut dyn Session, key: KeyText, shape: Shape) -> Result<(), StoreError> {
    let mut look = Look::from(shape, key);
    session.read(&key, &mut look)?;
    look.finish().map(|_| ())
}

fn update(
    session: &mut dyn Session,
    stream: &Stream,
    operation: &Operation,
    key: KeyText,
) -> Result<(), StoreError> {
    let field = usize::from(operation.field);
    if session.update(&key, field, stream.value(operation))? {
        return Ok(());
    }
    Err(StoreError::Missing { key: key.to_string() })
}

fn scan(
    session: &mut dyn Session,
    key: KeyText,
    length: u64,
    shape: Shape,
) -> Result<(), StoreError> {
    let mut look = Look::from(shape, key);
    session.scan(key.as_bytes(), Some(length), &mut look)?;
    let records = look.finish()?;
    if records <= length {
        return Ok(());
    }
    let what = format!("a scan of {length} returned {records} records");
    Err(StoreError::Wrong { key: key.to_string(), what })
}

/// Refuses data that were prepared with other parameters: the first and the last record must be
/// there and right, and the one after the last must not.
///
/// # Errors
/// Those of the session; `Missing` and `Wrong`.
pub fn belongs(store: &dyn Store, plan: &Plan) -> Result<(), StoreError> {
    let (records, shape) = (plan.parameters().records, Shape::of(plan.parameters()));
    let mut session = store.session()?;
    for number in [0, records - 1] {
        read(&mut *session, KeyText::new(fnv1a_64(number)), shape)?;
    }
    let next = KeyText::new(fnv1a_64(records));
    match read(&mut *session, next, shape) {
        Err(StoreError::Missing { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => Err(StoreError::Wrong {
            key: next.to_string(),
            what: format!("it is there, and only {records} records should be: prepare them anew"),
        }),
    }
}

/// What a look at all records found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How many there are.
    pub records: u64,
    /// What is wrong with them.
    pub faults: Vec<String>,
}

/// Looks at all records: those with the first `expected` key numbers must be there, and no others.
///
/// # Errors
/// Those of the session, except damage, which is a fault.
pub fn look_through(store: &dyn Store, shape: Shape, expected: u64) -> Result<Found, StoreError> {
    let mut look = Look::through(shape);
    let scanned = store.session()?.scan(b"", None, &mut look);
    let keys = look.keys();
    let mut faults = Vec::new();
    match scanned {
        Ok(()) => {}
        Err(error @ StoreError::Corrupt { .. }) => faults.push(error.to_string()),
        Err(error) => return Err(error),
    }
    faults.extend(look.finish().err().map(|error| error.to_string()));
    let mut wanted = KeySums::default();
    (0..expected).for_each(|number| wanted.add(fnv1a_64(number)));
    if keys.count != expected {
        faults.push(format!("{} records instead of {expected}", keys.count));
    } else if keys != wanted {
        faults.push(format!("not all of the {expected} keys are the workload's"));
    }
    Ok(Found { records: keys.count, faults })
}
