//! What is prepared in a session.

use assay_wire::sql::{Dialect, Session, Statement, Type};
use assay_wire::{ServerErrorKind, WireError};
use assay_workload::oltp::{Parameters, Plan, Test};

/// The kinds of statement, in the order in which a test prepares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Kind {
    Point,
    Simple,
    Sum,
    Order,
    Distinct,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

impl Kind {
    const COUNT: usize = 9;

    fn text(self, table: u32) -> String {
        let between = format!("FROM sbtest{table} WHERE id BETWEEN ? AND ?");
        match self {
            Kind::Point => format!("SELECT c FROM sbtest{table} WHERE id=?"),
            Kind::Simple => format!("SELECT c {between}"),
            Kind::Sum => format!("SELECT SUM(k) {between}"),
            Kind::Order => format!("SELECT c {between} ORDER BY c"),
            Kind::Distinct => format!("SELECT DISTINCT c {between} ORDER BY c"),
            Kind::IndexUpdate => format!("UPDATE sbtest{table} SET k=k+1 WHERE id=?"),
            Kind::NonIndexUpdate => format!("UPDATE sbtest{table} SET c=? WHERE id=?"),
            Kind::Delete => format!("DELETE FROM sbtest{table} WHERE id=?"),
            Kind::Insert => {
                format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)")
            }
        }
    }

    fn types(self) -> &'static [Type] {
        match self {
            Kind::Point | Kind::IndexUpdate | Kind::Delete => &[Type::Int],
            Kind::Simple | Kind::Sum | Kind::Order | Kind::Distinct => &[Type::Int, Type::Int],
            Kind::NonIndexUpdate => &[Type::Text, Type::Int],
            Kind::Insert => &[Type::Int, Type::Int, Type::Text, Type::Text],
        }
    }
}

/// How a transaction is started and ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    Prepared { begin: Statement, commit: Statement },
    Texts,
}

/// Everything a test needs, prepared in one session and good for that session only.
#[derive(Clone, Debug)]
pub struct Statements {
    pub(super) control: Control,
    /// By kind and table; empty for kinds that are not used.
    kinds: [Vec<Statement>; Kind::COUNT],
}

impl Statements {
    /// Prepares BEGIN and COMMIT if the test has transactions, and what it uses for every table.
    /// (sysbench also prepares ranges of which an event has none.)
    ///
    /// A server keeps them all: MariaDB's `max_prepared_stmt_count` (16,382) has to be raised for
    /// many tables and sessions, as for sysbench.
    ///
    /// Servers that refuse to prepare BEGIN (MySQL's error 1295, and poolers) get it as a text;
    /// [`Statements::is_begin_prepared`] tells.
    ///
    /// # Errors
    /// Any of the session; `Server` when a table is missing.
    pub async fn prepare<S: Session>(session: &mut S, plan: &Plan) -> Result<Self, WireError> {
        let parameters = plan.parameters();
        let control = control(session, parameters).await?;
        let mut kinds = [const { Vec::new() }; Kind::COUNT];
        for kind in used(parameters) {
            for table in 1..=parameters.tables {
                let statement = session.prepare(&kind.text(table), kind.types()).await?;
                kinds[kind as usize].push(statement);
            }
        }
        Ok(Self { control, kinds })
    }

    /// Whether BEGIN and COMMIT are prepared statements, as in sysbench; if not, they are texts, or
    /// the test has no transactions.
    pub fn is_begin_prepared(&self) -> bool {
        matches!(self.control, Control::Prepared { .. })
    }

    /// A statement of a table, which counts from 1; none if the events are of other parameters
    /// than the statements.
    pub(super) fn of(&self, kind: Kind, table: u32) -> Option<Statement> {
        self.kinds[kind as usize].get((table as usize).wrapping_sub(1)).copied()
    }
}

async fn control<S: Session>(
    session: &mut S,
    parameters: &Parameters,
) -> Result<Control, WireError> {
    if !parameters.has_transaction() {
        return Ok(Control::Texts);
    }
    let begin = match session.prepare("BEGIN", &[]).await {
        Err(WireError::Server { kind: ServerErrorKind::Other, .. }) => return Ok(Control::Texts),
        begin => begin?,
    };
    let commit = session.prepare("COMMIT", &[]).await?;
    Ok(Control::Prepared { begin, commit })
}

fn used(parameters: &Parameters) -> Vec<Kind> {
    let reads = [
        (Kind::Point, parameters.point_selects),
        (Kind::Simple, parameters.simple_ranges),
        (Kind::Sum, parameters.sum_ranges),
        (Kind::Order, parameters.order_ranges),
        (Kind::Distinct, parameters.distinct_ranges),
    ];
    let writes = [
        (Kind::IndexUpdate, parameters.index_updates),
        (Kind::NonIndexUpdate, parameters.non_index_updates),
        (Kind::Delete, parameters.delete_inserts),
        (Kind::Insert, parameters.delete_inserts),
    ];
    let candidates = match parameters.test {
        Test::PointSelect => vec![(Kind::Point, 1)],
        Test::ReadOnly => reads.to_vec(),
        Test::ReadWrite => [&reads[..], &writes[..]].concat(),
        Test::UpdateIndex => vec![writes[0]],
        Test::UpdateNonIndex => vec![writes[1]],
    };
    candidates.into_iter().filter(|(_, count)| *count > 0).map(|(kind, _)| kind).collect()
}

/// The server errors after which sysbench gives up an event and goes on with the next.
pub(super) fn is_lived_with(dialect: Dialect, kind: ServerErrorKind) -> bool {
    let is_duplicate = kind == ServerErrorKind::DuplicateKey;
    kind.is_transient() || (is_duplicate && dialect == Dialect::Postgres)
}
