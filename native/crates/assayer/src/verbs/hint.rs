//! The spin hint of a run: resolved, measured, and put in force as a count or as nanoseconds.

use assay_primitives::hint::{REPEATS_MAX, set_repeats};
use assay_primitives::{Clock, Hint};

use crate::failure::Failure;
use crate::protocol::response::HintManifest;

/// Puts `repeats` hints at each look in force, or as many as take about `ns`; 0 `ns` is none asked.
pub fn put_in_force(
    hint: Hint,
    ns: u32,
    repeats: u32,
    clock: &Clock,
) -> Result<HintManifest, Failure> {
    hint.require()?;
    if !(1..=REPEATS_MAX).contains(&repeats) {
        let message = format!("parts.hint_repeats is {repeats}: from 1 to {REPEATS_MAX}");
        return Err(Failure::usage(message));
    }
    if ns > 0 && repeats > 1 {
        let message =
            "parts.hint_ns and parts.hint_repeats both say how long to wait: leave one out";
        return Err(Failure::usage(message));
    }
    let one_ns = hint.calibrate(clock).unwrap_or(0.0);
    let used = if ns == 0 { Some(repeats) } else { Hint::repeats_for(f64::from(ns), one_ns) };
    let used = used.ok_or_else(|| {
        let name = hint.name();
        Failure::usage(format!(
            "parts.hint_ns is {ns}, but hint `{name}` takes no time that could be measured: \
             choose another hint, or hint_repeats"
        ))
    })?;
    set_repeats(used);
    Ok(HintManifest {
        hint: hint.name(),
        hint_ns: ns,
        hint_repeats: used,
        hint_ns_measured: one_ns,
    })
}
