//! TPC-C over the engine: every procedure is one transaction, tried until it commits.

use anyhow::{Result, bail};
use assay_index::IndexKind;
use assay_primitives::Clock;
use assay_transactions::{
    ConcurrencyControl, Database, Failure, MultiVersion, NoWait, Optimistic, Options, TableOptions,
    Worker,
};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Direction, Row, TableId, TableSchema, Tables};
use assay_workload::tpcc::rows::{Customer, District, Item, Stock, Warehouse};
use assay_workload::tpcc::scale::DISTRICTS;
use assay_workload::tpcc::{Census, Input, Plan, Scale, TABLES, run};

use crate::tpcc::{Entry, Store, Terminal, load};

/// The configurations that run TPC-C; the first is the one that goals are about. With the hash
/// index, tables that are scanned or grow have optimistic trees.
pub fn entries() -> Vec<Entry> {
    vec![
        Entry {
            name: "engine-hash-optimistic",
            open: |plan| open::<Optimistic>(IndexKind::Hash, plan),
        },
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

/// Rows of a table that neither grows nor is scanned.
fn fixed_rows(table: TableId, scale: &Scale) -> Option<usize> {
    let warehouses = usize::from(scale.warehouses);
    let districts = warehouses * usize::from(DISTRICTS);
    [
        (Warehouse::TABLE, warehouses),
        (District::TABLE, districts),
        (Customer::TABLE, districts * usize::from(scale.customers)),
        (Item::TABLE, scale.items as usize),
        (Stock::TABLE, warehouses * scale.items as usize),
    ]
    .into_iter()
    .find_map(|(fixed, rows)| (fixed == table).then_some(rows))
}

struct EngineStore<C: ConcurrencyControl>(Database<C>);

fn open<C>(index: IndexKind, plan: &Plan) -> Result<Box<dyn Store>>
where
    C: ConcurrencyControl + 'static,
{
    let scale = &plan.parameters().scale;
    let table = |&schema: &TableSchema| match (index, fixed_rows(schema.id, scale)) {
        (IndexKind::Hash, Some(capacity)) => TableOptions { schema, index, capacity },
        (IndexKind::Hash, None) => {
            TableOptions { schema, index: IndexKind::Optimistic, capacity: 0 }
        }
        // Trees grow as they need to.
        (tree, _) => TableOptions { schema, index: tree, capacity: 0 },
    };
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
