//! What the examples share: a worker for some seconds, and what it cost.

use std::io::Write;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use assay_primitives::Clock;
use assay_runtime::Worker;

/// Connections of one worker.
pub const CONNECTIONS: usize = 50;

pub type Failure = Box<dyn std::error::Error>;

/// Runs a worker for some seconds and says what its operations cost.
pub fn measure(worker: &Worker, seconds: f64, operations: impl Fn() -> u64) -> Result<(), Failure> {
    let clock = worker.handle().clock();
    let (start, (user, system)) = (Instant::now(), cpu_us()?);
    let end = clock.ticks() + clock.ticks_of_ns((seconds * 1e9) as u64);
    worker.run(end, &AtomicBool::new(false))?;
    let (elapsed, (user_end, system_end)) = (start.elapsed().as_secs_f64(), cpu_us()?);
    let done = operations() as f64;
    let (user, system) = (user_end - user, system_end - system);
    writeln!(
        std::io::stdout(),
        "{:.0} operations/s, {:.3} us of CPU each ({:.3} user, {:.3} system), {:.0} % of a CPU",
        done / elapsed,
        (user + system) / done,
        user / done,
        system / done,
        (user + system) / elapsed / 1e4,
    )?;
    Ok(())
}

pub fn worker() -> Result<Worker, Failure> {
    Ok(Worker::new(Clock::calibrated())?)
}

/// CPU time of this process in microseconds, in its own code and in the kernel.
fn cpu_us() -> Result<(f64, f64), Failure> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call fills `usage` where it succeeds, and it is read only then.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        usage.assume_init()
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    Ok((us(usage.ru_utime), us(usage.ru_stime)))
}

/// An argument, or what stands for it.
pub fn argument<T: std::str::FromStr>(place: usize, default: T) -> Result<T, Failure>
where
    T::Err: std::error::Error + 'static,
{
    Ok(std::env::args().nth(place).map(|text| text.parse()).transpose()?.unwrap_or(default))
}
