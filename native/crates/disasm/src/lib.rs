//! What a function of an executable contains, counted instruction by instruction.
//!
//! This is the witness for everything that a switch is supposed to change in machine code: a lock's
//! waiting loop with or without `pause`, a checksum by table or by instruction. It reads the very
//! file that runs (`/proc/PID/exe`), finds functions by name or address in its symbol table, and
//! counts a fixed list of instruction classes in each.
//!
//! x86-64 is decoded by iced-x86; A64 by a table of masks, which is exact for the classes counted
//! and needs no decoder. What a file says of itself without its code being looked at is its
//! `description`. Not here: other instruction sets. Of single functions (`census`) there is no
//! control flow, and one without a symbol is found by its address only; the survey of whole files (`survey`) looks at
//! loops and guards too, and works on stripped ones.

mod a64;
pub mod census;
pub mod description;
pub mod error;
pub mod image;
pub mod survey;
mod x86_64;

pub use census::{Census, Function};
pub use error::DisasmError;
pub use image::{Image, build_id};
