//! /proc/stat: CPU time by CPU, context switches and interrupts of the whole host.
//!
//! CPU time is kept in ticks of 10 ms; it is given in ms, in steps of 10.

use super::{Absent, Column, Kind, ProcFile, Source, field, lines, words};

/// What a word of a CPU's line is part of. Guest time is part of user's already; a wait for a disk is
/// idleness, and on another CPU's account as likely as not.
const PARTS: [&str; 6] = ["user", "system", "idle", "irq", "softirq", "steal"];
/// By word: user, nice, system, idle, iowait, irq, softirq, steal.
const PART_OF_WORD: [usize; 8] = [0, 0, 1, 2, 2, 3, 4, 5];
const HOST: [(&[u8], &str); 3] = [
    (b"ctxt", "host.context_switches"),
    (b"intr", "host.interrupts"),
    (b"processes", "host.forks"),
];
/// USER_HZ is 100 on every Linux that Assay runs on.
const MS_PER_TICK: u64 = 10;

/// The CPUs that were online at first, and the host.
pub struct Cpu {
    file: ProcFile,
    cpus: Vec<u64>,
}

impl Cpu {
    /// Opens it.
    pub fn open() -> Result<Self, Absent> {
        let mut file = ProcFile::open("/proc/stat", "cpu")?;
        let cpus = lines(file.text()).filter_map(cpu).collect();
        Ok(Self { file, cpus })
    }
}

impl Source for Cpu {
    fn columns(&self) -> Vec<Column> {
        let of_cpu = |cpu: &u64| {
            let cpu = *cpu;
            PARTS.map(|part| Column::new(format!("host.cpu.{part}_ms.cpu{cpu}"), Kind::Total))
        };
        let host = HOST.map(|(_, name)| Column::new(name, Kind::Total));
        self.cpus.iter().flat_map(of_cpu).chain(host).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        let Self { file, cpus } = self;
        parse(file.text(), cpus, raw);
    }
}

/// The number of a line `cpuN ...`; the first line, `cpu ...`, is the sum.
fn cpu(line: &[u8]) -> Option<u64> {
    field(words(line).next()?.strip_prefix(b"cpu").filter(|digits| !digits.is_empty()))
}

fn parse(text: &[u8], cpus: &[u64], raw: &mut [Option<u64>]) {
    let hosts = cpus.len() * PARTS.len();
    for line in lines(text) {
        if let Some(cpu) = cpu(line) {
            let Some(row) = cpus.iter().position(|known| *known == cpu) else { continue };
            let first = row * PARTS.len();
            for (word, part) in words(line).skip(1).zip(PART_OF_WORD) {
                let Some(ticks) = field(Some(word)) else { continue };
                let place = &mut raw[first + part];
                *place = Some(place.unwrap_or(0) + ticks * MS_PER_TICK);
            }
            continue;
        }
        let mut words = words(line);
        let name = words.next();
        let found = HOST.iter().position(|(known, _)| Some(*known) == name);
        if let Some(place) = found {
            raw[hosts + place] = field(words.next());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"cpu  30 2 6 200 8 2 4 1 5 0
cpu0 10 1 3 100 4 1 2 0 5 0
cpu2 20 1 3 100 4 1 2 1 0 0
intr 77 1 2 3
ctxt 123456
btime 1
processes 42
softirq 9 9
";

    #[test]
    fn ticks_become_milliseconds_of_their_parts() {
        let mut raw = vec![None; 2 * PARTS.len() + HOST.len()];
        parse(TEXT, &[0, 2], &mut raw);
        // user with nice, system, idle with iowait, irq, softirq, steal
        assert_eq!(raw[..6], [110, 30, 1040, 10, 20, 0].map(Some));
        assert_eq!(raw[6], Some(210));
        assert_eq!(raw[12..], [123_456, 77, 42].map(Some));
    }

    #[test]
    fn an_old_kernel_without_steal_has_none_of_it() {
        let mut raw = vec![None; PARTS.len() + HOST.len()];
        parse(b"cpu0 1 1 1 1 1 1 1\n", &[0], &mut raw);
        assert_eq!(raw[4..6], [Some(10), None]);
    }

    #[test]
    fn this_host_agrees_with_the_slow_reader() {
        let mut cpu = Cpu::open().unwrap();
        let columns = cpu.columns();
        let mut raw = vec![None; columns.len()];
        cpu.read(&mut raw);
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let cpus = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
        assert_eq!(columns.len(), cpus * PARTS.len() + HOST.len());
        let ctxt = text.lines().find_map(|line| line.strip_prefix("ctxt ")).unwrap();
        let later: u64 = ctxt.parse().unwrap();
        let sooner = raw[cpus * PARTS.len()].unwrap();
        assert!(sooner > 0 && sooner <= later, "{sooner} {later}");
    }
}
