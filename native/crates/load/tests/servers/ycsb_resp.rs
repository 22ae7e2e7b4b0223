//! The bytes of YCSB's commands over RESP, and what a real Redis makes of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use assay_load::ycsb::YcsbError;
use assay_load::ycsb::resp::{encode, insert, read};
use assay_runtime::Address;
use assay_workload::hash::fnv1a_64;
use assay_workload::{Mix, Operation, OperationKind, Plan, Values};

use crate::support::redis_server::RedisServer;
use crate::support::ycsb_twin::{OPERATIONS, RECORDS, Twin, parameters};

fn operation(kind: OperationKind) -> Operation {
    Operation { number: 0, key: 123, kind, field: 1, value: 7, length: 5 }
}

fn commands(kind: OperationKind, values: &Values) -> (String, usize) {
    let mut out = b"kept".to_vec();
    let replies = encode(&operation(kind), 2, values, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    (text.strip_prefix("kept").unwrap().to_owned(), replies)
}

#[test]
fn each_operation_is_a_command_on_a_hash() {
    let values = Values::new(1, 3);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let read = "*2\r\n$7\r\nHGETALL\r\n$7\r\nuser123\r\n";
    let value = text(values.value(7));
    let update = format!("*4\r\n$4\r\nHSET\r\n$7\r\nuser123\r\n$6\r\nfield1\r\n$3\r\n{value}\r\n");
    let (first, second) = (text(values.initial(123, 0)), text(values.initial(123, 1)));
    let insert = format!(
        "*6\r\n$4\r\nHSET\r\n$7\r\nuser123\r\n$6\r\nfield0\r\n$3\r\n{first}\r\n\
         $6\r\nfield1\r\n$3\r\n{second}\r\n"
    );
    assert_eq!(commands(OperationKind::Read, &values), (read.to_owned(), 1));
    assert_eq!(commands(OperationKind::Update, &values), (update.clone(), 1));
    assert_eq!(commands(OperationKind::Insert, &values), (insert, 1));
    let both = format!("{read}{update}");
    assert_eq!(commands(OperationKind::ReadModifyWrite, &values), (both, 2));
}

#[test]
fn names_of_fields_have_their_length() {
    let values = Values::new(1, 3);
    let mut out = Vec::new();
    encode(&operation(OperationKind::Insert), 101, &values, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("*204\r\n"));
    for field in ["$6\r\nfield9\r\n", "$7\r\nfield10\r\n", "$8\r\nfield100\r\n"] {
        assert!(text.contains(field), "{field:?}");
    }
}

#[test]
fn a_scan_is_refused_and_nothing_is_sent() {
    let mut out = Vec::new();
    let scan = encode(&operation(OperationKind::Scan), 2, &Values::new(1, 3), &mut out);
    let error = scan.unwrap_err();
    assert!(matches!(error, YcsbError::Unsupported { operation: "scan" }));
    assert!(error.to_string().contains("run mix a, b, c, d or f"), "{error}");
    assert!(out.is_empty());
}

/// A client that sends, and reads replies one by one: texts of a flat array, or of one integer.
struct Client(BufReader<TcpStream>);

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn reply(&mut self) -> Vec<String> {
        let line = self.line();
        match line.split_at(1) {
            (":", number) => vec![number.to_owned()],
            ("*", count) => {
                let count = 0..count.parse().unwrap();
                count.flat_map(|_: usize| self.reply()).collect()
            }
            ("$", length) => {
                let mut bytes = vec![0; length.parse::<usize>().unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                vec![String::from_utf8(bytes[..bytes.len() - 2].to_vec()).unwrap()]
            }
            _ => panic!("{line}"),
        }
    }
}

/// The fields of a reply to HGETALL.
fn fields(reply: Vec<String>) -> BTreeMap<String, String> {
    reply.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn expected(record: &[Vec<u8>]) -> BTreeMap<String, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    record.iter().enumerate().map(|(at, bytes)| (format!("field{at}"), text(bytes))).collect()
}

#[test]
fn the_same_operations_leave_redis_as_their_twin() {
    let server = RedisServer::start(&[]);
    let Address::Tcp(address) = server.target().address else { panic!("no port") };
    let mut client = Client(BufReader::new(TcpStream::connect(address).unwrap()));

    for mix in [Mix::A, Mix::D, Mix::F] {
        let plan = Plan::new(parameters(mix)).unwrap();
        let (mut out, mut twin) = (Vec::new(), Twin::new(&plan));
        let keys = (0..RECORDS).map(fnv1a_64);
        client.send(b"*1\r\n$8\r\nFLUSHALL\r\n");
        assert_eq!(client.line(), "+OK");
        keys.for_each(|key| insert(key, 10, plan.values(), &mut out));
        client.send(&out);
        (0..RECORDS).for_each(|_| assert_eq!(client.reply(), ["10"]));

        let mut stream = plan.stream(0, 0);
        for _ in 0..OPERATIONS {
            let Some(operation) = stream.take() else { break };
            out.clear();
            let replies = encode(&operation, 10, plan.values(), &mut out).unwrap();
            client.send(&out);
            let key = format!("user{}", operation.key).into_bytes();
            let before = twin.records.get(&key).map(|record| expected(record));
            twin.run(&operation);
            let answers: Vec<_> = (0..replies).map(|_| client.reply()).collect();
            match operation.kind {
                OperationKind::Insert => {
                    assert_eq!(answers, [["10"]]);
                    stream.acknowledge(&operation);
                }
                OperationKind::Update => assert_eq!(answers, [["0"]]),
                _ => assert_eq!(Some(fields(answers[0].clone())), before, "{operation:?}"),
            }
        }
        for number in 0..plan.keys().readable() {
            out.clear();
            read(fnv1a_64(number), &mut out);
            client.send(&out);
            let key = format!("user{}", fnv1a_64(number)).into_bytes();
            assert_eq!(fields(client.reply()), expected(&twin.records[&key]), "{mix:?}");
        }
        assert_eq!(twin.records.len() as u64, plan.keys().readable());
    }
}
