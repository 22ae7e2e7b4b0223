//! /proc/pressure: microseconds in which some, or all, tasks that were not idle waited for CPU, memory or I/O.

use super::{Absent, Column, Kind, ProcFile, Source, field, lines, words};

const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// The pressure on the whole host.
pub struct Psi {
    /// With the names of its lines, `some` and perhaps `full`.
    files: Vec<(ProcFile, &'static str, Vec<String>)>,
}

impl Psi {
    /// Opens the three files; absent if the kernel does not keep them, or starts without.
    pub fn open() -> Result<Self, Absent> {
        let open = |resource: &&'static str| {
            let mut file = ProcFile::open(format!("/proc/pressure/{resource}"), "psi")?;
            let names = names(file.text());
            Ok((file, *resource, names))
        };
        Ok(Self { files: RESOURCES.iter().map(open).collect::<Result<_, Absent>>()? })
    }
}

impl Source for Psi {
    fn columns(&self) -> Vec<Column> {
        let of_file = |(_, resource, names): &(ProcFile, &'static str, Vec<String>)| {
            let column =
                |name: &String| Column::new(format!("psi.{resource}.{name}_us"), Kind::Total);
            names.iter().map(column).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(of_file).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        let mut first = 0;
        for (file, _, names) in &mut self.files {
            parse(file.text(), names, &mut raw[first..first + names.len()]);
            first += names.len();
        }
    }
}

fn names(text: &[u8]) -> Vec<String> {
    let name = |line: &[u8]| Some(String::from_utf8_lossy(words(line).next()?).into_owned());
    lines(text).filter_map(name).collect()
}

fn parse(text: &[u8], names: &[String], raw: &mut [Option<u64>]) {
    for line in lines(text) {
        let Some(word) = words(line).next() else { continue };
        let Some(place) = names.iter().position(|name| name.as_bytes() == word) else { continue };
        let mut totals = words(line).filter_map(|word| word.strip_prefix(b"total="));
        raw[place] = field(totals.next());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"some avg10=14.07 avg60=23.79 avg300=15.55 total=2556526944
full avg10=12.72 avg60=16.06 avg300=9.82 total=837094375
";

    #[test]
    fn the_total_of_each_line_is_taken_and_not_its_averages() {
        let names = names(TEXT);
        let mut raw = vec![None; names.len()];
        parse(TEXT, &names, &mut raw);
        assert_eq!(names, ["some", "full"]);
        assert_eq!(raw, [Some(2_556_526_944), Some(837_094_375)]);
    }

    #[test]
    fn before_linux_5_13_the_cpu_has_no_full() {
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(names(text), ["some"]);
    }

    #[test]
    fn this_host_has_pressure_or_says_why_not() {
        match Psi::open() {
            Ok(mut psi) => {
                let columns = psi.columns();
                let mut raw = vec![None; columns.len()];
                psi.read(&mut raw);
                assert!(columns.iter().any(|column| column.name == "psi.memory.some_us"));
                assert!(raw.iter().all(Option::is_some), "{raw:?}");
            }
            Err(absent) => assert!(absent.why.contains("/proc/pressure"), "{}", absent.why),
        }
    }
}
