//! This process and its threads: CPU time, memory, allowed CPUs, pinning, where it was loaded.

use assay_primitives::clock::kernel_ns;
pub use assay_primitives::pages::touch::{allowed_cpus, pin_thread};

/// CPU seconds that this process has used.
pub fn process_cpu_s() -> f64 {
    kernel_ns(libc::CLOCK_PROCESS_CPUTIME_ID) as f64 / 1e9
}

/// CPU seconds that the calling thread has used.
pub fn thread_cpu_s() -> f64 {
    kernel_ns(libc::CLOCK_THREAD_CPUTIME_ID) as f64 / 1e9
}

/// CPU seconds that the first thread of this process has used.
pub fn first_thread_cpu_s() -> f64 {
    // The kernel's name of a thread's CPU clock: the thread's number, inverted, above three bits that
    // say "of one thread, as scheduled" (include/linux/posix-timers.h).
    let clock = (!(std::process::id() as libc::clockid_t) << 3) | 6;
    kernel_ns(clock) as f64 / 1e9
}

/// How often a thread of this process gave up its CPU, and was made to; ended threads included.
pub fn context_switches() -> (u64, u64) {
    // SAFETY: all zero is a valid value of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call only writes the structure.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    (usage.ru_nvcsw.max(0).cast_unsigned(), usage.ru_nivcsw.max(0).cast_unsigned())
}

/// Seconds of CLOCK_MONOTONIC, which all processes of a host share.
pub fn monotonic_s() -> f64 {
    kernel_ns(libc::CLOCK_MONOTONIC) as f64 / 1e9
}

/// Asks to be woken before others; an ordinary user is refused, and waits his turn.
pub fn hurry() {
    const NICENESS: libc::c_int = -10;
    // SAFETY: the call touches no memory of ours; 0 is this process.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// How far the wall clock is ahead of the monotonic one, in ns. A change between two readings is a
/// step (or a slew) of the wall clock.
pub fn wall_clock_offset_ns() -> i128 {
    i128::from(kernel_ns(libc::CLOCK_REALTIME)) - i128::from(kernel_ns(libc::CLOCK_MONOTONIC))
}

/// Resident memory and page tables of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident bytes (huge pages of the pool are not part of it).
    pub rss_bytes: u64,
    /// Bytes of page tables.
    pub page_table_bytes: u64,
}

/// Reads /proc/self/status.
pub fn memory() -> ProcessMemory {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let kib = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    };
    ProcessMemory { rss_bytes: bytes("VmRSS:"), page_table_bytes: bytes("VmPTE:") }
}

/// The difference between run-time and link-time addresses of the executable.
pub fn load_bias() -> usize {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: usize,
        bias: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid entry, and `bias` is the usize given below.
        unsafe { *bias.cast::<usize>() = (*info).dlpi_addr as usize };
        // The first entry is the executable itself; a value other than 0 ends the walk.
        1
    }
    let mut bias = 0_usize;
    // SAFETY: `first` has the signature the call asks for, and `bias` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut bias).cast()) };
    bias
}
