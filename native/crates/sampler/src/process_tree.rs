//! A server's processes: one and all that descend from it, with their CPU time and memory.
//!
//! A reading is subtracted from a later one. CPU time is by the kernel's clock of each process, to
//! the nanosecond, and counts threads that have ended. A child that ended and was waited for is in
//! its parent's `cutime` and `cstime`, in ticks of 10 ms. One whose parent never waits for it, as
//! `SIGCHLD` ignored makes it, takes its time with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

use assay_primitives::clock::kernel_ns;

/// Ticks per second in /proc/PID/stat: USER_HZ is 100 on every Linux that Assay runs on.
pub(crate) const TICKS_PER_S: f64 = 100.0;

/// Bytes of a process' stat at most: some fifty numbers and a name.
const STAT_MOST: usize = 2048;

/// Readings at most, until none ended or began meanwhile.
const READINGS: usize = 10;

/// One process, told from a later one of the same number by when it began (ticks since boot).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) pid: u32,
    pub(crate) started: u64,
}

/// What /proc/PID/stat says of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) identity: Identity,
    pub(crate) parent: u32,
    /// Ticks of its own, which it keeps until somebody waits for it.
    pub(crate) own_ticks: u64,
    /// Ticks of children that were waited for.
    pub(crate) reaped_ticks: u64,
    /// Faults of its own and of children that were waited for.
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

/// What one process has used since it began.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    cpu_s: f64,
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

/// A reading of a process and its descendants.
#[derive(Clone, Debug)]
pub struct ProcessTree {
    root: Identity,
    processes: BTreeMap<Identity, Used>,
}

/// What the processes used between two readings, and what they hold at the second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeUsage {
    /// CPU seconds.
    pub cpu_s: f64,
    /// Resident bytes of all processes; what they share is counted for each.
    pub rss_bytes: u64,
    /// The same with shared pages divided among those that share them; none if it cannot be read.
    pub pss_bytes: Option<u64>,
    /// Bytes of page tables of all processes.
    pub page_table_bytes: u64,
    /// Processes that are alive.
    pub processes: usize,
    /// Threads of theirs.
    pub threads: u64,
    /// Page faults that no disk was read for.
    pub minor_faults: u64,
    /// Page faults that a disk was read for.
    pub major_faults: u64,
    /// Times that a thread gave up its CPU.
    pub voluntary_switches: u64,
    /// Times that a thread was made to.
    pub involuntary_switches: u64,
}

/// Every process that is shown here, read once for all that is asked of them.
pub struct AllProcesses(pub(crate) Vec<Stat>);

impl AllProcesses {
    /// Reads them; none where they cannot be read.
    pub fn read() -> Self {
        Self(every_stat())
    }
}

impl ProcessTree {
    /// Reads the tree below a process; none if there is no such process.
    pub fn read(pid: u32) -> Option<Self> {
        let all = every_stat();
        let root = all.iter().find(|stat| stat.identity.pid == pid)?.identity;
        Some(Self { root, processes: used(&all, &BTreeSet::from([root]), true) })
    }

    /// The same tree as one reading of all processes has it, without context switches; read again
    /// as [`ProcessTree::again`] does where a process came or went.
    pub fn among(&self, all: &AllProcesses) -> Option<Self> {
        let known = self.identities();
        let processes = used(&all.0, &known, false);
        let is_settled = processes.keys().eq(&known) && !family(&all.0, &known).any(has_reaped);
        if is_settled { Some(Self { root: self.root, processes }) } else { self.again() }
    }

    fn identities(&self) -> BTreeSet<Identity> {
        self.processes.keys().copied().collect()
    }

    /// Reads the same tree later, with processes that have left it and live on; none if the first
    /// process has ended.
    pub fn again(&self) -> Option<Self> {
        let known = self.identities();
        let read = || {
            let all = every_stat();
            used(&all, &known, true)
        };
        let mut processes = read();
        // A child that ends while processes are read one by one is missed twice: its parent was
        // read before it was waited for, and it was gone when its turn came.
        for _ in 0..READINGS {
            let before = std::mem::replace(&mut processes, read());
            if before.keys().eq(processes.keys()) {
                break;
            }
        }
        processes.contains_key(&self.root).then_some(Self { root: self.root, processes })
    }

    /// CPU seconds used since an earlier reading.
    pub fn cpu_s_since(&self, earlier: &Self) -> f64 {
        let total = |tree: &Self| tree.processes.values().map(|used| used.cpu_s).sum::<f64>();
        (total(self) - total(earlier)).max(0.0)
    }

    /// Growth of a sum over all; what children that have ended had is in their parents' numbers.
    fn sum_since(&self, earlier: &Self, of: fn(&Used) -> u64) -> u64 {
        let total = |tree: &Self| tree.processes.values().map(of).sum::<u64>();
        total(self).saturating_sub(total(earlier))
    }

    /// The numbers of all processes.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.processes.keys().map(|identity| identity.pid)
    }

    /// The numbers of all threads that are alive, those of the first process first.
    pub fn threads(&self) -> Vec<libc::pid_t> {
        let rest = self.processes.keys().filter(|identity| **identity != self.root);
        let pids = std::iter::once(&self.root).chain(rest).map(|identity| identity.pid);
        pids.flat_map(threads).collect()
    }

    /// CPU seconds of each thread that is alive now, by its number: in ticks of 10 ms, and of threads
    /// that have begun since the reading too.
    pub fn threads_cpu_s(&self) -> Vec<(libc::pid_t, f64)> {
        let of = |thread: libc::pid_t| {
            let stat = parse(&std::fs::read_to_string(format!("/proc/{thread}/stat")).ok()?)?;
            Some((thread, stat.own_ticks as f64 / TICKS_PER_S))
        };
        self.threads().into_iter().filter_map(of).collect()
    }

    /// What happened since an earlier reading; memory is read now.
    pub fn since(&self, earlier: &Self) -> TreeUsage {
        self.usage(earlier, true)
    }

    /// The same without `pss_bytes`, for which the kernel walks through all page tables.
    pub fn since_cheaply(&self, earlier: &Self) -> TreeUsage {
        self.usage(earlier, false)
    }

    fn usage(&self, earlier: &Self, with_shares: bool) -> TreeUsage {
        let switches = |of: fn(&Used) -> u64| {
            let gained = self.processes.iter().map(|(identity, used)| {
                let before = earlier.processes.get(identity).map_or(0, of);
                of(used).saturating_sub(before)
            });
            gained.sum()
        };
        let memory = self.processes.keys().filter_map(|identity| memory(identity.pid, with_shares));
        let memory: Vec<Memory> = memory.collect();
        TreeUsage {
            cpu_s: self.cpu_s_since(earlier),
            rss_bytes: memory.iter().map(|of| of.rss_bytes).sum(),
            pss_bytes: memory.iter().map(|of| of.pss_bytes).sum(),
            page_table_bytes: memory.iter().map(|of| of.page_table_bytes).sum(),
            processes: memory.len(),
            threads: memory.iter().map(|of| of.threads).sum(),
            minor_faults: self.sum_since(earlier, |used| used.minor_faults),
            major_faults: self.sum_since(earlier, |used| used.major_faults),
            voluntary_switches: switches(|used| used.voluntary_switches),
            involuntary_switches: switches(|used| used.involuntary_switches),
        }
    }
}

/// The processes of `known` that are alive, and all that descend from one of them.
fn used(all: &[Stat], known: &BTreeSet<Identity>, with_switches: bool) -> BTreeMap<Identity, Used> {
    family(all, known).map(|stat| (stat.identity, used_by(stat, with_switches))).collect()
}

/// Whether a child of a process has ended since its numbers were read.
fn has_reaped(read: &Stat) -> bool {
    let now = stat_of(read.identity.pid);
    now.is_none_or(|now| now.reaped_ticks != read.reaped_ticks || now.identity != read.identity)
}

fn family<'s>(
    all: &'s [Stat],
    known: &'s BTreeSet<Identity>,
) -> impl Iterator<Item = &'s Stat> + 's {
    let parents: BTreeMap<u32, u32> =
        all.iter().map(|stat| (stat.identity.pid, stat.parent)).collect();
    let members: BTreeSet<u32> = all
        .iter()
        .filter(|stat| known.contains(&stat.identity))
        .map(|stat| stat.identity.pid)
        .collect();
    all.iter().filter(move |stat| {
        let mut pid = stat.identity.pid;
        // A chain that loops, as readings of different moments might make it, ends all the same.
        for _ in 0..all.len() {
            if members.contains(&pid) {
                return true;
            }
            match parents.get(&pid) {
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    })
}

/// Every process that is shown here.
pub(crate) fn every_stat() -> Vec<Stat> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(stat_of).collect()
}

/// One process; none if it has ended. Where arms take turns this is read many times a second: no
/// memory is asked for, and the kernel is called three times.
fn stat_of(pid: u32) -> Option<Stat> {
    let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
    let mut line = [0; STAT_MOST];
    let bytes = file.read(&mut line).ok()?;
    parse(str::from_utf8(&line[..bytes]).ok()?)
}

/// `pid (name) state ppid ...`; the name may hold anything, parentheses and spaces included.
fn parse(text: &str) -> Option<Stat> {
    let (head, tail) = text.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    // Field 3, the state, is the first of the tail.
    let field = |number: usize| tail.split_ascii_whitespace().nth(number - 3);
    let number = |place: usize| field(place)?.parse::<u64>().ok();
    Some(Stat {
        identity: Identity { pid, started: number(22)? },
        parent: field(4)?.parse().ok()?,
        own_ticks: number(14)? + number(15)?,
        reaped_ticks: number(16)? + number(17)?,
        minor_faults: number(10)? + number(11)?,
        major_faults: number(12)? + number(13)?,
    })
}

fn used_by(stat: &Stat, with_switches: bool) -> Used {
    let (voluntary_switches, involuntary_switches) =
        if with_switches { switches(stat.identity.pid) } else { (0, 0) };
    let seconds = |ticks: u64| ticks as f64 / TICKS_PER_S;
    // The clock of one that has just ended is gone; its ticks are not.
    let own_s = own_cpu_s(stat.identity.pid).unwrap_or(0.0).max(seconds(stat.own_ticks));
    let cpu_s = own_s + seconds(stat.reaped_ticks);
    let Stat { minor_faults, major_faults, .. } = *stat;
    Used { cpu_s, minor_faults, major_faults, voluntary_switches, involuntary_switches }
}

/// The threads of a process; none if it has ended.
fn threads(pid: u32) -> Vec<libc::pid_t> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The CPU time of a process' threads, ended ones included.
fn own_cpu_s(pid: u32) -> Option<f64> {
    let mut clock: libc::clockid_t = 0;
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: the call only writes the clock's number.
    let failed = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0;
    (!failed).then(|| kernel_ns(clock) as f64 / 1e9)
}

/// Context switches of the threads that are alive.
fn switches(pid: u32) -> (u64, u64) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return (0, 0) };
    let texts =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    texts.fold((0, 0), |(voluntary, involuntary), text| {
        (
            voluntary + number_after(&text, "voluntary_ctxt_switches:").unwrap_or(0),
            involuntary + number_after(&text, "nonvoluntary_ctxt_switches:").unwrap_or(0),
        )
    })
}

/// What a process holds.
struct Memory {
    rss_bytes: u64,
    pss_bytes: Option<u64>,
    page_table_bytes: u64,
    threads: u64,
}

/// The proportional share only if it can be read; nothing of a process that has ended.
fn memory(pid: u32, with_shares: bool) -> Option<Memory> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let status = read("status")?;
    let rollup = if with_shares { read("smaps_rollup") } else { None };
    let pss = rollup.and_then(|text| number_after(&text, "Pss:"));
    Some(Memory {
        rss_bytes: number_after(&status, "VmRSS:")? * 1024,
        pss_bytes: pss.map(|kib| kib * 1024),
        page_table_bytes: number_after(&status, "VmPTE:").unwrap_or(0) * 1024,
        threads: number_after(&status, "Threads:").unwrap_or(0),
    })
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, parent: u32) -> Stat {
        Stat {
            identity: Identity { pid, started: 1 },
            parent,
            own_ticks: 0,
            reaped_ticks: 0,
            minor_faults: 0,
            major_faults: 0,
        }
    }

    fn members(all: &[Stat], known: &[u32]) -> Vec<u32> {
        let known = known.iter().map(|pid| stat(*pid, 0).identity).collect();
        family(all, &known).map(|stat| stat.identity.pid).collect()
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_is_no_field() {
        let text = "7 (a ) (b) S 3 7 7 0 -1 4194560 1 2 3 4 5 6 70 80 20 0 1 0 999 1 2";
        let expected = Stat {
            identity: Identity { pid: 7, started: 999 },
            parent: 3,
            own_ticks: 11,
            reaped_ticks: 150,
            minor_faults: 3,
            major_faults: 7,
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn a_family_is_its_members_and_all_below_them_and_nobody_else() {
        let all = [stat(1, 0), stat(2, 1), stat(3, 2), stat(4, 3), stat(5, 1), stat(6, 5)];
        assert_eq!(members(&all, &[2]), [2, 3, 4]);
        // One that was left by its parent is still a member, and so are its children.
        assert_eq!(members(&all, &[2, 5]), [2, 3, 4, 5, 6]);
        assert_eq!(members(&all, &[9]), [0; 0]);
        assert_eq!(members(&[stat(1, 2), stat(2, 1)], &[9]), [0; 0]);
    }

    #[test]
    fn a_number_that_was_given_to_another_process_is_not_the_same_process() {
        let known = BTreeSet::from([Identity { pid: 2, started: 77 }]);
        assert_eq!(family(&[stat(2, 1)], &known).count(), 0);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_tree() {
        assert!(ProcessTree::read(0).is_none());
    }

    /// Emulated, a process may not start another: `scripts/test-aarch64` skips these, and
    /// `assayer`'s tests look at its processes from outside.
    mod spawning {
        use std::process::{Child, Command, Stdio};

        use super::*;

        fn shell(script: &str) -> Child {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
            command.spawn().unwrap()
        }

        /// Waits until the script has written a line.
        fn told(child: &mut Child) {
            use std::io::{BufRead as _, BufReader};
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        }

        #[test]
        fn work_of_a_child_counts_while_it_lives_and_after_it_was_waited_for() {
            let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
            let script = format!("read go; sh -c '{spin}'; echo done; read stop; exit 0");
            let mut child = shell(&script);
            let before = ProcessTree::read(child.id()).unwrap();
            use std::io::Write as _;
            child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
            told(&mut child);
            let after = before.again().unwrap();
            let usage = after.since(&before);
            drop(child.stdin.take());
            child.wait().unwrap();
            // The shell itself does nothing but wait; the work was its child's, which is gone.
            assert!(usage.cpu_s > 0.02, "{usage:?}");
            assert_eq!(usage.processes, 1);
            assert!(usage.rss_bytes > 0 && usage.voluntary_switches > 0, "{usage:?}");
            assert!(before.again().is_none());
        }

        #[test]
        fn work_of_a_process_that_ended_and_was_not_waited_for_yet_counts() {
            let mut child = shell("read go; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
            let me = ProcessTree::read(std::process::id()).unwrap();
            use std::io::Write as _;
            child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
            let stat = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            while !stat().contains(") Z ") {
                std::thread::yield_now();
            }
            let zombie = parse(&stat()).unwrap();
            assert!(used_by(&zombie, true).cpu_s > 0.02, "{zombie:?}");
            assert!(me.again().unwrap().cpu_s_since(&me) > 0.02);
            child.wait().unwrap();
        }

        #[test]
        fn one_reading_of_all_shows_a_tree_as_it_was_and_work_of_a_child_that_has_ended() {
            let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
            let script = format!("echo ready; read go; sh -c '{spin}'; echo done; read stop");
            let mut child = shell(&script);
            told(&mut child);
            let before = ProcessTree::read(child.id()).unwrap();
            let still = before.among(&AllProcesses::read()).unwrap();
            assert_eq!(before.identities(), still.identities());
            assert!(still.cpu_s_since(&before) < 0.02);
            let early = AllProcesses::read();
            use std::io::Write as _;
            child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
            told(&mut child);
            // That reading is older than the child's end, so the tree is read again.
            let after = before.among(&early).unwrap();
            assert!(after.cpu_s_since(&before) > 0.02);
            let settled = after.among(&AllProcesses::read()).unwrap();
            assert!(settled.cpu_s_since(&after) < 0.02);
            drop(child.stdin.take());
            child.wait().unwrap();
            assert!(after.among(&AllProcesses::read()).is_none());
        }

        #[test]
        fn a_living_child_belongs_to_the_tree() {
            let mut child = shell("sleep 60 & echo started; read stop; kill $!");
            told(&mut child);
            let tree = ProcessTree::read(child.id()).unwrap();
            drop(child.stdin.take());
            child.wait().unwrap();
            assert_eq!(tree.processes.len(), 2);
        }
    }
}
