//! Draws events from the seed.

use super::distribution::Sampler;
use super::event::{Event, Statement};
use super::parameters::{ID_MAX, Parameters, Test};
use super::text;
use crate::WorkloadError;
use assay_random::Random;

/// With the number of the thread below.
const PURPOSE: u64 = 0x6F65 << 48;

/// What all threads of a run share: the parameters, checked, and how ids are drawn.
#[derive(Clone, Debug)]
pub struct Plan {
    parameters: Parameters,
    sampler: Sampler,
}

impl Plan {
    /// Checks the parameters.
    ///
    /// # Errors
    /// As [`Parameters::validate`].
    pub fn new(parameters: Parameters) -> Result<Self, WorkloadError> {
        parameters.validate()?;
        let sampler = Sampler::new(parameters.distribution, u64::from(parameters.table_size));
        Ok(Self { parameters, sampler })
    }

    /// What this was made from.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The events of one thread.
    pub fn stream(&self, thread: usize) -> Stream {
        Stream { plan: self.clone(), random: self.random(thread) }
    }

    /// An id, or a value of `k`.
    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        self.sampler.draw(random) as u32
    }

    fn random(&self, thread: usize) -> Random {
        Random::new(self.parameters.seed, PURPOSE | thread as u64)
    }
}

/// One thread's endless list of events.
#[derive(Clone, Debug)]
pub struct Stream {
    plan: Plan,
    random: Random,
}

impl Stream {
    /// Replaces `event` by the next one.
    pub fn take(&mut self, event: &mut Event) {
        let parameters = &self.plan.parameters;
        let mut draws = Draws { plan: &self.plan, random: &mut self.random, event };
        draws.event.statements.clear();
        let has_transaction = parameters.has_transaction();
        if has_transaction {
            draws.event.statements.push(Statement::Begin);
        }
        match parameters.test {
            Test::PointSelect => draws.points(1),
            Test::ReadOnly => draws.reads(),
            Test::ReadWrite => {
                draws.reads();
                draws.index_updates();
                draws.non_index_updates();
                draws.delete_inserts();
            }
            Test::UpdateIndex => draws.index_updates(),
            Test::UpdateNonIndex => draws.non_index_updates(),
        }
        if has_transaction {
            draws.event.statements.push(Statement::Commit);
        }
    }
}

/// One event in the making.
struct Draws<'a> {
    plan: &'a Plan,
    random: &'a mut Random,
    event: &'a mut Event,
}

impl Draws<'_> {
    fn reads(&mut self) {
        let parameters = &self.plan.parameters;
        self.points(parameters.point_selects);
        self.ranges(parameters.simple_ranges, |table, first, last| Statement::SimpleRange {
            table,
            first,
            last,
        });
        self.ranges(parameters.sum_ranges, |table, first, last| Statement::SumRange {
            table,
            first,
            last,
        });
        self.ranges(parameters.order_ranges, |table, first, last| Statement::OrderRange {
            table,
            first,
            last,
        });
        self.ranges(parameters.distinct_ranges, |table, first, last| Statement::DistinctRange {
            table,
            first,
            last,
        });
    }

    fn points(&mut self, count: u32) {
        self.group(count, |draws, table| {
            let id = draws.id();
            draws.push(Statement::PointSelect { table, id });
        });
    }

    fn ranges(&mut self, count: u32, make: fn(u32, u32, u32) -> Statement) {
        let beyond = self.plan.parameters.range_size - 1;
        self.group(count, |draws, table| {
            let first = draws.id();
            draws.push(make(table, first, first.saturating_add(beyond).min(ID_MAX)));
        });
    }

    fn index_updates(&mut self) {
        self.group(self.plan.parameters.index_updates, |draws, table| {
            let id = draws.id();
            draws.push(Statement::IndexUpdate { table, id });
        });
    }

    fn non_index_updates(&mut self) {
        self.group(self.plan.parameters.non_index_updates, |draws, table| {
            let (id, c) = (draws.id(), text::c(draws.random));
            draws.push(Statement::NonIndexUpdate { table, id, c });
        });
    }

    fn delete_inserts(&mut self) {
        self.group(self.plan.parameters.delete_inserts, |draws, table| {
            let (id, k) = (draws.id(), draws.id());
            let (c, pad) = (text::c(draws.random), text::pad(draws.random));
            draws.push(Statement::Delete { table, id });
            draws.push(Statement::Insert { table, id, k, c, pad });
        });
    }

    /// Statements of one kind all go to one table, which is drawn uniformly.
    fn group(&mut self, count: u32, mut add: impl FnMut(&mut Self, u32)) {
        if count == 0 {
            return;
        }
        let table = 1 + self.random.below(u64::from(self.plan.parameters.tables)) as u32;
        (0..count).for_each(|_| add(self, table));
    }

    fn id(&mut self) -> u32 {
        self.plan.draw(self.random)
    }

    fn push(&mut self, statement: Statement) {
        self.event.statements.push(statement);
    }
}
