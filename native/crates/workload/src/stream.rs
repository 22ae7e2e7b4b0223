//! The inputs of a run: a list of operations per thread, drawn beforehand, resolved as it runs.
//!
//! What depends on how far the run has come (the number of an insert, the newest record, whether a
//! key exists yet) is resolved when an operation is taken, with a few instructions; everything
//! random is in the list. `ycsb` says how this relates to YCSB's own generators.

use std::sync::Arc;

use crate::hash::fnv1a_64;
use crate::ycsb::{Chooser, Mix, Operation, OperationKind, Parameters};
use crate::zipf::Zipf;
use crate::{KeySpace, Values, WorkloadError};
use assay_random::Random;

enum Draw {
    Zipf(Zipf, u64),
    Uniform(u64),
    Latest(Zipf),
}

impl Draw {
    fn new(parameters: &Parameters) -> Self {
        if parameters.mix == Mix::D {
            return Draw::Latest(Zipf::new(parameters.records, parameters.theta));
        }
        let keys = parameters.capacity();
        match parameters.chooser {
            Chooser::Scrambled10e10 => Draw::Zipf(Zipf::ycsb_scrambled(), keys),
            Chooser::Exact => Draw::Zipf(Zipf::new(keys, parameters.theta), keys),
            Chooser::Uniform => Draw::Uniform(parameters.records),
        }
    }

    /// A key number, or for `Latest` a distance back from the newest.
    fn number(&self, random: &mut Random) -> u64 {
        match self {
            Draw::Zipf(zipf, keys) => fnv1a_64(zipf.draw(random)) % keys,
            Draw::Uniform(records) => random.below(*records),
            Draw::Latest(zipf) => zipf.draw(random),
        }
    }
}

/// The inputs of a whole run: parameters, shared counters, value pool.
pub struct Plan {
    parameters: Parameters,
    draw: Draw,
    keys: Arc<KeySpace>,
    values: Arc<Values>,
}

/// Redraws kept ready per thread. They are needed for keys not inserted yet, at most two in three.
const SPARES: usize = 1 << 14;
const INPUTS_MIN: u64 = 1 << 16;
const INPUTS_MAX: u64 = 1 << 21;

impl Plan {
    /// Checks the parameters and computes what all threads share (a zeta sum takes about 10 ns a
    /// key).
    pub fn new(parameters: Parameters) -> Result<Self, WorkloadError> {
        parameters.validate()?;
        let draw = Draw::new(&parameters);
        let keys = Arc::new(KeySpace::new(parameters.records, parameters.capacity()));
        let values = Arc::new(Values::new(parameters.seed, parameters.field_bytes));
        Ok(Self { parameters, draw, keys, values })
    }

    /// What this was made from.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The kinds of operation of its mix, in their order.
    pub fn kinds(&self) -> Vec<OperationKind> {
        let shares = self.parameters.mix.shares();
        OperationKind::ALL.into_iter().filter(|kind| shares[*kind as usize] > 0.0).collect()
    }

    /// By kind of operation its place among those of the mix.
    pub fn places(&self) -> [usize; OperationKind::ALL.len()] {
        let kinds = self.kinds();
        OperationKind::ALL.map(|kind| kinds.iter().position(|it| *it == kind).unwrap_or(0))
    }

    /// The shared key counters.
    pub fn keys(&self) -> &Arc<KeySpace> {
        &self.keys
    }

    /// The pool of field values.
    pub fn values(&self) -> &Arc<Values> {
        &self.values
    }

    /// How many inputs each thread gets: four per record, so that repeating the list does not
    /// shrink the set of keys in use, within bounds of memory and time.
    pub fn inputs_per_thread(&self) -> usize {
        (4 * self.parameters.records).clamp(INPUTS_MIN, INPUTS_MAX) as usize
    }

    /// The inputs of one thread. `repeat_every` n > 0 puts an extra after every n operations.
    pub fn stream(&self, thread: usize, repeat_every: u64) -> Stream {
        let mut random = Random::new(self.parameters.seed, thread as u64);
        let inputs = (0..self.inputs_per_thread()).map(|_| self.operation(&mut random)).collect();
        let redraws = (0..SPARES).map(|_| self.draw.number(&mut random)).collect();
        Stream {
            inputs,
            at: 0,
            redraws,
            redraw_at: 0,
            is_latest: matches!(self.draw, Draw::Latest(_)),
            keys: Arc::clone(&self.keys),
            values: Arc::clone(&self.values),
            extras: Extras::every(repeat_every),
        }
    }

    /// A stream for the values and the acknowledgement of operations that another stream gave.
    pub fn without_inputs(&self) -> Stream {
        Stream {
            inputs: Vec::new(),
            at: 0,
            redraws: Vec::new(),
            redraw_at: 0,
            is_latest: false,
            keys: Arc::clone(&self.keys),
            values: Arc::clone(&self.values),
            extras: Extras::every(0),
        }
    }

    fn operation(&self, random: &mut Random) -> Operation {
        let number = self.draw.number(random);
        let parameters = &self.parameters;
        Operation {
            number,
            key: fnv1a_64(number),
            kind: kind_of(random.unit(), &parameters.mix.shares()),
            field: random.below(parameters.fields as u64) as u8,
            value: random.below(self.values.count() as u64) as u16,
            length: 1 + random.below(parameters.max_scan) as u16,
        }
    }
}

fn kind_of(unit: f64, shares: &[f64; 5]) -> OperationKind {
    let mut upto = 0.0;
    for (kind, share) in OperationKind::ALL.into_iter().zip(shares) {
        upto += share;
        if unit < upto {
            return kind;
        }
    }
    // The shares sum to one up to rounding: what is left belongs to the last kind that has any.
    let last = shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
    OperationKind::ALL[last]
}

/// Counts down to the next extra operation, a slow-down of known size for self-tests.
#[derive(Clone, Debug)]
pub struct Extras {
    every: u64,
    left: u64,
}

impl Extras {
    /// One extra after every n counted operations; none for 0.
    pub fn every(every: u64) -> Self {
        let every = if every == 0 { u64::MAX } else { every };
        Self { every, left: every }
    }

    /// Asked once per operation; true when this one is an extra and must not be counted.
    #[inline(always)]
    pub fn is_extra(&mut self) -> bool {
        let is_extra = self.left == 0;
        self.left = if is_extra { self.every } else { self.left - 1 };
        is_extra
    }
}

/// One thread's endless list of operations.
pub struct Stream {
    inputs: Vec<Operation>,
    at: usize,
    redraws: Vec<u64>,
    redraw_at: usize,
    is_latest: bool,
    keys: Arc<KeySpace>,
    values: Arc<Values>,
    extras: Extras,
}

impl Stream {
    /// The next operation, its key resolved against what has been inserted by now. `None` when an
    /// insert finds the key space used up, or when the stream is one of [`Plan::without_inputs`].
    #[inline]
    pub fn take(&mut self) -> Option<Operation> {
        let mut operation = *self.inputs.get(self.at)?;
        self.at += 1;
        if self.at == self.inputs.len() {
            self.at = 0;
        }
        if operation.kind == OperationKind::Insert {
            operation.number = self.keys.next()?;
            operation.key = fnv1a_64(operation.number);
        } else if self.is_latest {
            // The distance is below the initial record count, so this cannot go below zero.
            operation.number = self.keys.readable() - 1 - operation.number;
            operation.key = fnv1a_64(operation.number);
        } else if operation.number >= self.keys.readable() {
            operation.number = self.redraw();
            operation.key = fnv1a_64(operation.number);
        }
        Some(operation)
    }

    #[cold]
    fn redraw(&mut self) -> u64 {
        for _ in 0..self.redraws.len() {
            let number = self.redraws[self.redraw_at];
            self.redraw_at = (self.redraw_at + 1) % self.redraws.len();
            if number < self.keys.readable() {
                return number;
            }
        }
        // Only a key space thousands of times the record count gets here; any record will do.
        self.redraw_at as u64 % self.keys.readable()
    }

    /// Asked once per operation; true when this one is an extra and must not be counted.
    #[inline(always)]
    pub fn is_extra(&mut self) -> bool {
        self.extras.is_extra()
    }

    /// The bytes that an operation writes.
    #[inline(always)]
    pub fn value(&self, operation: &Operation) -> &[u8] {
        self.values.value(usize::from(operation.value))
    }

    /// The pool of values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Says that an inserted record can be read from now on.
    pub fn acknowledge(&self, operation: &Operation) {
        self.keys.acknowledge(operation.number);
    }
}
