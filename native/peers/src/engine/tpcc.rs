//! TPC-C over the engine: every procedure is one transaction, tried until it commits.

use anyhow::{Result, bail};
use assay_index::IndexKind;
use assay_primitives::Clock;
use assay_transactions::{
    ConcurrencyControl, Database, Failure, MultiVersion, NoWait, Optimistic, Options, TableOptions,
    Worker,
};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Direction, Tables};
use assay_workload::tpcc::{Census, Input, Plan, TABLES, run};

use crate::tpcc::{Entry, Store, Terminal, load};

/// The configurations that run TPC-C; the first is the one that goals are about. All tables have
/// trees: the consistency conditions scan all of them.
pub fn entries() -> Vec<Entry> {
    vec![
        Entry {
            name: "engine-tree-optimistic",
            open: |plan| open::<Optimistic>(IndexKind::Optimistic, plan),
        },
        Entry {
            name: "engine-latched-no-wait",
            open: |plan| open::<NoWait>(IndexKind::Latched, plan),
        },
        Entry {
            name: "engine-tree-multi-version",
            open: |plan| open::<MultiVersion>(IndexKind::Optimistic, plan),
        },
    ]
}

struct EngineStore<C: ConcurrencyControl>(Database<C>);

fn open<C>(index: IndexKind, plan: &Plan) -> Result<Box<dyn Store>>
where
    C: ConcurrencyControl + 'static,
{
    // Trees grow as they need to; only hash tables have a capacity.
    let table = |&schema| TableOptions { schema, index, capacity: 0 };
    let tables = TABLES.iter().map(table).collect();
    let database = Database::<C>::new(Options::new(tables, Clock::calibrated()))?;
    let mut loader = database.load();
    let mut outcome = Ok(());
    load(plan, |table, key, row| {
        if outcome.is_ok() {
            outcome = loader.row(table, key, row);
        }
    });
    outcome?;
    drop(loader);
    Ok(Box::new(EngineStore(database)))
}

impl<C: ConcurrencyControl> Store for EngineStore<C> {
    fn terminals_max(&self) -> usize {
        usize::MAX
    }

    fn with_terminal(&self, work: &mut dyn FnMut(&mut dyn Terminal) -> Result<()>) -> Result<()> {
        work(&mut EngineTerminal(self.0.worker()))
    }

    fn census(&self) -> Result<Census> {
        Ok(Census::read(&mut self.0.quiescent())?)
    }

    fn rows(&self) -> Result<ReferenceTables> {
        let (mut tables, mut found) = (self.0.quiescent(), ReferenceTables::new(&TABLES));
        for schema in &TABLES {
            let mut add = |key, row: &[u8]| found.load(schema.id, key, row);
            tables.scan(schema.id, 0..=u64::MAX, Direction::Forward, usize::MAX, &mut add)?;
        }
        Ok(found)
    }
}

struct EngineTerminal<'a, C: ConcurrencyControl>(Worker<'a, C>);

impl<C: ConcurrencyControl> Terminal for EngineTerminal<'_, C> {
    fn run(&mut self, input: &Input) -> Result<()> {
        match self.0.transact(|transaction| run(transaction, input)) {
            Ok(_) | Err(Failure::Requested) => Ok(()),
            Err(failure) => bail!(failure),
        }
    }
}
