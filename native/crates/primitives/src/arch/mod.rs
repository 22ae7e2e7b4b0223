//! One folder per instruction set, and `all` for what is portable.
//!
//! `current` is the folder of the CPU this was compiled for; both folders offer the same names
//! (`atomics`, `clock`, `crc32c`, `hint`, ...), so no other file contains a `cfg` on the architecture.

pub mod all;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
pub mod current;

#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
pub mod current;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("Assay's primitives exist for x86-64 and aarch64 only");
