//! A cgroup (version 2) with a server's processes in it, which the kernel stops as one.
//!
//! It lies below the cgroup that the server was in, and has no controllers, so no limit changes.
//! Source: `cgroup.freeze` in the kernel's Documentation/admin-guide/cgroup-v2.rst.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sampler::ProcessTree;

/// Looks for processes that began while others were moved, at most.
const LOOKS: usize = 10;
/// How long the kernel may take to stop all.
const PATIENCE: Duration = Duration::from_millis(20);
const NAME: &str = "assay-";

/// The group. Dropped, its processes go on where they were before.
pub struct Group {
    folder: PathBuf,
    outside: PathBuf,
}

impl Group {
    /// Moves a server's tree into a group of its own; none where that may not be had.
    pub fn of(server: u32) -> Option<Self> {
        let outside = folder_of(server)?;
        if !outside.join("cgroup.procs").exists() {
            return None;
        }
        remove_left(&outside);
        let folder = outside.join(format!("{NAME}{server}"));
        fs::create_dir(&folder).ok()?;
        let group = Self { folder, outside };
        let is_whole = group.folder.join("cgroup.freeze").exists() && group.take(server);
        // Dropped, it gives back what it took.
        is_whole.then_some(group)
    }

    /// Takes every process of the tree; what they start later is in it from the start.
    fn take(&self, server: u32) -> bool {
        let procs = self.folder.join("cgroup.procs");
        for _ in 0..LOOKS {
            let Some(tree) = ProcessTree::read(server) else { return false };
            let inside = members(&self.folder);
            let new: Vec<u32> = tree.pids().filter(|pid| !inside.contains(pid)).collect();
            if new.is_empty() {
                return true;
            }
            for pid in new {
                // One that has just ended is missing at the next look.
                let moved = fs::write(&procs, pid.to_string());
                if moved.is_err() && Path::new(&format!("/proc/{pid}")).exists() {
                    return false;
                }
            }
        }
        false
    }

    /// Stops all and waits until they are; false if the kernel does not.
    pub fn freeze(&self) -> bool {
        if fs::write(self.folder.join("cgroup.freeze"), "1").is_err() {
            return false;
        }
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            let events = fs::read_to_string(self.folder.join("cgroup.events")).unwrap_or_default();
            if events.lines().any(|line| line == "frozen 1") {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    /// Lets all go on.
    pub fn thaw(&self) {
        // A group that is gone holds nobody.
        let _ = fs::write(self.folder.join("cgroup.freeze"), "0");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.thaw();
        for _ in 0..LOOKS {
            for pid in members(&self.folder) {
                // One that has ended needs no place.
                let _ = fs::write(self.outside.join("cgroup.procs"), pid.to_string());
            }
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
        }
    }
}

fn members(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Groups of processes that were killed; one with a process in it stays.
fn remove_left(outside: &Path) {
    let Ok(entries) = fs::read_dir(outside) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for name in names.filter(|name| name.starts_with(NAME)) {
        let _ = fs::remove_dir(outside.join(name));
    }
}

/// The folder of the cgroup (version 2) that a process is in.
fn folder_of(pid: u32) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    placed(&mounts, &groups)
}

/// `36 25 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup rw`, and `0::/user.slice`.
fn placed(mounts: &str, groups: &str) -> Option<PathBuf> {
    let is_two =
        |line: &&str| line.split_once(" - ").is_some_and(|it| it.1.starts_with("cgroup2 "));
    let mut fields = mounts.lines().find(is_two)?.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                          31 25 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn a_process_is_found_where_version_two_is_mounted() {
        let groups = "4:cpu:/\n0::/user.slice/one\n";
        let found = placed(MOUNTS, groups);
        assert_eq!(found, Some("/sys/fs/cgroup/unified/user.slice/one".into()));
        assert_eq!(placed(MOUNTS, "4:cpu:/\n"), None);
        assert_eq!(placed("", groups), None);
    }

    #[test]
    fn a_mount_that_shows_a_part_shows_what_lies_in_it() {
        let mounts = MOUNTS.replace("0:27 / ", "0:27 /box ");
        assert_eq!(placed(&mounts, "0::/box/a"), Some("/sys/fs/cgroup/unified/a".into()));
        assert_eq!(placed(&mounts, "0::/elsewhere"), None);
    }
}
