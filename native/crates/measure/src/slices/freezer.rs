//! Stops the processes of a server while others have the turn: by its cgroup where one of its own may
//! be had, else by a signal to each.

use std::collections::BTreeSet;

use assay_sampler::ProcessTree;

use super::group::Group;

/// Looks for processes that began while others were stopped, at most.
const LOOKS: usize = 10;

/// A server that can be stopped and let go on. Dropped, it goes on.
pub struct Freezer {
    server: Option<u32>,
    group: Option<Group>,
    stopped: BTreeSet<u32>,
}

impl Freezer {
    /// Of the tree of a server's first process; of none, it does nothing.
    pub fn new(server: Option<u32>) -> Self {
        Self { server, group: server.and_then(Group::of), stopped: BTreeSet::new() }
    }

    /// Stops every process of the tree.
    pub fn freeze(&mut self) {
        let Some(server) = self.server else { return };
        if self.group.as_ref().is_some_and(Group::freeze) {
            return;
        }
        // Dropped, a group that does not stop lets its processes go on.
        self.group = None;
        self.signal_all(server);
    }

    /// Parents first, again until no new one is found.
    fn signal_all(&mut self, server: u32) {
        for _ in 0..LOOKS {
            let Some(tree) = ProcessTree::read(server) else { return };
            let new: Vec<u32> = tree.pids().filter(|pid| !self.stopped.contains(pid)).collect();
            if new.is_empty() {
                return;
            }
            for pid in new {
                signal(pid, libc::SIGSTOP);
                self.stopped.insert(pid);
            }
        }
    }

    /// Lets all that were stopped go on.
    pub fn thaw(&mut self) {
        if let Some(group) = &self.group {
            group.thaw();
        }
        for pid in std::mem::take(&mut self.stopped) {
            signal(pid, libc::SIGCONT);
        }
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.thaw();
    }
}

fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: no memory is involved; a process that has gone is an error that does not matter.
    unsafe {
        libc::kill(pid as libc::pid_t, signal);
    }
}

#[cfg(test)]
mod spawning {
    use super::*;

    fn state(pid: u32) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().chars().next().unwrap()
    }

    fn becomes(pid: u32, wanted: impl Fn(char) -> bool) -> bool {
        (0..2000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            wanted(state(pid))
        })
    }

    /// A shell and its child, which have started.
    fn family() -> (std::process::Child, Vec<u32>) {
        let shell = ["-c", "sleep 60 & echo; wait"];
        let mut child = std::process::Command::new("sh")
            .args(shell)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let pids: Vec<u32> = ProcessTree::read(child.id()).unwrap().pids().collect();
        assert_eq!(pids.len(), 2);
        (child, pids)
    }

    fn end(mut child: std::process::Child, pids: &[u32]) {
        pids.iter().for_each(|pid| signal(*pid, libc::SIGKILL));
        child.wait().unwrap();
    }

    #[test]
    fn a_tree_is_stopped_and_goes_on() {
        let (child, pids) = family();
        let server = Some(child.id());
        let mut freezer = Freezer { server, group: None, stopped: BTreeSet::new() };
        freezer.freeze();
        assert!(pids.iter().all(|pid| becomes(*pid, |state| state == 'T')));
        drop(freezer);
        assert!(pids.iter().all(|pid| becomes(*pid, |state| state != 'T')));
        end(child, &pids);
    }

    fn cgroup(pid: u32) -> String {
        std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap()
    }

    #[test]
    fn a_group_stops_a_tree_as_one_and_gives_it_back() {
        let (child, pids) = family();
        let before = cgroup(child.id());
        // Where no group may be had, signals do it: the test above.
        if let Some(group) = Group::of(child.id()) {
            assert!(pids.iter().all(|pid| cgroup(*pid).contains("assay-")));
            assert!(group.freeze());
            group.thaw();
            drop(group);
            assert!(pids.iter().all(|pid| cgroup(*pid) == before));
        }
        end(child, &pids);
    }
}
