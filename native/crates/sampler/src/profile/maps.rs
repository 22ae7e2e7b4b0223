//! What is mapped where in a process: /proc/PID/maps.

use std::collections::BTreeMap;

/// A mapping that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address behind it.
    pub end: u64,
    /// Where it begins in its file.
    pub offset: u64,
    /// The file, `[vdso]` and the like, or nothing; without ` (deleted)`.
    pub path: String,
    /// Whether the file has left its folder, or never was in one.
    pub is_deleted: bool,
}

/// All that a process had mapped to execute, by where it begins.
///
/// Later readings add to it: code that has been unmapped meanwhile is still known.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    by_start: BTreeMap<u64, Mapping>,
}

impl Maps {
    /// Those of a process now; empty if it has ended.
    pub fn of(pid: u32) -> Self {
        let mut maps = Self::default();
        maps.read(pid);
        maps
    }

    /// Reads them again; nothing changes if the process has ended.
    pub fn read(&mut self, pid: u32) {
        if let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/maps")) {
            self.add(&text);
        }
    }

    /// What a reading says holds, and takes the place of what it overlaps.
    pub fn add(&mut self, text: &str) {
        for (start, mapping) in text.lines().filter_map(parse) {
            let overlapped: Vec<u64> = (self.by_start.range(..mapping.end))
                .filter(|(_, known)| known.end > start)
                .map(|(known_start, _)| *known_start)
                .collect();
            for known in overlapped {
                self.by_start.remove(&known);
            }
            self.by_start.insert(start, mapping);
        }
    }

    /// Whether nothing is known of it.
    pub fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// The mapping that holds an address, and where it begins.
    pub fn find(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (start, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end).then_some((*start, mapping))
    }
}

/// `start-end rwxp offset device inode path`, if it may be executed.
fn parse(line: &str) -> Option<(u64, Mapping)> {
    let mut rest = line;
    let mut field = || {
        let (word, more) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = more.trim_start();
        word
    };
    let (range, rights, offset) = (field(), field(), field());
    let (_device, _inode) = (field(), field());
    if !rights.contains('x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let path = rest.strip_suffix(" (deleted)");
    Some((
        number(start)?,
        Mapping {
            end: number(end)?,
            offset: number(offset)?,
            path: path.unwrap_or(rest).to_owned(),
            is_deleted: path.is_some(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c0000000-55d0c0010000 r--p 00000000 fe:00 12 /usr/bin/a server
55d0c0010000-55d0c0020000 r-xp 00010000 fe:00 12                         /usr/bin/a server
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f0000002000-7f0000003000 r-xp 00001000 00:01 9   /memfd:code (deleted)
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0   [vdso]
";

    fn path_at(maps: &Maps, address: u64) -> Option<&str> {
        maps.find(address).map(|(_, mapping)| mapping.path.as_str())
    }

    #[test]
    fn only_what_may_be_executed_is_found_and_by_its_whole_path() {
        let mut maps = Maps::default();
        maps.add(TEXT);
        assert_eq!(path_at(&maps, 0x55d0_c000_0000), None);
        assert_eq!(path_at(&maps, 0x55d0_c001_0000), Some("/usr/bin/a server"));
        assert_eq!(path_at(&maps, 0x55d0_c001_ffff), Some("/usr/bin/a server"));
        assert_eq!(path_at(&maps, 0x55d0_c002_0000), None);
        assert_eq!(path_at(&maps, 0x7f00_0000_0010), Some(""));
        assert_eq!(path_at(&maps, 0x7ffd_0000_0010), Some("[vdso]"));
        let (start, deleted) = maps.find(0x7f00_0000_2010).unwrap();
        assert_eq!((start, deleted.offset), (0x7f00_0000_2000, 0x1000));
        assert_eq!((deleted.path.as_str(), deleted.is_deleted), ("/memfd:code", true));
    }

    #[test]
    fn a_later_reading_adds_and_what_it_overlaps_is_gone() {
        let mut maps = Maps::default();
        maps.add(TEXT);
        maps.add("7f0000000800-7f0000001800 r-xp 00000000 fe:00 12 /lib/new.so\nnonsense\n");
        assert_eq!(path_at(&maps, 0x7f00_0000_0010), None);
        assert_eq!(path_at(&maps, 0x7f00_0000_0900), Some("/lib/new.so"));
        assert_eq!(path_at(&maps, 0x55d0_c001_0000), Some("/usr/bin/a server"));
    }
}
