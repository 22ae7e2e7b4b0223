//! /proc/vmstat: events of memory management, for the whole host.
//!
//! Only lines of these names are taken: faults, huge pages of either kind, compaction, swapping. Which
//! of them there are is the kernel's matter; others of the family are taken as well.

use super::{Absent, Column, Kind, ProcFile, Source, lines, number};

const NAMES: [&str; 6] =
    ["pgfault", "pgmajfault", "pswpin", "pswpout", "allocstall_normal", "numa_hint_faults"];
const FAMILIES: [&str; 4] = ["thp_", "htlb_buddy_", "compact_", "numa_pages_"];

/// The chosen lines of the file.
pub struct Vm {
    file: ProcFile,
    names: Vec<String>,
}

impl Vm {
    /// Opens it.
    pub fn open() -> Result<Self, Absent> {
        let mut file = ProcFile::open("/proc/vmstat", "vm")?;
        let names = chosen(file.text());
        Ok(Self { file, names })
    }
}

impl Source for Vm {
    fn columns(&self) -> Vec<Column> {
        self.names.iter().map(|name| Column::new(format!("vm.{name}"), Kind::Total)).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        let Self { file, names } = self;
        parse(file.text(), names, raw);
    }
}

fn chosen(text: &[u8]) -> Vec<String> {
    let name = |line: &[u8]| {
        let name = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
        let is_wanted = NAMES.contains(&name) || FAMILIES.iter().any(|f| name.starts_with(f));
        is_wanted.then(|| name.to_owned())
    };
    lines(text).filter_map(name).collect()
}

/// The names come in the order of the file, so each is looked for from where the last was found.
fn parse(text: &[u8], names: &[String], raw: &mut [Option<u64>]) {
    let mut next = 0;
    for line in lines(text) {
        let Some(name) = names.get(next) else { return };
        let rest = line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        if let Some(rest) = rest {
            raw[next] = number(rest);
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"nr_free_pages 100
pgfault 2483603597
pgmajfault 179496
pgfree 5
compact_stall 21310
htlb_buddy_alloc_success 4486
thp_fault_alloc 61297
thp_fault_fallback 2
unevictable_pgs_culled 9
";

    #[test]
    fn events_are_taken_and_states_are_not() {
        let names = chosen(TEXT);
        let mut raw = vec![None; names.len()];
        parse(TEXT, &names, &mut raw);
        let found: Vec<(&str, Option<u64>)> = names.iter().map(String::as_str).zip(raw).collect();
        assert_eq!(
            found,
            [
                ("pgfault", Some(2_483_603_597)),
                ("pgmajfault", Some(179_496)),
                ("compact_stall", Some(21_310)),
                ("htlb_buddy_alloc_success", Some(4486)),
                ("thp_fault_alloc", Some(61_297)),
                ("thp_fault_fallback", Some(2)),
            ]
        );
    }

    #[test]
    fn a_name_that_begins_like_another_is_not_the_other() {
        let names = vec!["pgfault".to_owned()];
        let mut raw = [None];
        parse(b"pgfault_x 7\npgfault 8\n", &names, &mut raw);
        assert_eq!(raw, [Some(8)]);
    }

    #[test]
    fn touching_pages_is_seen_on_this_host() {
        let mut vm = Vm::open().unwrap();
        let place = vm.columns().iter().position(|column| column.name == "vm.pgfault").unwrap();
        let mut read = || {
            let mut raw = vec![None; vm.names.len()];
            vm.read(&mut raw);
            raw[place].unwrap()
        };
        let before = read();
        let bytes = 4 << 20;
        let mut block = vec![0_u8; bytes];
        block.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        std::hint::black_box(&block);
        // The kernel adds up what each CPU has counted when the file is read.
        assert!(read() > before, "4 MiB were touched");
    }
}
