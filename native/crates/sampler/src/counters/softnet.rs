//! /proc/net/softnet_stat: packets by CPU.
//!
//! The numbers are the host's, whichever network namespace's file is read: the kernel keeps them by
//! CPU and nothing else. They are hexadecimal and have 32 bits. A line is that of an online CPU; since
//! Linux 5.10 its 13th word is the CPU's number. Before, the n-th line is taken as CPU n, which is
//! so unless a CPU is offline.

use super::{Absent, Column, Kind, ProcFile, Source, U32_RANGE, lines, words};

/// The words that are counters: place in the line, name.
const FIELDS: [(usize, &str); 5] = [
    (0, "processed"),
    (1, "dropped"),
    (2, "time_squeeze"),
    (9, "received_rps"),
    (10, "flow_limit"),
];
const CPU_FIELD: usize = 12;

/// The counters of all CPUs that were online at first.
pub struct Softnet {
    file: ProcFile,
    cpus: Vec<u64>,
}

impl Softnet {
    /// Opens it.
    pub fn open() -> Result<Self, Absent> {
        // Of this process: /proc/net is a link to /proc/self/net.
        let mut file = ProcFile::open("/proc/net/softnet_stat", "softnet")?;
        let cpus = cpus(file.text());
        Ok(Self { file, cpus })
    }
}

impl Source for Softnet {
    fn columns(&self) -> Vec<Column> {
        columns(&self.cpus)
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        let Self { file, cpus } = self;
        parse(file.text(), cpus, raw);
    }
}

fn columns(cpus: &[u64]) -> Vec<Column> {
    let of_cpu = |cpu: &u64| {
        let cpu = *cpu;
        FIELDS.iter().map(move |(_, name)| {
            Column::new(format!("host.softnet.{name}.cpu{cpu}"), Kind::Wrapping(U32_RANGE))
        })
    };
    cpus.iter().flat_map(of_cpu).collect()
}

fn cpus(text: &[u8]) -> Vec<u64> {
    lines(text).enumerate().filter_map(|(place, line)| cpu(place, line)).collect()
}

fn cpu(place: usize, line: &[u8]) -> Option<u64> {
    match words(line).nth(CPU_FIELD) {
        Some(word) => hexadecimal(word),
        None => Some(place as u64),
    }
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

fn parse(text: &[u8], cpus: &[u64], raw: &mut [Option<u64>]) {
    for (place, line) in lines(text).enumerate() {
        let Some(cpu) = cpu(place, line) else { continue };
        let Some(row) = cpus.iter().position(|known| *known == cpu) else { continue };
        for (column, (field, _)) in FIELDS.iter().enumerate() {
            raw[row * FIELDS.len() + column] = words(line).nth(*field).and_then(hexadecimal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.1 writes it: CPU 1 is offline.
    const NEW: &[u8] = b"\
00000010 00000000 00000002 00000000 00000000 00000000 00000000 00000000 00000000 000000ff 00000000 00000000 00000000 00000000 00000000
0000000a 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 00000002 00000000 00000000
";
    /// As Linux 4.19 writes it: no number of the CPU.
    const OLD: &[u8] = b"\
00000010 00000000 00000002 00000000 00000000 00000000 00000000 00000000 00000000 000000ff 00000000
0000000a 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003
";

    fn read(text: &[u8]) -> Vec<(String, Option<u64>)> {
        let cpus = cpus(text);
        let names = columns(&cpus).into_iter().map(|column| column.name);
        let mut raw = vec![None; cpus.len() * FIELDS.len()];
        parse(text, &cpus, &mut raw);
        names.zip(raw).collect()
    }

    fn value(read: &[(String, Option<u64>)], name: &str) -> Option<u64> {
        read.iter().find(|(known, _)| known == name).and_then(|(_, value)| *value)
    }

    #[test]
    fn numbers_are_hexadecimal_and_belong_to_the_cpu_that_the_line_names() {
        let read = read(NEW);
        assert_eq!(value(&read, "host.softnet.processed.cpu0"), Some(16));
        assert_eq!(value(&read, "host.softnet.received_rps.cpu0"), Some(255));
        assert_eq!(value(&read, "host.softnet.processed.cpu2"), Some(10));
        assert_eq!(value(&read, "host.softnet.dropped.cpu2"), Some(1));
        assert_eq!(value(&read, "host.softnet.flow_limit.cpu2"), Some(3));
        assert!(read.iter().all(|(name, _)| !name.ends_with("cpu1")));
    }

    #[test]
    fn an_older_kernel_names_no_cpu_and_lists_them_in_order() {
        assert_eq!(value(&read(OLD), "host.softnet.processed.cpu1"), Some(10));
    }

    #[test]
    fn a_line_that_is_cut_off_gives_none() {
        let mut raw = vec![Some(1); FIELDS.len()];
        raw.fill(None);
        parse(b"00000010", &[0], &mut raw);
        assert_eq!(raw, [Some(16), None, None, None, None]);
    }

    #[test]
    fn this_host_counts_packets_by_cpu() {
        let mut softnet = Softnet::open().unwrap();
        let mut raw = vec![None; softnet.columns().len()];
        softnet.read(&mut raw);
        assert!(!raw.is_empty());
        assert!(raw.iter().all(Option::is_some), "{raw:?}");
    }
}
