//! CPU time by CPU from /proc/stat, and clocks.
//!
//! /proc/stat counts in ticks of 10 ms, so a share over a 500 ms window is good to 2 % of a CPU.

use std::collections::BTreeMap;

/// Ticks per second in /proc/stat: USER_HZ is 100 on every Linux architecture that Assay runs on.
const TICKS_PER_S: f64 = 100.0;

/// Tick counts of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    user: u64,
    system: u64,
    idle: u64,
    softirq: u64,
    irq: u64,
    steal: u64,
}

/// A reading of all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    cpus: BTreeMap<usize, Ticks>,
}

/// How one CPU spent the time between two readings, as fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShare {
    /// Which CPU.
    pub cpu: usize,
    /// Everything but idle and stolen.
    pub busy: f64,
    /// User code, nice included.
    pub user: f64,
    /// Kernel code outside interrupts.
    pub system: f64,
    /// Soft interrupts.
    pub softirq: f64,
    /// Time the hypervisor gave to somebody else.
    pub steal: f64,
    /// Nothing to do, or waiting for a disk.
    pub idle: f64,
}

impl CpuTimes {
    /// Reads /proc/stat; empty if it cannot be read.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        Self { cpus: text.lines().filter_map(cpu_line).collect() }
    }

    /// How each CPU spent the time since an earlier reading.
    pub fn shares_since(&self, earlier: &Self) -> Vec<CpuShare> {
        let pairs =
            self.cpus.iter().filter_map(|(cpu, now)| Some((*cpu, now, earlier.cpus.get(cpu)?)));
        pairs.map(|(cpu, now, then)| share(cpu, now, then)).collect()
    }

    /// Seconds that all CPUs together were busy since an earlier reading.
    pub fn busy_s_since(&self, earlier: &Self) -> f64 {
        self.sum_since(earlier, |ticks| ticks.user + ticks.system + ticks.softirq + ticks.irq)
    }

    /// Seconds stolen from all CPUs together since an earlier reading.
    pub fn steal_s_since(&self, earlier: &Self) -> f64 {
        self.sum_since(earlier, |ticks| ticks.steal)
    }

    fn sum_since(&self, earlier: &Self, of: impl Fn(&Ticks) -> u64) -> f64 {
        let total = |times: &Self| times.cpus.values().map(&of).sum::<u64>();
        total(self).saturating_sub(total(earlier)) as f64 / TICKS_PER_S
    }
}

fn share(cpu: usize, now: &Ticks, then: &Ticks) -> CpuShare {
    let spent = |of: fn(&Ticks) -> u64| of(now).saturating_sub(of(then)) as f64;
    let parts = [
        spent(|ticks| ticks.user),
        spent(|ticks| ticks.system),
        spent(|ticks| ticks.softirq),
        spent(|ticks| ticks.irq),
        spent(|ticks| ticks.steal),
        spent(|ticks| ticks.idle),
    ];
    // Two readings within one tick have nothing between them: idle, as far as is known.
    let total = parts.iter().sum::<f64>().max(1.0);
    let [user, system, softirq, irq, steal, idle] = parts.map(|part| part / total);
    CpuShare { cpu, busy: user + system + softirq + irq, user, system, softirq, steal, idle }
}

/// `cpuN user nice system idle iowait irq softirq steal ...`; guest time is part of user.
fn cpu_line(line: &str) -> Option<(usize, Ticks)> {
    let mut words = line.split_ascii_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = numbers[..] else {
        return None;
    };
    let ticks = Ticks { user: user + nice, system, idle: idle + iowait, softirq, irq, steal };
    Some((cpu, ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fractions_of_the_time_between_two_readings() {
        let then = CpuTimes::parse("cpu 9 9 9\ncpu0 10 0 10 100 0 0 0 0 0 0\nintr 5");
        let now = CpuTimes::parse("cpu0 40 10 20 130 10 0 5 5 0 0");
        let shares = now.shares_since(&then);
        assert_eq!(shares.len(), 1);
        let share = shares[0];
        assert!((share.user - 0.4).abs() < 1e-9 && (share.idle - 0.4).abs() < 1e-9, "{share:?}");
        assert!((share.busy - 0.55).abs() < 1e-9 && (share.steal - 0.05).abs() < 1e-9);
        assert!((now.busy_s_since(&then) - 0.55).abs() < 1e-9);
    }

    #[test]
    fn this_host_has_cpus() {
        assert!(!CpuTimes::read().cpus.is_empty());
    }
}
