//! YCSB over SQL, as its JDBC binding does it.

mod load;
mod run;
mod statements;

pub use load::{create, load};
pub use run::{Verify, run};
pub use statements::Statements;
