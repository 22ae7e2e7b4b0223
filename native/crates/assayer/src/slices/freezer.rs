//! Stops the processes of a server while others have the turn.

use std::collections::BTreeSet;

use assay_sampler::ProcessTree;

/// Looks for processes that began while others were stopped, at most.
const LOOKS: usize = 10;

/// A server that can be stopped and let go on. Dropped, it goes on.
pub struct Freezer {
    server: Option<u32>,
    stopped: BTreeSet<u32>,
}

impl Freezer {
    /// Of the tree of a server's first process; of none, it does nothing.
    pub fn new(server: Option<u32>) -> Self {
        Self { server, stopped: BTreeSet::new() }
    }

    /// Stops every process of the tree: parents first, again until no new one is found.
    pub fn freeze(&mut self) {
        let Some(server) = self.server else { return };
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

    #[test]
    fn a_tree_is_stopped_and_goes_on() {
        let shell = ["-c", "sleep 60 & echo; wait"];
        let mut child = std::process::Command::new("sh")
            .args(shell)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let pids: Vec<u32> = ProcessTree::read(child.id()).unwrap().pids().collect();
        assert_eq!(pids.len(), 2);
        let mut freezer = Freezer::new(Some(child.id()));
        freezer.freeze();
        assert!(pids.iter().all(|pid| becomes(*pid, |state| state == 'T')));
        drop(freezer);
        assert!(pids.iter().all(|pid| becomes(*pid, |state| state != 'T')));
        pids.into_iter().for_each(|pid| signal(pid, libc::SIGKILL));
        child.wait().unwrap();
    }
}
