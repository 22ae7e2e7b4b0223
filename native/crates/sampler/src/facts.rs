//! What this host is.

use std::fs;
use std::path::Path;

/// A huge page pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePagePool {
    /// Page size.
    pub bytes: u64,
    /// Pages in the pool.
    pub pool: u64,
    /// Pages of it that are free.
    pub free: u64,
}

/// The facts that results carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// As the kernel calls it: `x86_64` or `aarch64`.
    pub arch: &'static str,
    /// Marketing name, or implementer and part on Arm.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus: u64,
    /// Feature flags, sorted.
    pub cpu_features: Vec<String>,
    /// Coherence granule.
    pub cache_line_bytes: Option<u64>,
    /// Base page.
    pub page_bytes: u64,
    /// Release.
    pub kernel: Option<String>,
    /// Distribution with version.
    pub distribution: Option<String>,
    /// Memory nodes.
    pub numa_nodes: u64,
    /// Memory.
    pub memory_bytes: u64,
    /// Pools, by page size.
    pub huge_pages: Vec<HugePagePool>,
    /// The chosen word of `transparent_hugepage/enabled`.
    pub thp_enabled: Option<String>,
    /// The chosen word of `transparent_hugepage/defrag`.
    pub thp_defrag: Option<String>,
    /// Whether a hypervisor says it is there; `None` where nothing says so either way.
    pub is_virtual: Option<bool>,
}

impl Facts {
    /// Reads them all.
    pub fn read() -> Self {
        let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
        let features = cpu_features(&cpuinfo);
        Self {
            arch: std::env::consts::ARCH,
            cpu_model: cpu_model(&cpuinfo),
            cpus: sysconf(libc::_SC_NPROCESSORS_ONLN),
            is_virtual: is_virtual(&features),
            cpu_features: features,
            cache_line_bytes: cache_line_bytes(),
            page_bytes: sysconf(libc::_SC_PAGESIZE),
            kernel: text("/proc/sys/kernel/osrelease"),
            distribution: distribution(),
            numa_nodes: count_entries("/sys/devices/system/node", "node").max(1),
            memory_bytes: sysconf(libc::_SC_PHYS_PAGES) * sysconf(libc::_SC_PAGESIZE),
            huge_pages: huge_page_pools(),
            thp_enabled: chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
            thp_defrag: chosen("/sys/kernel/mm/transparent_hugepage/defrag"),
        }
    }
}

/// A file's trimmed text; `None` if it is not there.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: impl AsRef<Path>) -> Option<u64> {
    text(path)?.parse().ok()
}

fn sysconf(name: libc::c_int) -> u64 {
    // SAFETY: sysconf only reads; an unknown name gives -1.
    unsafe { libc::sysconf(name) }.try_into().unwrap_or(0)
}

fn cpuinfo_value<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    if let Some(model) = cpuinfo_value(cpuinfo, "model name") {
        return Some(model.to_owned());
    }
    let implementer = cpuinfo_value(cpuinfo, "CPU implementer")?;
    Some(format!("implementer {implementer} part {}", cpuinfo_value(cpuinfo, "CPU part")?))
}

fn cpu_features(cpuinfo: &str) -> Vec<String> {
    let flags = cpuinfo_value(cpuinfo, "flags").or_else(|| cpuinfo_value(cpuinfo, "Features"));
    let mut features: Vec<String> =
        flags.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
    features.sort();
    features.dedup();
    features
}

/// x86 has a CPUID bit for it. Arm has none, and firmware names are not dependable.
fn is_virtual(features: &[String]) -> Option<bool> {
    cfg!(target_arch = "x86_64").then(|| features.iter().any(|feature| feature == "hypervisor"))
}

fn cache_line_bytes() -> Option<u64> {
    number("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size")
        .or_else(|| Some(sysconf(libc::_SC_LEVEL1_DCACHE_LINESIZE)).filter(|bytes| *bytes > 0))
}

fn distribution() -> Option<String> {
    let release = text("/etc/os-release")?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn count_entries(folder: &str, prefix: &str) -> u64 {
    let is_numbered =
        |name: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.flatten().filter(|entry| is_numbered(&entry.file_name().to_string_lossy())).count()
        as u64
}

fn huge_page_pools() -> Vec<HugePagePool> {
    let Ok(entries) = fs::read_dir("/sys/kernel/mm/hugepages") else { return Vec::new() };
    let mut pools: Vec<HugePagePool> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let count = |file: &str| number(entry.path().join(file)).unwrap_or(0);
            let (pool, free) = (count("nr_hugepages"), count("free_hugepages"));
            Some(HugePagePool { bytes: kib * 1024, pool, free })
        })
        .collect();
    pools.sort_by_key(|pool| pool.bytes);
    pools
}

/// The bracketed word of a file such as `always [madvise] never`.
fn chosen(path: &str) -> Option<String> {
    let text = text(path)?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}
