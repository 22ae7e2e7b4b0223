//! Energy in microjoules, where the kernel shows it: RAPL below /sys/class/powercap, or hwmon.
//!
//! A RAPL zone wraps around at its `max_energy_range_uj`, about once an hour at full power, so it
//! must be read more often than that. Since Linux 5.10 only root may read it. A hypervisor shows
//! none as a rule.

use std::fs;
use std::path::Path;

use super::{Absent, Column, Kind, ProcFile, Source, field};
use crate::facts::text;

const WHAT: &str = "energy";

/// One counter of energy.
struct Meter {
    name: String,
    range: Option<u64>,
    file: ProcFile,
}

/// All that there are.
pub struct Energy {
    meters: Vec<Meter>,
}

impl Energy {
    /// Opens them.
    pub fn open() -> Result<Self, Absent> {
        Self::below(Path::new("/sys/class"))
    }

    fn below(classes: &Path) -> Result<Self, Absent> {
        let mut meters = powercap(&classes.join("powercap"))?;
        if meters.is_empty() {
            meters = hwmon(&classes.join("hwmon"))?;
        }
        if meters.is_empty() {
            let why = "neither /sys/class/powercap nor /sys/class/hwmon has a counter of a \
                       package's energy";
            return Err(Absent::new(WHAT, why));
        }
        Ok(Self { meters })
    }
}

impl Source for Energy {
    fn columns(&self) -> Vec<Column> {
        let column = |meter: &Meter| {
            let kind = meter.range.map_or(Kind::Total, Kind::Wrapping);
            Column::new(format!("energy.{}_uj", meter.name), kind)
        };
        self.meters.iter().map(column).collect()
    }

    fn read(&mut self, raw: &mut [Option<u64>]) {
        for (meter, place) in self.meters.iter_mut().zip(raw) {
            *place = field(Some(meter.file.text().trim_ascii()));
        }
    }
}

/// Names below a folder in order; none where it is not there.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        found.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// `intel-rapl:0` is a package, `intel-rapl:0:1` a part of it, such as its memory. `psys` is the whole
/// platform, packages included.
fn powercap(folder: &Path) -> Result<Vec<Meter>, Absent> {
    let mut meters = Vec::new();
    // The same zones stand a second time under `intel-rapl-mmio`.
    for entry in entries(folder).iter().filter(|entry| entry.starts_with("intel-rapl:")) {
        let zone = folder.join(entry);
        let Some(own) = text(zone.join("name")) else { continue };
        let name = match entry.matches(':').count() {
            1 => own,
            _ => {
                let parent = entry.rsplit_once(':').map_or(entry.as_str(), |(parent, _)| parent);
                let package = text(folder.join(parent).join("name")).unwrap_or_default();
                format!("{package}.{own}")
            }
        };
        let range = text(zone.join("max_energy_range_uj")).and_then(|text| text.parse().ok());
        let file = ProcFile::open(zone.join("energy_uj"), WHAT)?;
        meters.push(Meter { name, range, file });
    }
    Ok(meters)
}

/// `energyN_input` with a label; `amd_energy` calls a package `Esocket0`.
fn hwmon(folder: &Path) -> Result<Vec<Meter>, Absent> {
    let mut meters = Vec::new();
    for device in entries(folder) {
        let device = folder.join(device);
        for entry in entries(&device) {
            let Some(stem) = entry.strip_suffix("_input").filter(|s| s.starts_with("energy"))
            else {
                continue;
            };
            let label = text(device.join(format!("{stem}_label"))).unwrap_or_default();
            let Some(socket) = label.strip_prefix("Esocket") else { continue };
            let file = ProcFile::open(device.join(&entry), WHAT)?;
            meters.push(Meter { name: format!("package-{socket}"), range: None, file });
        }
    }
    Ok(meters)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::counters::{Reading, Sampler};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("assay-energy-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn rapl_zones_count_on_when_they_wrap_around() {
        let classes = Folder::new("rapl");
        for (zone, name, energy) in [
            ("intel-rapl:0", "package-0", "990"),
            ("intel-rapl:0:0", "dram", "5"),
            ("intel-rapl:1", "package-1", "7"),
        ] {
            classes.write(&format!("powercap/{zone}/name"), &format!("{name}\n"));
            classes.write(&format!("powercap/{zone}/max_energy_range_uj"), "1000\n");
            classes.write(&format!("powercap/{zone}/energy_uj"), &format!("{energy}\n"));
        }
        let energy = Energy::below(&classes.0).unwrap();
        let names: Vec<String> = energy.columns().into_iter().map(|column| column.name).collect();
        assert_eq!(
            names,
            ["energy.package-0_uj", "energy.package-0.dram_uj", "energy.package-1_uj"]
        );
        let mut sampler = Sampler::new(vec![Box::new(energy)]);
        classes.write("powercap/intel-rapl:0/energy_uj", "20\n");
        classes.write("powercap/intel-rapl:0:0/energy_uj", "6\n");
        assert_eq!(sampler.read(Reading::All), [Some(30), Some(1), Some(0)]);
    }

    #[test]
    fn hwmon_is_read_where_there_is_no_rapl() {
        let classes = Folder::new("hwmon");
        for (number, label) in [(1, "Ecore000"), (2, "Esocket0")] {
            classes.write(&format!("hwmon/hwmon3/energy{number}_label"), &format!("{label}\n"));
            classes.write(&format!("hwmon/hwmon3/energy{number}_input"), "100\n");
        }
        let energy = Energy::below(&classes.0).unwrap();
        assert_eq!(energy.columns(), [Column::new("energy.package-0_uj", Kind::Total)]);
    }

    #[test]
    fn a_host_without_energy_says_so_and_counts_nothing() {
        let classes = Folder::new("none");
        let absent = Energy::below(&classes.0).err().unwrap();
        assert_eq!(absent.what, "energy");
        assert!(absent.why.contains("powercap"), "{}", absent.why);
    }
}
