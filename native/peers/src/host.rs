//! The machine during a round: pinning, CPU time that is not ours, a calibrator.
//!
//! Foreign CPU is what /proc/stat counts as busy or stolen less the CPU time of this process, in
//! cores. /proc/stat counts ticks of 10 ms per CPU, so a round of a second is good to 2 % of a core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use assay_sampler::CpuTimes;

/// The CPUs that this process may use.
pub fn cpus() -> Result<Vec<usize>> {
    // SAFETY: an all-zero set is an empty one, and its size is given.
    let found: Vec<usize> = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            bail!("sched_getaffinity: {}", std::io::Error::last_os_error());
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    };
    Ok(found)
}

/// Memory of this process comes in base pages from now on, whoever asks for it: allocators differ in
/// whether they ask for huge ones, and that is no property of a store.
pub fn forbid_huge_pages() -> Result<()> {
    let (yes, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the call takes no memory.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, none, none, none) } != 0 {
        bail!("PR_SET_THP_DISABLE: {}", std::io::Error::last_os_error());
    }
    Ok(())
}

/// Keeps the calling thread on one CPU.
pub fn pin(cpu: usize) -> Result<()> {
    // SAFETY: the set is initialised, and its size is given.
    let outcome = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if outcome != 0 {
        bail!("cannot pin a thread to CPU {cpu}: {}", std::io::Error::last_os_error());
    }
    Ok(())
}

/// CPU seconds of all threads of this process.
pub fn own_cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The beginning of a round.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    cpu_times: CpuTimes,
    own_cpu_s: f64,
}

impl Watch {
    /// Starts now.
    pub fn start() -> Self {
        let (cpu_times, own_cpu_s) = (CpuTimes::read(), own_cpu_s());
        Self { start: Instant::now(), cpu_times, own_cpu_s }
    }

    /// The cores that others had on average since the start; never below zero.
    pub fn foreign_cpu(&self) -> f64 {
        let now = CpuTimes::read();
        let own_s = own_cpu_s() - self.own_cpu_s;
        let busy_s = now.busy_s_since(&self.cpu_times) + now.steal_s_since(&self.cpu_times);
        (busy_s - own_s).max(0.0) / self.start.elapsed().as_secs_f64()
    }
}

/// Waits until threads that work on after their turn are done, but not for ever.
pub fn settle() {
    const LOOK: Duration = Duration::from_millis(4);
    const LOOKS: usize = 50;
    const QUIET: f64 = 0.1;
    for _ in 0..LOOKS {
        let (start, before_s) = (Instant::now(), own_cpu_s());
        std::thread::sleep(LOOK);
        if own_cpu_s() - before_s < QUIET * start.elapsed().as_secs_f64() {
            return;
        }
    }
}

/// Millions of steps a second of a chain of dependent multiplications: the speed of the core alone.
pub fn calibrate() -> f64 {
    const STEPS: u64 = 4_000_000;
    let start = Instant::now();
    let mut state = black_box(1_u64);
    for _ in 0..STEPS {
        state = (state ^ state >> 29).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(state);
    STEPS as f64 / start.elapsed().as_secs_f64() / 1e6
}
