//! Every way a verb can end badly, as the three kinds of the protocol.
//!
//! Errors of the crates below are mapped here and nowhere else. `anyhow` carries the causes of the
//! third kind, which no caller distinguishes.

use assay_data_cache::CacheError;
use assay_disasm::DisasmError;
use assay_engine::EngineError;
use assay_log::LogError;
use assay_measure::MeasureError;
use assay_primitives::PrimitiveError;
use assay_stores::StoreError;
use assay_transactions::TransactionError;
use assay_workload::WorkloadError;
use thiserror::Error;

/// Why a verb ended without its result.
#[derive(Debug, Error)]
pub enum Failure {
    /// The request is wrong.
    #[error("{message}")]
    Usage {
        /// What, and where.
        message: String,
        /// What to do next.
        next: String,
    },
    /// This host lacks something.
    #[error("{message}")]
    Missing {
        /// What, and where.
        message: String,
        /// What to do next.
        next: String,
    },
    /// Anything else.
    #[error("{0:#}")]
    Failed(anyhow::Error),
    /// Nobody reads the output any more. Not an error: the reader has what it wanted.
    #[error("the reader of standard output is gone")]
    ReaderGone,
}

const READ_THE_PROTOCOL: &str = "see docs/native.md for the request's fields";

impl Failure {
    /// A wrong request.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), next: READ_THE_PROTOCOL.to_owned() }
    }
}

/// A failure of a unit comes back as what it was; everything else that nobody knows has failed.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Failure>().map_err(anyhow::Error::downcast::<MeasureError>) {
            Ok(failure) => failure,
            Err(Ok(MeasureError::Usage(message))) => Failure::usage(message),
            Err(Ok(MeasureError::Missing { message, next })) => Failure::Missing { message, next },
            Err(Err(error)) => Failure::Failed(error),
        }
    }
}

impl From<PrimitiveError> for Failure {
    fn from(error: PrimitiveError) -> Self {
        match error {
            PrimitiveError::Missing { what, next } => Failure::Missing { message: what, next },
            PrimitiveError::Os { .. } => Failure::Failed(error.into()),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Primitive(error) => error.into(),
            EngineError::Full { .. } => Failure::Usage {
                message,
                next: "raise workload.operations: it sizes the key space for inserts".to_owned(),
            },
            EngineError::Part { .. } | EngineError::Elision { .. } => Failure::usage(message),
            EngineError::Cache(error) => error.into(),
            EngineError::CacheTooSmall { .. } => Failure::Usage {
                message,
                next: "raise parts.cache_share or workload.records, or take fewer threads"
                    .to_owned(),
            },
            EngineError::Unlisted { .. } => Failure::usage(message),
            EngineError::Transactions(TransactionError::Primitive(error)) => error.into(),
            EngineError::Transactions(TransactionError::Full(_))
            | EngineError::Transaction(assay_transactions::Failure::Full(_)) => Failure::Usage {
                message,
                next: "raise workload.transactions (of ycsb: operations): it sizes what grows"
                    .to_owned(),
            },
            EngineError::Log(error)
            | EngineError::Transaction(assay_transactions::Failure::Log(error)) => error.into(),
            EngineError::LogFile { .. }
            | EngineError::Index(_)
            | EngineError::Transactions(_)
            | EngineError::Transaction(_)
            | EngineError::ArenaFull(_) => Failure::Failed(error.into()),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        match &error {
            // The folder or its device is at fault, or full: a matter of this host.
            LogError::Failed { .. } | LogError::Os { .. } => {
                let next = "make room where TMPDIR points, or let it point to another folder";
                Failure::Missing { message: error.to_string(), next: next.to_owned() }
            }
            _ => Failure::Failed(error.into()),
        }
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        let (message, next) = (error.to_string(), error.next());
        match error {
            CacheError::Primitive(error) => error.into(),
            CacheError::Shape { .. } => Failure::Usage { message, next },
            // The folder or its device is at fault, or full: a matter of this host.
            CacheError::Backing { .. } => Failure::Missing { message, next },
            _ => Failure::Failed(error.into()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (message, next) = (error.to_string(), error.next().to_owned());
        match error {
            StoreError::Library { .. }
            | StoreError::Symbol { .. }
            | StoreError::InUse { .. }
            | StoreError::Full { .. } => Failure::Missing { message, next },
            StoreError::Setting { .. }
            | StoreError::NotInForce { .. }
            | StoreError::Folder { .. }
            | StoreError::KeySpaceFull => Failure::Usage { message, next },
            StoreError::Corrupt { .. }
            | StoreError::Missing { .. }
            | StoreError::Wrong { .. }
            | StoreError::Stopped
            | StoreError::Failed(_) => Failure::Failed(error.into()),
        }
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        Failure::usage(error.to_string())
    }
}

impl From<DisasmError> for Failure {
    fn from(error: DisasmError) -> Self {
        let message = error.to_string();
        let next = "give the path of an ELF executable, such as /proc/PID/exe".to_owned();
        match error {
            DisasmError::Read { .. } => Failure::Missing { message, next },
            DisasmError::Parse { .. } | DisasmError::Architecture { .. } => {
                Failure::Usage { message, next }
            }
        }
    }
}
