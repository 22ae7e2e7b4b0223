//! From a choice of parts to a store: the only place that names the combinations.
//!
//! Five lock types (six kinds, and an elided one) times four data caches. A part that lives inside operations adds a
//! type here; everything slower is chosen by a pointer or a value inside the parts themselves.

use assay_data_cache::{HyperClock, OneLock, Optimistic, Partitioned};
use assay_primitives::locks::ElidedLock;
use assay_primitives::{LockKind, RawLock, with_lock};

use crate::index::sharded::Sharded;
use crate::key_value::KeyValue;
use crate::{Configuration, DataCacheKind, Elision, Engine, EngineError};

/// Builds an empty store of the chosen parts.
pub fn build(configuration: &Configuration<'_>) -> Result<Box<dyn Engine>, EngineError> {
    configuration.parts.validate()?;
    match configuration.parts.lock {
        LockKind::Ttas if configuration.parts.elision == Elision::On => {
            build_with::<ElidedLock>(configuration)
        }
        kind => with_lock!(kind, L => build_with::<L>(configuration)),
    }
}

fn build_with<L: RawLock>(
    configuration: &Configuration<'_>,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(match configuration.parts.data_cache {
        DataCacheKind::OneLock => {
            Box::new(KeyValue::<L, Sharded<L>, OneLock<L>>::new(configuration)?)
        }
        DataCacheKind::Partitioned => {
            Box::new(KeyValue::<L, Sharded<L>, Partitioned<L>>::new(configuration)?)
        }
        DataCacheKind::HyperClock => {
            Box::new(KeyValue::<L, Sharded<L>, HyperClock<L>>::new(configuration)?)
        }
        DataCacheKind::Optimistic => {
            Box::new(KeyValue::<L, Sharded<L>, Optimistic<L>>::new(configuration)?)
        }
    })
}
