//! Whether a recorded history is serialisable: the direct serialisation graph, and its cycles.
//!
//! Transactions are nodes. An edge says that one must come before the other in any serial order:
//! it wrote the version that the other read (wr), it wrote the version that the other's replaced
//! (ww), or it read the version that the other replaced (rw). Versions of a key are in the order of
//! their TIDs. Keys that were looked for and not found count as reads of an absent version, for a
//! scan all keys of its range that it did not find: so phantoms are rw edges too. The history is
//! serialisable if and only if there is no cycle (Adya, PhD thesis, MIT 1999, for this form).
//!
//! The graph is exact, because the engine tells the versions. The price is that a mistake in what
//! it tells can hide or invent a cycle: hence the second, black-box checker in the tests.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use assay_workload::tables::TableId;

use crate::history::{Committed, ReadEvent, SeenVersion, WriteKind};
use crate::tid::LOADED;

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Its write was read.
    WriteRead,
    /// Its write was replaced.
    WriteWrite,
    /// What it read was replaced.
    ReadWrite,
}

/// What is wrong with a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// A version was read that no committed transaction wrote, or a row where there was none.
    ImpossibleRead {
        /// The reader, as a place in the history.
        reader: usize,
        /// What it read.
        read: ReadEvent,
    },
    /// An insert of a key that was there, a change of one that was not, or a TID used twice.
    ImpossibleWrite {
        /// The table.
        table: TableId,
        /// The key.
        key: u64,
        /// The TID of the write.
        tid: u64,
    },
    /// Transactions that each come before the next, and the last before the first: places in the
    /// history, the key on which the edge to the next one is, and its kind.
    Cycle(Vec<(usize, TableId, u64, Edge)>),
}

impl fmt::Display for Anomaly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Anomaly::ImpossibleRead { reader, read } => {
                write!(formatter, "transaction {reader} read what was not there: {read:?}")
            }
            Anomaly::ImpossibleWrite { table, key, tid } => {
                write!(formatter, "TID {tid} wrote table {} key {key} impossibly", table.0)
            }
            Anomaly::Cycle(edges) => {
                write!(formatter, "cycle:")?;
                edges.iter().try_for_each(|(node, table, key, edge)| {
                    write!(formatter, " T{node} -{edge:?} on {}/{key}->", table.0)
                })
            }
        }
    }
}

/// The first anomaly of a history, if there is one. `loaded` are the keys that were there before.
///
/// # Errors
/// The anomaly.
pub fn check(
    loaded: impl IntoIterator<Item = (TableId, u64)>,
    history: &[Committed],
) -> Result<(), Anomaly> {
    let versions = versions(loaded, history)?;
    let mut graph = Graph { edges: vec![Vec::new(); history.len()] };
    for (&(table, key), versions) in &versions {
        for pair in versions.windows(2) {
            graph.add(pair[0].writer, pair[1].writer, table, key, Edge::WriteWrite);
        }
    }
    for (reader, transaction) in history.iter().enumerate() {
        for read in &transaction.reads {
            graph.add_read(&versions, reader, *read)?;
        }
        for scan in &transaction.scans {
            let keys = (scan.table, *scan.keys.start())..=(scan.table, *scan.keys.end());
            for &(table, key) in versions.range(keys).map(|(key, _)| key) {
                if scan.known.contains(&key) {
                    continue;
                }
                let gone = scan.gone.iter().find(|(other, _)| *other == key);
                let version = match scan.snapshot {
                    Some(snapshot) => SeenVersion::GoneAt(snapshot),
                    None => SeenVersion::Gone(gone.map_or(LOADED, |(_, tid)| *tid)),
                };
                graph.add_read(&versions, reader, ReadEvent { table, key, version })?;
            }
        }
    }
    graph.cycle().map_or(Ok(()), |cycle| Err(Anomaly::Cycle(cycle)))
}

#[derive(Clone, Copy)]
struct Version {
    tid: u64,
    /// None for what was there before.
    writer: Option<usize>,
    is_present: bool,
}

type Versions = BTreeMap<(TableId, u64), Vec<Version>>;

fn versions(
    loaded: impl IntoIterator<Item = (TableId, u64)>,
    history: &[Committed],
) -> Result<Versions, Anomaly> {
    let first = |is_present| vec![Version { tid: LOADED, writer: None, is_present }];
    let mut versions: Versions = loaded.into_iter().map(|key| (key, first(true))).collect();
    let mut kinds = BTreeMap::new();
    for (writer, transaction) in history.iter().enumerate() {
        for write in &transaction.writes {
            let tid = transaction.tid.unwrap_or(LOADED);
            let is_present = write.kind != WriteKind::Delete;
            let all = versions.entry((write.table, write.key)).or_insert_with(|| first(false));
            all.push(Version { tid, writer: Some(writer), is_present });
            kinds.insert((write.table, write.key, tid), write.kind);
        }
    }
    for (&(table, key), versions) in &mut versions {
        versions.sort_by_key(|version| version.tid);
        for pair in versions.windows(2) {
            let tid = pair[1].tid;
            let kind = kinds.get(&(table, key, tid));
            let needs_row = kind.is_some_and(|kind| *kind != WriteKind::Insert);
            if pair[0].tid == tid || pair[0].is_present != needs_row {
                return Err(Anomaly::ImpossibleWrite { table, key, tid });
            }
        }
    }
    Ok(versions)
}

struct Graph {
    edges: Vec<Vec<(usize, TableId, u64, Edge)>>,
}

impl Graph {
    fn add(
        &mut self,
        from: Option<usize>,
        to: Option<usize>,
        table: TableId,
        key: u64,
        edge: Edge,
    ) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.edges[from].push((to, table, key, edge));
        }
    }

    fn add_read(
        &mut self,
        versions: &Versions,
        reader: usize,
        read: ReadEvent,
    ) -> Result<(), Anomaly> {
        let ReadEvent { table, key, version } = read;
        let impossible = Anomaly::ImpossibleRead { reader, read };
        let Some(all) = versions.get(&(table, key)) else {
            // A key that never was anywhere.
            let is_row = matches!(version, SeenVersion::Row(_));
            return if is_row { Err(impossible) } else { Ok(()) };
        };
        let (place, is_row) = match version {
            SeenVersion::Row(tid) => (all.iter().position(|one| one.tid == tid), true),
            SeenVersion::Gone(tid) => (all.iter().position(|one| one.tid == tid), false),
            SeenVersion::GoneAt(tid) => (all.iter().rposition(|one| one.tid <= tid), false),
        };
        let place = place.filter(|place| all[*place].is_present == is_row).ok_or(impossible)?;
        self.add(all[place].writer, Some(reader), table, key, Edge::WriteRead);
        if let Some(next) = all.get(place + 1) {
            self.add(Some(reader), next.writer, table, key, Edge::ReadWrite);
        }
        Ok(())
    }

    /// A shortest cycle through some node, if there is any cycle.
    fn cycle(&self) -> Option<Vec<(usize, TableId, u64, Edge)>> {
        let component = self.components();
        let mut sizes = vec![0; component.len()];
        component.iter().for_each(|&number| sizes[number] += 1);
        let start = (0..component.len()).find(|&node| sizes[component[node]] > 1)?;
        let mut before = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for &(next, table, key, edge) in &self.edges[node] {
                if component[next] != component[start] {
                    continue;
                }
                if next == start {
                    before.insert(start, (node, table, key, edge));
                    return Some(Self::path(&before, start));
                }
                before.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    (node, table, key, edge)
                });
            }
        }
        None
    }

    fn path(
        before: &BTreeMap<usize, (usize, TableId, u64, Edge)>,
        start: usize,
    ) -> Vec<(usize, TableId, u64, Edge)> {
        let mut path = Vec::new();
        let mut node = start;
        while let Some(&step) = before.get(&node) {
            path.push(step);
            node = step.0;
            if node == start {
                break;
            }
        }
        path.reverse();
        path
    }

    /// The number of each node's strongly connected component (Tarjan, 1972), without recursion.
    fn components(&self) -> Vec<usize> {
        const NEW: usize = usize::MAX;
        let count = self.edges.len();
        let (mut order, mut low) = (vec![NEW; count], vec![0; count]);
        let (mut component, mut open) = (vec![NEW; count], Vec::new());
        let (mut visited, mut found) = (0, 0);
        for root in 0..count {
            let mut calls = if order[root] == NEW { vec![(root, 0)] } else { Vec::new() };
            while let Some((node, edge)) = calls.pop() {
                if edge == 0 {
                    order[node] = visited;
                    low[node] = visited;
                    visited += 1;
                    open.push(node);
                }
                if let Some(&(next, ..)) = self.edges[node].get(edge) {
                    calls.push((node, edge + 1));
                    if order[next] == NEW {
                        calls.push((next, 0));
                    } else if component[next] == NEW {
                        low[node] = low[node].min(order[next]);
                    }
                    continue;
                }
                if low[node] == order[node] {
                    while let Some(member) = open.pop() {
                        component[member] = found;
                        if member == node {
                            break;
                        }
                    }
                    found += 1;
                }
                if let Some(&(parent, _)) = calls.last() {
                    low[parent] = low[parent].min(low[node]);
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{ScanEvent, WriteEvent};

    const TABLE: TableId = TableId(0);

    fn read(key: u64, tid: u64) -> ReadEvent {
        ReadEvent { table: TABLE, key, version: SeenVersion::Row(tid) }
    }

    fn write(key: u64, kind: WriteKind) -> WriteEvent {
        WriteEvent { table: TABLE, key, kind }
    }

    fn transaction(tid: u64, reads: &[ReadEvent], writes: &[WriteEvent]) -> Committed {
        let tid = (tid > 0).then_some(tid);
        Committed { tid, reads: reads.to_vec(), writes: writes.to_vec(), ..Committed::default() }
    }

    fn update(key: u64) -> WriteEvent {
        write(key, WriteKind::Update)
    }

    fn checked(history: &[Committed]) -> Result<(), Anomaly> {
        check((0..4).map(|key| (TABLE, key)), history)
    }

    #[test]
    fn a_serial_history_has_no_anomaly() {
        let history = [
            transaction(1, &[read(0, 0)], &[update(0)]),
            transaction(2, &[read(0, 1)], &[update(0), update(1)]),
            transaction(0, &[read(0, 2), read(1, 2)], &[]),
        ];
        assert_eq!(checked(&history), Ok(()));
    }

    #[test]
    fn lost_updates_write_skew_and_torn_reads_are_cycles() {
        let lost = [
            transaction(1, &[read(0, 0)], &[update(0)]),
            transaction(2, &[read(0, 0)], &[update(0)]),
        ];
        let skew = [
            transaction(1, &[read(1, 0)], &[update(0)]),
            transaction(2, &[read(0, 0)], &[update(1)]),
        ];
        let torn = [
            transaction(1, &[], &[update(0), update(1)]),
            transaction(0, &[read(0, 1), read(1, 0)], &[]),
        ];
        for history in [&lost, &skew, &torn] {
            let Err(Anomaly::Cycle(cycle)) = checked(history) else { panic!("{history:?}") };
            assert_eq!(cycle.len(), 2);
        }
    }

    #[test]
    fn a_cycle_of_three_over_a_reader_is_found() {
        // The read-only anomaly of Fekete, O'Neil and O'Neil (SIGMOD Record 33, 2004).
        let history = [
            transaction(2, &[read(0, 0)], &[update(1)]),
            transaction(1, &[], &[update(0)]),
            transaction(0, &[read(0, 1), read(1, 0)], &[]),
        ];
        let Err(Anomaly::Cycle(cycle)) = checked(&history) else { panic!("missed") };
        assert_eq!(cycle.len(), 3);
    }

    #[test]
    fn phantoms_are_cycles() {
        let scan = |tid, key| Committed {
            scans: vec![ScanEvent {
                table: TABLE,
                keys: 10..=20,
                known: vec![key],
                gone: Vec::new(),
                snapshot: None,
            }],
            ..transaction(tid, &[], &[write(key, WriteKind::Insert)])
        };
        assert!(matches!(checked(&[scan(1, 11), scan(2, 12)]), Err(Anomaly::Cycle(_))));
        assert_eq!(checked(&[scan(1, 11), scan(2, 21)]), Ok(()));
    }

    #[test]
    fn what_nobody_wrote_cannot_be_read_or_changed() {
        let unknown = checked(&[transaction(0, &[read(0, 9)], &[])]);
        assert!(matches!(unknown, Err(Anomaly::ImpossibleRead { .. })));
        for kind in [WriteKind::Update, WriteKind::Delete] {
            let missing = checked(&[transaction(1, &[], &[write(9, kind)])]);
            assert!(matches!(missing, Err(Anomaly::ImpossibleWrite { .. })));
        }
        let there = checked(&[transaction(1, &[], &[write(0, WriteKind::Insert)])]);
        assert!(matches!(there, Err(Anomaly::ImpossibleWrite { .. })));
    }
}
