//! A session that counts its requests.

use assay_wire::WireError;
use assay_wire::sql::{Completion, Dialect, Session, Statement, Type, Value};

pub struct Counted<S> {
    pub session: S,
    /// Requests that were sent, preparing aside; each is one round trip.
    pub trips: u64,
}

impl<S: Session> Session for Counted<S> {
    const DIALECT: Dialect = S::DIALECT;
    type Row<'r> = S::Row<'r>;

    async fn prepare(&mut self, text: &str, parameters: &[Type]) -> Result<Statement, WireError> {
        self.session.prepare(text, parameters).await
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visit: impl FnMut(&Self::Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        self.trips += 1;
        self.session.run(statement, values, visit).await
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.trips += 1;
        self.session.batch(text).await
    }

    async fn close(self) {
        self.session.close().await;
    }
}
