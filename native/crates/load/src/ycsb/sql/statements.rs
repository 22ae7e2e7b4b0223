//! The table, and what is prepared in a session.

use std::fmt::Write;

use assay_wire::WireError;
use assay_wire::sql::{Session, Statement, Type};
use assay_workload::Plan;

/// CREATE TABLE, in every dialect.
pub(super) fn create_table(fields: usize) -> String {
    let mut text = String::from("CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY");
    for field in 0..fields {
        // Writing to a String cannot fail.
        let _ = write!(text, ", FIELD{field} TEXT");
    }
    text.push(')');
    text
}

/// An INSERT of some rows, with a parameter for every column.
pub(super) fn insert(fields: usize, rows: usize) -> String {
    let columns: String = (0..fields).map(|field| format!(",FIELD{field}")).collect();
    let row = format!("(?{})", ",?".repeat(fields));
    let rows = vec![row; rows].join(",");
    format!("INSERT INTO usertable (YCSB_KEY{columns}) VALUES {rows}")
}

/// Everything an operation needs, prepared in one session and good for that session only.
#[derive(Clone, Debug)]
pub struct Statements {
    pub(super) read: Statement,
    pub(super) scan: Statement,
    pub(super) insert: Statement,
    /// By field.
    pub(super) updates: Vec<Statement>,
}

impl Statements {
    /// Prepares reads, scans, inserts, and an update for each field.
    ///
    /// # Errors
    /// Any of the session; `Server` when the table is missing or has other fields.
    pub async fn prepare<S: Session>(session: &mut S, plan: &Plan) -> Result<Self, WireError> {
        let fields = plan.parameters().fields;
        let read = "SELECT * FROM usertable WHERE YCSB_KEY = ?";
        let read = session.prepare(read, &[Type::Text]).await?;
        let scan = "SELECT * FROM usertable WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?";
        let scan = session.prepare(scan, &[Type::Text, Type::Int]).await?;
        let insert = session.prepare(&insert(fields, 1), &vec![Type::Text; fields + 1]).await?;
        let mut updates = Vec::with_capacity(fields);
        for field in 0..fields {
            let update = format!("UPDATE usertable SET FIELD{field}=? WHERE YCSB_KEY = ?");
            updates.push(session.prepare(&update, &[Type::Text, Type::Text]).await?);
        }
        Ok(Self { read, scan, insert, updates })
    }
}
