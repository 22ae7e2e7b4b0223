//! What can go wrong with a store.

use thiserror::Error;

/// A store cannot be opened, or an operation on it failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// The library is not there, or is none.
    #[error("{library} cannot be loaded: {reason}")]
    Library {
        /// The path that was given.
        library: String,
        /// What the loader says.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no function {symbol}, which {purpose} needs")]
    Symbol {
        /// The path that was given.
        library: String,
        /// The function.
        symbol: &'static str,
        /// What it is needed for.
        purpose: String,
    },
    /// A setting that cannot be put in force.
    #[error("setting {name}: {reason}")]
    Setting {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting that the library changed or ignored.
    #[error("setting {name}: {given} was given, and {in_force} is in force")]
    NotInForce {
        /// Its name.
        name: String,
        /// The value of the request.
        given: String,
        /// The value that the library reports.
        in_force: String,
    },
    /// The folder is not what the action needs.
    #[error("{folder}: {reason}")]
    Folder {
        /// Which.
        folder: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process, or another action, has the folder.
    #[error("the data in {folder} are in use: {reason}")]
    InUse {
        /// Which.
        folder: String,
        /// Who says so, and how.
        reason: String,
    },
    /// No room is left on the device.
    #[error("no room is left for the data in {folder}: {reason}")]
    Full {
        /// Which.
        folder: String,
        /// What the library says.
        reason: String,
    },
    /// The library found its own data damaged.
    #[error("the data in {folder} are damaged: {reason}; prepare them anew")]
    Corrupt {
        /// Which.
        folder: String,
        /// What the library says.
        reason: String,
    },
    /// A record that must be there is not.
    #[error("there is no record {key}: prepare the data with the parameters of this run")]
    Missing {
        /// Its key.
        key: String,
    },
    /// What came back is no record of this workload.
    #[error("record {key} is wrong: {what}")]
    Wrong {
        /// Its key, or the key from which a scan started.
        key: String,
        /// What is wrong with it.
        what: String,
    },
    /// Inserts have used up the key space.
    #[error("the key space is full: raise workload.operations, which sizes it")]
    KeySpaceFull,
    /// The process was told to stop before the data were complete.
    #[error("stopped: the folder holds a part of the records only; remove it and prepare anew")]
    Stopped,
    /// Anything else that the library or the system says.
    #[error("{0}")]
    Failed(String),
}

impl StoreError {
    /// What to do next.
    pub fn next(&self) -> &'static str {
        match self {
            Self::Library { .. } => "give the path of the library's file, or install it",
            Self::Symbol { .. } => "take another version of the library, or leave the setting out",
            Self::InUse { .. } => "end the process that has it open, or give a folder of its own",
            Self::Full { .. } => "make room on that device, or give a folder elsewhere",
            Self::Setting { .. } | Self::NotInForce { .. } => {
                "action \"options\" lists the library's settings with their defaults"
            }
            Self::KeySpaceFull => "raise workload.operations",
            Self::Folder { .. }
            | Self::Corrupt { .. }
            | Self::Missing { .. }
            | Self::Wrong { .. }
            | Self::Stopped
            | Self::Failed(_) => "prepare the data in an empty folder",
        }
    }

    /// A setting that is wrong.
    pub(crate) fn setting(name: &str, reason: impl Into<String>) -> Self {
        Self::Setting { name: name.to_owned(), reason: reason.into() }
    }
}
