//! Loading the table.

use std::ops::Range;

use assay_wire::WireError;
use assay_wire::sql::{Session, Statement, Type, Value};
use assay_workload::Plan;
use assay_workload::hash::fnv1a_64;

use super::statements;
use crate::ycsb::KeyText;

/// About as many bytes of values are sent in one statement.
const STATEMENT_BYTES: usize = 64 << 10;
/// Both protocols count parameters in 16 bits.
const PARAMETERS_MAX: usize = 32_767;

/// Makes the empty table; one of the same name is dropped.
///
/// # Errors
/// Any of the session.
pub async fn create<S: Session>(session: &mut S, plan: &Plan) -> Result<(), WireError> {
    session.batch("DROP TABLE IF EXISTS usertable").await?;
    session.batch(&statements::create_table(plan.parameters().fields)).await?;
    Ok(())
}

/// Adds the records with some key numbers (from 0 to below the record count). Parts may be loaded
/// by different sessions at once; each call prepares its statements again, so few large parts are
/// better than many small ones.
///
/// # Errors
/// Any of the session.
pub async fn load<S: Session>(
    session: &mut S,
    plan: &Plan,
    numbers: Range<u64>,
) -> Result<(), WireError> {
    let parameters = plan.parameters();
    let columns = parameters.fields + 1;
    let record_bytes = parameters.fields * parameters.field_bytes;
    let rows = (STATEMENT_BYTES / record_bytes).min(PARAMETERS_MAX / columns).max(1);
    let many = prepare(session, parameters.fields, rows).await?;
    let one = prepare(session, parameters.fields, 1).await?;
    let mut numbers = numbers;
    while !numbers.is_empty() {
        let left = numbers.end - numbers.start;
        let (statement, count) = if left < rows as u64 { (one, 1) } else { (many, rows as u64) };
        let part = numbers.start..numbers.start + count;
        numbers.start = part.end;
        add(session, plan, statement, part).await?;
    }
    Ok(())
}

async fn prepare<S: Session>(
    session: &mut S,
    fields: usize,
    rows: usize,
) -> Result<Statement, WireError> {
    let types = vec![Type::Text; rows * (fields + 1)];
    session.prepare(&statements::insert(fields, rows), &types).await
}

async fn add<S: Session>(
    session: &mut S,
    plan: &Plan,
    statement: Statement,
    numbers: Range<u64>,
) -> Result<(), WireError> {
    let keys: Vec<u64> = numbers.map(fnv1a_64).collect();
    let texts: Vec<KeyText> = keys.iter().map(|key| KeyText::new(*key)).collect();
    let mut values = Vec::with_capacity(keys.len() * (plan.parameters().fields + 1));
    for (key, text) in keys.iter().zip(&texts) {
        values.push(Value::Text(text.as_bytes()));
        let fields = 0..plan.parameters().fields;
        values.extend(fields.map(|field| Value::Text(plan.values().initial(*key, field))));
    }
    session.run(statement, &values, |_| Ok(())).await?;
    Ok(())
}
