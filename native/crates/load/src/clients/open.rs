//! Opening a session of whichever SQL protocol.

use assay_runtime::Handle;
use assay_wire::sql::Ask;
use assay_wire::{Target, WireError, mysql, postgres};

use crate::hits::bulk::Bulk;

/// An SQL session that can be opened.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Open: Ask + Bulk + Sized + 'static {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Those of the protocol's session.
    async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError>;
}

impl Open for mysql::Session {
    async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        mysql::Session::open(handle, target).await
    }
}

impl Open for postgres::Session {
    async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        postgres::Session::open(handle, target).await
    }
}
