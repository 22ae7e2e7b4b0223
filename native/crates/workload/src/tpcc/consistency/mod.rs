//! The twelve consistency conditions of clause 3.3.2, as pure functions over what was read.
//!
//! [`Census::read`] scans all tables once (nobody may write meanwhile) and adds up what the
//! conditions need; each condition then compares numbers, and says where they differ.
//!
//! | condition | what must hold |
//! |---|---|
//! | 1 | W_YTD = sum of D_YTD |
//! | 2 | D_NEXT_O_ID - 1 = largest O_ID = largest NO_O_ID |
//! | 3 | the NO_O_ID of a district have no gap |
//! | 4 | sum of O_OL_CNT = number of order lines, per district |
//! | 5 | an order has no carrier if and only if it is in NEW-ORDER |
//! | 6 | O_OL_CNT = number of lines, per order |
//! | 7 | a line has no delivery date if and only if its order has no carrier |
//! | 8 | W_YTD = sum of H_AMOUNT, per warehouse |
//! | 9 | D_YTD = sum of H_AMOUNT, per district |
//! | 10 | C_BALANCE = delivered OL_AMOUNT - H_AMOUNT, per customer |
//! | 11 | orders - new orders = 2,100 per district (at other scales: the orders loaded delivered) |
//! | 12 | C_BALANCE + C_YTD_PAYMENT = delivered OL_AMOUNT, per customer |
//!
//! Condition 11 holds only after loading, since deliveries change it. Conditions 2 and 3 say
//! nothing about the new orders of a district that has none left. Beyond the letter: rows that
//! belong to no order are reported under 5 and 6, and a secondary index that does not agree with
//! its table under 0.
//!
//! The conditions are no proof of serialisability: the specification's transactions are known to
//! be serialisable under snapshot isolation (Fekete et al., "Making Snapshot Isolation
//! Serializable", TODS 2005).

mod census;
mod conditions;

use std::fmt;

pub use census::{Census, CustomerFacts, DistrictFacts, OrderFacts, WarehouseFacts};
pub use conditions::CONDITIONS;

use super::scale::Scale;

/// Two numbers that should be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the condition; zero for a secondary index.
    pub condition: u8,
    /// Where: "warehouse 1 district 2".
    pub place: String,
    /// What differs: "D_YTD is 5, the history adds up to 4".
    pub difference: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, place, difference } = self;
        match condition {
            0 => write!(formatter, "TPC-C secondary index, {place}: {difference}"),
            _ => {
                write!(formatter, "TPC-C consistency condition {condition}, {place}: {difference}")
            }
        }
    }
}

/// What must hold after a run: conditions 1 to 10 and 12, and the secondary indexes.
pub fn check_after_running(census: &Census) -> Vec<Violation> {
    CONDITIONS.iter().flat_map(|condition| condition(census)).collect()
}

/// What must hold after loading: the same and condition 11.
pub fn check_after_loading(census: &Census, scale: &Scale) -> Vec<Violation> {
    let mut violations = check_after_running(census);
    violations.extend(conditions::condition_11(census, scale));
    violations
}
