//! What can go wrong while reading an executable.

use std::path::PathBuf;

use thiserror::Error;

/// An executable could not be read.
#[derive(Debug, Error)]
pub enum DisasmError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not an ELF file that can be understood.
    #[error("{path} is not a readable ELF file: {source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why.
        source: object::Error,
    },
    /// An instruction set other than the two that Assay knows.
    #[error("{path} is for {architecture}, not x86-64 or aarch64")]
    Architecture {
        /// The file.
        path: PathBuf,
        /// Its instruction set.
        architecture: String,
    },
}
