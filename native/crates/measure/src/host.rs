//! The host around a measurement, at one moment.

use assay_primitives::Clock;
use assay_sampler::{AllProcesses, CpuTimes, KernelThreads, ProcessTree, process};

/// What this process used.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnUsage {
    /// CPU seconds.
    pub cpu_s: f64,
    /// Times that a thread gave up its CPU.
    pub voluntary_switches: u64,
    /// Times that a thread was made to.
    pub involuntary_switches: u64,
}

impl OwnUsage {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_s: self.cpu_s + other.cpu_s,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// The host at one moment.
pub struct Sample {
    /// The server, if it is watched and lives.
    pub server: Option<ProcessTree>,
    beside: Vec<Option<ProcessTree>>,
    kernel: KernelThreads,
    /// Every CPU.
    pub times: CpuTimes,
    own_cpu_s: f64,
    /// CPU seconds of the threads of this process that only write and wait.
    clerks_cpu_s: f64,
    own_switches: (u64, u64),
    wall_clock_offset_ns: i128,
    /// When it was taken.
    pub ticks: u64,
}

impl Sample {
    /// Reads the host; of the server and others, what `server` and `beside` were read of.
    /// The server's context switches are read `with_switches` only.
    pub fn take(
        clock: &Clock,
        server: Option<&ProcessTree>,
        beside: &[ProcessTree],
        with_switches: bool,
    ) -> Self {
        let all = AllProcesses::read();
        let among = |tree: &ProcessTree| tree.among(&all);
        Self {
            server: if with_switches {
                server.and_then(ProcessTree::again)
            } else {
                server.and_then(among)
            },
            beside: beside.iter().map(among).collect(),
            kernel: KernelThreads::among(&all),
            times: CpuTimes::read(),
            own_cpu_s: process::process_cpu_s(),
            clerks_cpu_s: process::thread_cpu_s() + process::first_thread_cpu_s(),
            own_switches: process::context_switches(),
            wall_clock_offset_ns: process::wall_clock_offset_ns(),
            ticks: clock.ticks(),
        }
    }

    /// What this process used since an earlier sample.
    pub fn own_since(&self, earlier: &Self) -> OwnUsage {
        let ((voluntary, involuntary), then) = (self.own_switches, earlier.own_switches);
        OwnUsage {
            cpu_s: self.own_cpu_s - earlier.own_cpu_s,
            voluntary_switches: voluntary - then.0,
            involuntary_switches: involuntary - then.1,
        }
    }

    /// CPU seconds of processes that are neither this one, nor the server, nor the kernel's, nor what
    /// stands beside it.
    pub fn foreign_s_since(&self, earlier: &Self) -> f64 {
        let known = self.own_cpu_s - earlier.own_cpu_s
            + self.trees_cpu_s_since(earlier)
            + self.kernel.cpu_s_since(&earlier.kernel);
        (self.times.busy_s_since(&earlier.times) - known).max(0.0)
    }

    /// CPU seconds of the server; none where it is not watched.
    pub fn server_s_since(&self, earlier: &Self) -> Option<f64> {
        Some(self.server.as_ref()?.cpu_s_since(earlier.server.as_ref()?))
    }

    /// CPU seconds of what is measured while it should rest: of the server, or where it is in this
    /// process, of all threads but those that write and wait. Both samples are of one thread.
    pub fn idle_cpu_s_since(&self, earlier: &Self) -> f64 {
        let own = |sample: &Self| sample.own_cpu_s - sample.clerks_cpu_s;
        self.server_s_since(earlier).unwrap_or_else(|| (own(self) - own(earlier)).max(0.0))
    }

    /// How far the wall clock moved against the monotonic one.
    pub fn clock_step_ns_since(&self, earlier: &Self) -> i128 {
        self.wall_clock_offset_ns - earlier.wall_clock_offset_ns
    }

    /// CPU seconds of the server and what stands beside it.
    fn trees_cpu_s_since(&self, earlier: &Self) -> f64 {
        let trees = |sample: &Self| {
            std::iter::once(sample.server.clone()).chain(sample.beside.clone()).collect::<Vec<_>>()
        };
        let pairs = trees(self).into_iter().zip(trees(earlier));
        pairs.filter_map(|(now, then)| Some(now?.cpu_s_since(&then?))).sum()
    }
}
