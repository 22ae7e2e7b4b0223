//! Making pages present, each on the NUMA node of a CPU that will use it.
//!
//! The kernel gives a page of the node whose CPU touches it first. One thread that touched all would
//! put all on one node, while the workers that are pinned later run on several. So the CPUs of the
//! workers touch in turn, a stretch each; memory of one worker is touched on that worker's CPU.

use std::sync::{Mutex, PoisonError};

use crate::PrimitiveError;

/// The CPUs on which workers are pinned; none where they are not.
static WORKERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Says on which CPUs the workers of this process will be pinned: their memory lies there.
pub fn workers_on(cpus: impl IntoIterator<Item = usize>) {
    let mut cpus: Vec<usize> = cpus.into_iter().collect();
    cpus.sort_unstable();
    cpus.dedup();
    *WORKERS.lock().unwrap_or_else(PoisonError::into_inner) = cpus;
}

/// Who touches memory that is mapped now: one CPU if the caller says which, or runs on no other;
/// else every worker's.
pub(super) fn cpus(near: Option<usize>) -> Vec<usize> {
    if let Some(cpu) = near {
        return vec![cpu];
    }
    let workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if workers.is_empty() || allowed_cpus().len() == 1 { Vec::new() } else { workers }
}

/// Makes a mapping's pages present, in stretches of `stretch` bytes by the given CPUs in turn; without
/// any, by the caller.
///
/// # Safety
/// The range is a writable mapping that holds only zeros, and nobody else uses it.
pub(super) unsafe fn touch(
    base: *mut u8,
    bytes: usize,
    stretch: usize,
    cpus: &[usize],
) -> Result<(), PrimitiveError> {
    if cpus.is_empty() {
        // SAFETY: promised by the caller.
        return unsafe { populate(base, bytes) };
    }
    let base = base.expose_provenance();
    std::thread::scope(|scope| {
        let touching = cpus.iter().enumerate().map(|(number, cpu)| {
            scope.spawn(move || {
                // One that may not be pinned touches all the same.
                pin_thread(*cpu);
                let starts = (number * stretch..bytes).step_by(cpus.len() * stretch);
                starts.into_iter().try_for_each(|start| {
                    let at = core::ptr::with_exposed_provenance_mut::<u8>(base + start);
                    // SAFETY: the stretch lies inside the range that the caller promised.
                    unsafe { populate(at, stretch.min(bytes - start)) }
                })
            })
        });
        let touching: Vec<_> = touching.collect();
        touching.into_iter().try_for_each(|thread| match thread.join() {
            Ok(touched) => touched,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// # Safety
/// As for [`touch`].
unsafe fn populate(base: *mut u8, bytes: usize) -> Result<(), PrimitiveError> {
    // SAFETY: the range is our own mapping; populating it only makes its zero pages present.
    if unsafe { libc::madvise(base.cast(), bytes, libc::MADV_POPULATE_WRITE) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EINVAL) {
        return Err(PrimitiveError::Os { call: "touching the arena's pages", source: error });
    }
    // Kernels before 5.14 lack MADV_POPULATE_WRITE.
    for offset in (0..bytes).step_by(4096) {
        // SAFETY: every offset is inside the mapping, which holds only zeros so far.
        unsafe { base.add(offset).write_volatile(0) };
    }
    Ok(())
}

/// The CPUs on which the calling thread may run, in order.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: cpu_set_t is a plain bit array; all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is as large as stated, and writable.
    let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0;
    let all = 0..if failed { 0 } else { libc::CPU_SETSIZE as usize };
    // SAFETY: every index is below CPU_SETSIZE.
    all.filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Keeps the calling thread on one CPU; false if the kernel refuses.
pub fn pin_thread(cpu: usize) -> bool {
    if cpu >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: cpu_set_t is a plain bit array; all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the index is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is as large as stated; 0 means the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 }
}

#[cfg(test)]
mod unemulated {
    use crate::{Arena, PageMode};

    const BYTES: usize = 64 << 20;

    /// Page faults that the calling thread has had.
    fn faults() -> i64 {
        // SAFETY: all zero is a valid value of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call only writes the structure.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        usage.ru_minflt
    }

    fn faults_of_an_arena(near: Option<usize>) -> i64 {
        let before = faults();
        let arena = match near {
            Some(cpu) => Arena::near(BYTES, PageMode::Small, Some(cpu)).unwrap(),
            None => Arena::new(BYTES, PageMode::Small).unwrap(),
        };
        let came = faults() - before;
        let touched = crate::smaps::touched().unwrap().bytes;
        assert!(touched >= arena.bytes() as u64, "every page is there: {touched}");
        came
    }

    #[test]
    fn memory_is_touched_where_it_will_be_used_and_not_where_it_is_mapped() {
        let pages = (BYTES / 4096) as i64;
        let allowed = super::allowed_cpus();
        let threads = std::thread::scope(|scope| {
            let own = scope.spawn(|| faults_of_an_arena(None)).join().unwrap();
            super::workers_on(allowed.iter().copied());
            // A thread that may run on one CPU only is a worker, and what it maps is its own.
            let workers = scope.spawn(|| faults_of_an_arena(None)).join().unwrap();
            let near = scope.spawn(|| faults_of_an_arena(Some(allowed[0]))).join().unwrap();
            super::workers_on([]);
            [own, workers, near]
        });
        assert!(threads[0] >= pages, "{threads:?}");
        assert!(threads[1] < pages / 4 || allowed.len() == 1, "{threads:?}");
        assert!(threads[2] < pages / 4, "{threads:?}");
    }
}
