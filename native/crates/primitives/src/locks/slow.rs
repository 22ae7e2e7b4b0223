//! Makes one exported, never inlined function per (lock kind, hint), and the table that finds it.

/// Takes groups `(Kind, generic function): Hint Type symbol, ...;` and defines each symbol as the
/// generic function with that hint, plus `slow_path(kind, hint)`.
macro_rules! slow_paths {
    ($(($kind:ident, $generic:ident): $($hint:ident $relax:ident $symbol:ident),+;)+) => {
        $($(
            /// Waits for a lock of this kind with this hint; see `locks::SlowPath`.
            ///
            /// # Safety
            /// `lock` points to a live lock of this kind and `argument` came from its `enter`.
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub unsafe extern "C" fn $symbol(lock: *const (), argument: usize, limit: u32) -> u64 {
                // SAFETY: the caller's promise is the generic function's.
                unsafe { crate::locks::slow::$generic::<$relax>(lock, argument, limit) }
            }
        )+)+

        /// The slow path of a lock kind with a hint; `None` for a hint of another architecture.
        pub fn slow_path(kind: LockKind, hint: Hint) -> Option<crate::locks::SlowPath> {
            match (kind, hint) {
                $($((LockKind::$kind, Hint::$hint) => Some($symbol),)+)+
                _ => None,
            }
        }
    };
}

pub(crate) use super::futex::futex_slow;
pub(crate) use super::mcs::mcs_slow;
pub(crate) use super::ticket::ticket_slow;
pub(crate) use super::word::{backoff_slow, tas_slow, ttas_slow};
pub(crate) use slow_paths;
