//! A session that counts its requests, and breaks off before one of them as a killed client would.

use assay_wire::WireError;
use assay_wire::sql::{Completion, Dialect, Session, Statement, Type, Value};

pub struct Cut<S> {
    pub session: S,
    /// Requests that were sent, preparing aside; each is one round trip.
    pub trips: u64,
    /// How many there may be.
    pub most: u64,
}

impl<S> Cut<S> {
    pub fn never(session: S) -> Self {
        Self { session, trips: 0, most: u64::MAX }
    }

    fn count(&mut self) -> Result<(), WireError> {
        if self.trips == self.most {
            return Err(WireError::Protocol { protocol: "none", what: "cut off".to_owned() });
        }
        self.trips += 1;
        Ok(())
    }
}

impl<S: Session> Session for Cut<S> {
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
        self.count()?;
        self.session.run(statement, values, visit).await
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.count()?;
        self.session.batch(text).await
    }

    async fn close(self) {
        self.session.close().await;
    }
}
