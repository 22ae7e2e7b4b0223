//! YCSB on memcached: the bytes of commands, and what a real server makes of them.

use std::collections::BTreeMap;

use assay_load::clients::ycsb_key_value::{check, load, remove};
use assay_load::ycsb::memcached::update;
use assay_load::ycsb::{KeyText, Records, Shape, YcsbError};
use assay_wire::memcached::Session;
use assay_wire::memcached::codec::{Batch, Item, Reply};
use assay_workload::hash::fnv1a_64;
use assay_workload::{Mix, Operation, OperationKind, Plan, Values};

use crate::support::memcached_server::MemcachedServer;
use crate::support::ycsb_twin::{OPERATIONS, RECORDS, parameters};
use crate::support::{block_on, handle};

const SHAPE: Shape = Shape { fields: 2, field_bytes: 3 };

fn operation(kind: OperationKind) -> Operation {
    Operation { number: 0, key: 123, kind, field: 1, value: 1023, length: 5 }
}

fn text(batch: &Batch) -> String {
    String::from_utf8(batch.bytes().to_vec()).unwrap()
}

#[test]
fn a_record_is_one_value_and_an_update_writes_all_its_fields() {
    let values = Values::new(1, SHAPE.field_bytes);
    let set = |fields: [&[u8]; 2]| {
        let [first, second] = fields.map(|field| str::from_utf8(field).unwrap());
        format!("set user123 0 0 6\r\n{first}{second}\r\n")
    };
    let mut batch = Batch::default();
    Session::insert(123, SHAPE, &values, &mut batch);
    assert_eq!(text(&batch), set([values.initial(123, 0), values.initial(123, 1)]));
    batch.clear();
    // The last value of the pool is followed by the first.
    update(&operation(OperationKind::Update), SHAPE, &values, &mut batch);
    assert_eq!(text(&batch), set([values.value(1023), values.value(0)]));
}

#[test]
fn a_scan_is_refused_and_a_record_that_is_not_there_is_missing() {
    let server = MemcachedServer::start(&[]);
    let values = Values::new(1, SHAPE.field_bytes);
    let mut session = block_on(Session::open(&handle(), &server.target())).unwrap();
    let mut run = |kind| {
        let mut batch = Batch::default();
        block_on(session.carry_out(&operation(kind), SHAPE, &values, &mut batch))
    };
    let error = run(OperationKind::Scan).unwrap_err();
    assert!(matches!(error, YcsbError::Unsupported { operation: "scan" }));
    assert!(error.to_string().contains("run mix a, b, c, d or f"), "{error}");
    for kind in [OperationKind::Read, OperationKind::ReadModifyWrite] {
        let error = run(kind).unwrap_err();
        assert!(matches!(&error, YcsbError::Missing { key } if key == "user123"), "{error}");
    }
    run(OperationKind::Update).unwrap();
    run(OperationKind::ReadModifyWrite).unwrap();
    run(OperationKind::Read).unwrap();
}

/// All values of a server by key, for keys that are asked for.
fn found(session: &mut Session, keys: impl Iterator<Item = u64>) -> BTreeMap<u64, Vec<u8>> {
    let mut found = BTreeMap::new();
    for key in keys {
        let mut batch = Batch::default();
        batch.get(KeyText::new(key).as_bytes());
        let visit = |reply: &Reply<'_>| {
            let Reply::Items(items) = reply else { panic!("{reply:?}") };
            for item in *items {
                let Item::Value { data, .. } = item else { panic!("{item:?}") };
                found.insert(key, data.to_vec());
            }
            Ok(())
        };
        block_on(session.run(&batch, visit)).unwrap();
    }
    found
}

#[test]
fn the_same_operations_leave_memcached_as_their_twin() {
    for (mix, server) in [
        (Mix::A, MemcachedServer::start(&[])),
        (Mix::D, MemcachedServer::start_unix(&[])),
        (Mix::F, MemcachedServer::start(&[])),
    ] {
        let plan = Plan::new(parameters(mix)).unwrap();
        let (shape, values) = (Shape::of(&plan), plan.values());
        let mut session = block_on(Session::open(&handle(), &server.target())).unwrap();
        assert_eq!(block_on(load(&mut session, &plan)).unwrap(), [""; 0]);
        let record = |key| {
            let fields = (0..shape.fields).map(|field| values.initial(key, field));
            fields.flatten().copied().collect::<Vec<_>>()
        };
        let keys = (0..RECORDS).map(fnv1a_64);
        let mut twin: BTreeMap<u64, Vec<u8>> = keys.map(|key| (key, record(key))).collect();

        let (mut stream, mut batch) = (plan.stream(0, 0), Batch::default());
        for _ in 0..OPERATIONS {
            let Some(operation) = stream.take() else { break };
            block_on(session.carry_out(&operation, shape, values, &mut batch)).unwrap();
            match operation.kind {
                OperationKind::Insert => {
                    twin.insert(operation.key, record(operation.key));
                    stream.acknowledge(&operation);
                }
                OperationKind::Update | OperationKind::ReadModifyWrite => {
                    let value = usize::from(operation.value);
                    let fields = (0..shape.fields).map(|it| values.value((value + it) % 1024));
                    twin.insert(operation.key, fields.flatten().copied().collect());
                }
                _ => {}
            }
        }
        let readable = (0..plan.keys().readable()).map(fnv1a_64);
        assert_eq!(found(&mut session, readable), twin, "{mix:?}");
        block_on(remove(&mut session, &plan)).unwrap();
        let faults = block_on(check(&mut session, &plan)).unwrap();
        assert!(faults[0].contains("150 of 150 keys are not there"), "{faults:?}");
    }
}

#[test]
fn what_a_server_has_no_memory_for_is_said_when_it_is_loaded() {
    let server = MemcachedServer::start(&["-m", "2"]);
    let plan = Plan::new(assay_workload::Parameters { records: 20_000, ..parameters(Mix::C) });
    let plan = plan.unwrap();
    let mut session = block_on(Session::open(&handle(), &server.target())).unwrap();
    let faults = block_on(load(&mut session, &plan)).unwrap();
    assert!(faults[0].contains("of 20000 keys are not there"), "{faults:?}");
    assert!(faults[0].contains("evicted"), "{faults:?}");
}
