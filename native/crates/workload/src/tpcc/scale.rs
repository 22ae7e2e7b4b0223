//! How large the database is and how transactions are chosen; what cannot be is refused.

use crate::WorkloadError;

/// Districts per warehouse, at every scale.
pub const DISTRICTS: u8 = 10;
/// Customers per district at the specification's scale.
pub const CUSTOMERS: u16 = 3000;
/// Items at the specification's scale.
pub const ITEMS: u32 = 100_000;
/// Last names that the syllables can make.
pub const NAMES: u16 = 1000;

/// The number of rows.
///
/// Orders per district are as many as customers, and three in ten of them are not yet delivered,
/// as in clause 4.3.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u16,
    /// Customers in each district.
    pub customers: u16,
    /// Items, and therefore stock rows in each warehouse.
    pub items: u32,
}

impl Scale {
    /// The scale of the specification.
    pub fn standard(warehouses: u16) -> Self {
        Self { warehouses, customers: CUSTOMERS, items: ITEMS }
    }

    /// A small database for tests: not TPC-C's scale, and not to be reported as such.
    pub fn small(warehouses: u16) -> Self {
        Self { warehouses, customers: 60, items: 400 }
    }

    /// Whether the cardinalities are those of the specification.
    pub fn is_standard(&self) -> bool {
        self.customers == CUSTOMERS && self.items == ITEMS
    }

    /// What to print beside a result.
    pub fn label(&self) -> String {
        let Self { warehouses, customers, items } = self;
        if self.is_standard() {
            return format!("TPC-C scale, {warehouses} warehouses");
        }
        format!(
            "not TPC-C scale: {warehouses} warehouses, {customers} customers per district, \
             {items} items"
        )
    }

    /// Last names in use: every one of them belongs to some customer of each district.
    pub fn names(&self) -> u16 {
        self.customers.min(NAMES)
    }

    /// Orders in each district after loading.
    pub fn initial_orders(&self) -> u32 {
        u32::from(self.customers)
    }

    /// The last of the initial orders that is delivered: 2,100 of 3,000.
    pub fn initial_delivered(&self) -> u32 {
        self.initial_orders() * 7 / 10
    }

    /// The number of an item that does not exist, by which New-Order is made to roll back.
    pub fn unused_item(&self) -> u32 {
        self.items + 1
    }
}

/// How the next kind of transaction is chosen, clause 5.2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A shuffled deck per terminal of 10 New-Order, 10 Payment and one card of each other kind:
    /// 43.5 / 43.5 / 4.3 / 4.3 / 4.3 %, every minimum met in every deck.
    Deck,
    /// Independent draws with weights 45 / 43 / 4 / 4 / 4. Over a short run a share can fall below
    /// its minimum by chance.
    Weighted,
}

/// Which warehouse a terminal's transactions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Its own, for ever, as the specification has it: terminal t belongs to warehouse
    /// 1 + t modulo W, and its Stock-Level to district 1 + (t / W) modulo 10.
    Fixed,
    /// A fresh draw per transaction, so that few threads touch all warehouses. Not as specified.
    Drawn,
}

/// Everything that decides the database and the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How large.
    pub scale: Scale,
    /// How kinds are chosen.
    pub selection: Selection,
    /// Where transactions come from.
    pub home: Home,
    /// Whether keying and think times are given; without, they are zero.
    pub has_waits: bool,
    /// The seed of everything.
    pub seed: u64,
}

impl Parameters {
    /// As specified, for a number of warehouses.
    pub fn standard(warehouses: u16, seed: u64) -> Self {
        Self {
            scale: Scale::standard(warehouses),
            selection: Selection::Deck,
            home: Home::Fixed,
            has_waits: true,
            seed,
        }
    }

    /// Refuses what cannot be generated.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let Scale { warehouses, customers, items } = self.scale;
        check(warehouses >= 1, "warehouses", warehouses.into(), "from 1 to 65535")?;
        let is_range = (10..=CUSTOMERS).contains(&customers);
        check(is_range, "customers", customers.into(), "from 10 to 3000")?;
        check((20..=ITEMS).contains(&items), "items", items, "from 20 to 100000")
    }
}

fn check(
    is_good: bool,
    name: &'static str,
    value: u32,
    allowed: &'static str,
) -> Result<(), WorkloadError> {
    if is_good {
        return Ok(());
    }
    Err(WorkloadError::OutOfRange { name, value: value.to_string(), allowed })
}
