//! Stand-ins for SQL servers: they let everybody in and answer the statements that they were given
//! answers for. They keep no data, and say so: in their version, and in every error.

mod basics;
pub mod mysql;
pub mod postgres;

use assay_wire::answers::STAND_IN;

/// What is said of a statement that is not known.
fn unknown(text: &str) -> String {
    const SHOWN: usize = 200;
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = if shown.len() < text.len() { "..." } else { "" };
    format!("{STAND_IN}; it does not know this statement: {shown}{rest}")
}
