//! Hardware transactional memory: whether it is there, and the three instructions that lock elision
//! needs.
//!
//! | state | meaning |
//! |---|---|
//! | absent | no such instructions |
//! | always-aborts | the instructions are there, and no transaction ever commits |
//! | usable | transactions commit |
//!
//! Three, because microcode since 2021 makes many CPUs that have RTM abort every transaction
//! (RTM_ALWAYS_ABORT, CPUID leaf 7, EDX bit 11; Intel, "Transactional Synchronization Extensions
//! Memory and Performance Monitoring Update", 2021). Code that trusts the feature flag alone then
//! measures a lock with a detour. So the state is decided by *running* transactions.
//!
//! On aarch64 the state is "absent": Arm's TME is not exercised here.

use std::sync::OnceLock;

use crate::PrimitiveError;
use crate::arch::current::htm as current;

/// Empty transactions that decide the state.
pub const TRIALS: u32 = 1000;

/// Whether transactions can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HtmState {
    /// No such instructions.
    Absent,
    /// The instructions are there, and every transaction aborts.
    AlwaysAborts,
    /// Transactions commit.
    Usable,
}

impl HtmState {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            HtmState::Absent => "absent",
            HtmState::AlwaysAborts => "always-aborts",
            HtmState::Usable => "usable",
        }
    }
}

/// The state of this CPU and how it is known, found out once per process.
pub fn state() -> &'static (HtmState, String) {
    static STATE: OnceLock<(HtmState, String)> = OnceLock::new();
    STATE.get_or_init(current::detect)
}

/// Refuses a CPU on which transactions do not commit.
pub fn require() -> Result<(), PrimitiveError> {
    required(state())
}

fn required((state, why): &(HtmState, String)) -> Result<(), PrimitiveError> {
    if *state == HtmState::Usable {
        return Ok(());
    }
    Err(PrimitiveError::Missing {
        what: format!(
            "lock elision needs hardware transactional memory, which is {} here: {why}",
            state.name()
        ),
        next: "run it on a CPU whose RTM commits, or leave elision off".to_owned(),
    })
}

/// Decides by what the CPU says (that it has transactions; that they always abort) and by how many
/// of `TRIALS` empty transactions commit. They are only run where the CPU has them.
pub fn decide(has_rtm: bool, always_aborts: bool, commits: impl Fn() -> u32) -> (HtmState, String) {
    if always_aborts {
        return (HtmState::AlwaysAborts, "the CPU says RTM_ALWAYS_ABORT".to_owned());
    }
    if !has_rtm {
        return (HtmState::Absent, "the CPU does not list rtm".to_owned());
    }
    let commits = commits();
    let state = if commits == 0 { HtmState::AlwaysAborts } else { HtmState::Usable };
    (state, format!("{commits} of {TRIALS} empty transactions committed"))
}

/// Why a transaction aborted: the status of RTM (Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 1, "RTM Abort Status Definition").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortCode(pub u32);

impl AbortCode {
    /// Bit 0: by `Htm::abort`, whose argument is in bits 24 to 31.
    pub const EXPLICIT: u32 = 1;
    /// Bit 1: another attempt may succeed.
    pub const RETRY: u32 = 1 << 1;
    /// Bit 2: another thread touched what this one had touched.
    pub const CONFLICT: u32 = 1 << 2;
    /// Bit 3: more was touched than the CPU can keep.
    pub const CAPACITY: u32 = 1 << 3;
    /// What an elided lock aborts with when it finds the lock held.
    pub const LOCK_HELD: Self = Self(Self::EXPLICIT | (LOCK_HELD_ARGUMENT as u32) << 24);

    /// Whatever else the CPU says besides, such as that the transaction was a nested one.
    fn is_lock_held(self) -> bool {
        let by_argument = Self::EXPLICIT | 0xff << 24;
        self.0 & by_argument == Self::LOCK_HELD.0
    }

    /// The cause, for counting.
    pub fn cause(self) -> AbortCause {
        if self.is_lock_held() {
            AbortCause::LockHeld
        } else if self.0 & Self::CONFLICT != 0 {
            AbortCause::Conflict
        } else if self.0 & Self::CAPACITY != 0 {
            AbortCause::Capacity
        } else {
            AbortCause::Other
        }
    }

    /// Whether another attempt has a chance: the CPU says so, or the lock was held, which ends.
    pub fn retry_may_help(self) -> bool {
        self.is_lock_held() || self.0 & Self::RETRY != 0
    }
}

/// The argument of `xabort` for a held lock, as in Intel's examples.
pub(crate) const LOCK_HELD_ARGUMENT: u8 = 0xff;

/// What aborts are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    /// Another thread touched the same lines.
    Conflict,
    /// The CPU ran out of room.
    Capacity,
    /// The lock was held by a thread that had not elided it.
    LockHeld,
    /// Anything else: an interrupt, a system call, a page fault, an unsupported instruction.
    Other,
}

/// How `Htm::begin` came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// What follows is part of a transaction.
    Started,
    /// A transaction was begun and undone, maybe after running for a while.
    Aborted(AbortCode),
}

/// Transactions of one kind: the CPU's, or a model's.
///
/// A transaction that aborts goes on at its `begin`, which then returns a second time; registers,
/// stack and memory are as they were at the first return.
pub trait Htm: Send + Sync + 'static {
    /// Begins a transaction.
    fn begin() -> Begun;

    /// Commits.
    ///
    /// # Safety
    /// The thread is in a transaction that `begin` of this kind started.
    unsafe fn end();

    /// Undoes the transaction with `AbortCode::LOCK_HELD`. On hardware it does not return; a model
    /// may return after undoing.
    fn abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_states_are_told_apart() {
        let never = || -> u32 { panic!("the CPU lacks them") };
        for (has_rtm, always_aborts, commits, state, mention) in [
            (false, false, None, HtmState::Absent, "does not list rtm"),
            (true, true, None, HtmState::AlwaysAborts, "RTM_ALWAYS_ABORT"),
            // The bit may stay while the feature flag is hidden.
            (false, true, None, HtmState::AlwaysAborts, "RTM_ALWAYS_ABORT"),
            (true, false, Some(0), HtmState::AlwaysAborts, "0 of 1000"),
            (true, false, Some(1), HtmState::Usable, "1 of 1000"),
            (true, false, Some(1000), HtmState::Usable, "1000 of 1000"),
        ] {
            let found = decide(has_rtm, always_aborts, || commits.unwrap_or_else(never));
            assert_eq!(found.0, state);
            assert!(found.1.contains(mention), "{}", found.1);
            let refused = required(&found).err().map(|error| error.to_string());
            assert_eq!(refused.is_none(), state == HtmState::Usable);
            if let Some(message) = refused {
                assert!(message.contains(state.name()) && message.contains(&found.1), "{message}");
            }
        }
    }

    #[test]
    fn the_state_is_the_same_at_every_question_and_fits_the_cpu() {
        let (state, why) = state();
        assert_eq!(super::state(), &(*state, why.clone()));
        assert_eq!(require().is_ok(), *state == HtmState::Usable);
        if cfg!(target_arch = "aarch64") {
            assert_eq!(*state, HtmState::Absent);
        }
    }

    #[test]
    fn codes_have_a_cause_and_say_whether_to_try_again() {
        let (retry, conflict, capacity) =
            (AbortCode::RETRY, AbortCode::CONFLICT, AbortCode::CAPACITY);
        for (code, cause, may_help) in [
            (conflict | retry, AbortCause::Conflict, true),
            (conflict, AbortCause::Conflict, false),
            (capacity, AbortCause::Capacity, false),
            (capacity | retry, AbortCause::Capacity, true),
            (0, AbortCause::Other, false),
            (retry, AbortCause::Other, true),
            (AbortCode::EXPLICIT | 1 << 24, AbortCause::Other, false),
            (AbortCode::LOCK_HELD.0, AbortCause::LockHeld, true),
            (AbortCode::LOCK_HELD.0 | 1 << 5, AbortCause::LockHeld, true),
        ] {
            let code = AbortCode(code);
            assert_eq!((code.cause(), code.retry_may_help()), (cause, may_help), "{code:?}");
        }
    }
}
