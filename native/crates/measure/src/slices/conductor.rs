//! Takes this arm's turns: lets its server go on, its workers work, and stops both again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use assay_primitives::Clock;

use super::board::{Board, Waited};
use super::calibration::Calibration;
use super::freezer::Freezer;
use super::spans::{Span, Spans};
use crate::host::Sample;
use crate::measurement::Measurement;
use crate::schedule::Slices;
use crate::{MeasureError, Result};

const NS_PER_US: u64 = 1000;

/// A slice that is over, with the host at both ends.
pub struct Slice {
    /// Its place in the order of all arms' slices.
    pub turn: usize,
    /// From when on operations counted, in clock ticks.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// The host before the first request.
    pub before: Sample,
    /// The host after the last answer.
    pub after: Sample,
    /// How fast the machine was before and after, where that was asked for.
    pub calibration: Option<f64>,
}

/// What one arm's turns need.
pub struct Conductor<'a> {
    asked: &'a Slices,
    warmup: Duration,
    clock: Clock,
    board: Board,
    spans: &'a Spans,
    over: &'a Mutex<Vec<Slice>>,
}

/// How the turns ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// All are over.
    Whole,
    /// This process is to end.
    Stopped,
}

impl<'a> Conductor<'a> {
    /// Of a measurement in slices.
    pub fn new(
        measurement: &Measurement<'_>,
        asked: &'a Slices,
        spans: &'a Spans,
        over: &'a Mutex<Vec<Slice>>,
    ) -> Result<Self> {
        let Measurement { schedule, clock, stop, .. } = *measurement;
        let board = Board::open(&asked.board, stop).map_err(|error| MeasureError::Missing {
            message: format!("slices.board: {}: {error}", asked.board.display()),
            next: "give a file of 4096 zero bytes that all arms share".to_owned(),
        })?;
        let warmup = Duration::from_millis(schedule.warmup_ms);
        Ok(Self { asked, warmup, clock, board, spans, over })
    }

    /// Warms up with the others, then takes every turn of this arm. Whatever happens, the workers
    /// are let go and the server goes on.
    ///
    /// `sample` reads the host, with the server's context switches or without: they are read before
    /// the first slice and after the last only, because there is one file for each thread.
    pub fn run(&self, sample: impl Fn(bool) -> Sample) -> Result<()> {
        let ended = self.take_turns(sample);
        if ended.as_ref().ok() != Some(&Ended::Whole) {
            self.board.give_up(self.asked.arm);
        }
        self.spans.finish();
        ended.map(|_| ())
    }

    fn take_turns(&self, sample: impl Fn(bool) -> Sample) -> Result<Ended> {
        let patience = Duration::from_secs(self.asked.patience_s);
        let mut freezer = Freezer::new(self.asked.freeze_pid);
        let calibrated = Duration::from_micros(self.asked.calibrate_us);
        let calibration = Calibration::new(self.clock, calibrated);
        let speed = || calibration.as_ref().map(Calibration::speed);
        let ticks = |us: u64| self.clock.ticks_of_ns(us * NS_PER_US);
        self.rest(patience)?;
        let end = self.clock.ticks() + ticks(self.warmup.as_micros() as u64);
        self.spans.open(Span { index: None, opened: end, start: u64::MAX, end });
        self.rest(self.warmup + patience)?;
        freezer.freeze();
        self.board.arrive();
        if !self.came(self.board.wait_for_all(self.asked.arms(), self.warmup + patience))? {
            return Ok(Ended::Stopped);
        }
        let order = self.asked.order.iter().enumerate();
        let turns: Vec<usize> =
            order.filter(|(_, arm)| **arm == self.asked.arm).map(|(turn, _)| turn).collect();
        let mut speed_before = speed();
        for (index, turn) in turns.iter().copied().enumerate() {
            if !self.came(self.board.wait_for_turn(turn as u32, patience))? {
                return Ok(Ended::Stopped);
            }
            freezer.thaw();
            let before = sample(index == 0);
            let now = self.clock.ticks();
            let (start, end) = (now + ticks(self.asked.lead_us), now + ticks(self.asked.slice_us));
            self.spans.open(Span { index: Some(index), opened: now, start, end });
            self.rest(Duration::from_micros(self.asked.slice_us) + patience)?;
            let after = sample(index + 1 == turns.len());
            freezer.freeze();
            let speed_after = speed();
            let calibration = speed_before.zip(speed_after).map(|(one, two)| (one * two).sqrt());
            speed_before = speed_after;
            let slice = Slice { turn, start, end, before, after, calibration };
            self.over.lock().unwrap_or_else(PoisonError::into_inner).push(slice);
            self.board.pass(turn as u32);
        }
        // The server stays stopped while others still have turns.
        let all = self.board.wait_for_turn(self.asked.order.len() as u32, patience);
        Ok(if self.came(all)? { Ended::Whole } else { Ended::Stopped })
    }

    fn rest(&self, patience: Duration) -> Result<()> {
        if self.spans.wait_for_rest(patience) {
            return Ok(());
        }
        Err(anyhow!("requests of a slice were not answered within {patience:?}"))
    }

    /// Whether what was waited for came; false if this process is to end.
    fn came(&self, waited: Waited) -> Result<bool> {
        match waited {
            Waited::Came => Ok(true),
            Waited::Stopped => Ok(false),
            Waited::Lost(arm) => Err(anyhow!("arm {arm} gave up its slices")),
            Waited::Silence => {
                let seconds = self.asked.patience_s;
                Err(anyhow!("no arm handed its turn over for {seconds} s"))
            }
        }
    }
}
