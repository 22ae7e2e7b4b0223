//! /proc/softirqs: how often each kind of soft interrupt ran on each CPU.
//!
//! The numbers have 32 bits. The columns of the file are all possible CPUs, also those offline.

use super::{Absent, Column, Kind, ProcFile, Source, U32_RANGE, field, lines, words};

/// The table's shape as it was at first.
pub struct Softirqs {
    file: ProcFile,
    shape: Shape,
}

struct Shape {
    kinds: Vec<String>,
    cpus: Vec<u64>,
}

impl Softirqs {
    /// Opens it.
    pub fn open() -> Result<Self, Absent> {
        let mut file = ProcFile::open("/proc/softirqs", "softirqs")?;
        let shape = shape(file.text());
        Ok(Self { file, shape })
    }
}

impl Source for Softirqs {
    fn columns(&self) -> Vec<Column> {
        columns(&self.shape)
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        let Self { file, shape } = self;
        parse(file.text(), shape, raw);
    }
}

fn shape(text: &[u8]) -> Shape {
    let mut lines = lines(text);
    let cpu = |word: &[u8]| field(word.strip_prefix(b"CPU"));
    let cpus = lines.next().map_or(Vec::new(), |head| words(head).filter_map(cpu).collect());
    let kind = |line: &[u8]| {
        let name = words(line).next()?.strip_suffix(b":")?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    Shape { kinds: lines.filter_map(kind).collect(), cpus }
}

fn columns(shape: &Shape) -> Vec<Column> {
    let of_kind = |kind: &String| {
        let kind = kind.to_ascii_lowercase();
        shape.cpus.iter().map(move |cpu| {
            Column::new(format!("host.softirq.{kind}.cpu{cpu}"), Kind::Wrapping(U32_RANGE))
        })
    };
    shape.kinds.iter().flat_map(of_kind).collect()
}

fn parse(text: &[u8], shape: &Shape, raw: &mut [Option<u64>]) {
    for line in lines(text).skip(1) {
        let mut words = words(line);
        let Some(name) = words.next().and_then(|word| word.strip_suffix(b":")) else { continue };
        let Some(row) = shape.kinds.iter().position(|kind| kind.as_bytes() == name) else {
            continue;
        };
        let first = row * shape.cpus.len();
        for place in &mut raw[first..first + shape.cpus.len()] {
            *place = field(words.next());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"                    CPU0       CPU1       CPU3
          HI:          1          0          2
      NET_RX:  218145249  207376000         77
     HRTIMER:          0          0          0
";

    #[test]
    fn each_number_is_of_a_kind_and_a_cpu() {
        let shape = shape(TEXT);
        let names: Vec<String> = columns(&shape).into_iter().map(|column| column.name).collect();
        let mut raw = vec![None; names.len()];
        parse(TEXT, &shape, &mut raw);
        let place = names.iter().position(|name| name == "host.softirq.net_rx.cpu3").unwrap();
        assert_eq!(raw[place], Some(77));
        assert_eq!(raw[..3], [Some(1), Some(0), Some(2)]);
        assert_eq!(names.len(), 9);
    }

    #[test]
    fn a_row_that_is_cut_off_gives_none_where_numbers_lack() {
        let shape = shape(TEXT);
        let mut raw = vec![None; 9];
        parse(b"CPU0 CPU1 CPU3\nNET_RX: 5 x\n", &shape, &mut raw);
        assert_eq!(raw[3..6], [Some(5), None, None]);
        assert_eq!((raw[0], raw[8]), (None, None));
    }

    #[test]
    fn this_host_counts_timers() {
        let mut softirqs = Softirqs::open().unwrap();
        let columns = softirqs.columns();
        let mut raw = vec![None; columns.len()];
        softirqs.read(&mut raw);
        let timer = columns.iter().position(|column| column.name == "host.softirq.timer.cpu0");
        assert!(raw[timer.unwrap()].unwrap() > 0);
    }
}
