//! What the kernel really gave one mapping: /proc/self/smaps for an address range.
//!
//! Asking for huge pages proves nothing; `AnonHugePages`, `Private_Hugetlb` and `KernelPageSize` of
//! the very mapping do (proc_pid_smaps(5)).

use std::ops::Range;

/// Sums over the mappings that lie inside an address range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Bytes mapped.
    pub bytes: u64,
    /// Bytes backed by transparent huge pages.
    pub anon_huge_bytes: u64,
    /// Bytes backed by the huge page pool.
    pub private_hugetlb_bytes: u64,
    /// The smallest page size the kernel states for any of the mappings; 0 without one.
    pub kernel_page_bytes: u64,
}

impl Mapped {
    /// Adds another range.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.anon_huge_bytes += other.anon_huge_bytes;
        self.private_hugetlb_bytes += other.private_hugetlb_bytes;
        let sizes = [self.kernel_page_bytes, other.kernel_page_bytes];
        self.kernel_page_bytes = sizes.into_iter().filter(|size| *size > 0).min().unwrap_or(0);
    }
}

/// Reads this process's mappings inside `range`.
pub fn read(range: Range<usize>) -> std::io::Result<Mapped> {
    Ok(parse(&std::fs::read_to_string("/proc/self/smaps")?, range))
}

fn parse(text: &str, range: Range<usize>) -> Mapped {
    let mut total = Mapped::default();
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(mapping) = address_range(line) {
            is_inside = mapping.start >= range.start && mapping.end <= range.end;
            if is_inside {
                total.bytes += (mapping.end - mapping.start) as u64;
            }
        } else if is_inside && let Some((name, bytes)) = field(line) {
            add(&mut total, name, bytes);
        }
    }
    total
}

fn add(total: &mut Mapped, name: &str, bytes: u64) {
    match name {
        "AnonHugePages" => total.anon_huge_bytes += bytes,
        "Private_Hugetlb" => total.private_hugetlb_bytes += bytes,
        "KernelPageSize" if total.kernel_page_bytes == 0 => total.kernel_page_bytes = bytes,
        "KernelPageSize" => total.kernel_page_bytes = total.kernel_page_bytes.min(bytes),
        _ => {}
    }
}

fn address_range(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

fn field(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.split_once(':')?;
    let kib: u64 = value.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some((name, kib * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n\
        Size:               2048 kB\nKernelPageSize:        4 kB\nAnonHugePages:      2048 kB\n\
        Private_Hugetlb:       0 kB\nVmFlags: rd wr mr\n\
        7f0000400000-7f0000600000 rw-p 00000000 00:0f 1 /anon_hugepage (deleted)\n\
        Size:               2048 kB\nKernelPageSize:     2048 kB\nAnonHugePages:         0 kB\n\
        Private_Hugetlb:    2048 kB\n";

    #[test]
    fn only_mappings_inside_the_range_are_summed() {
        let first = parse(TEXT, 0x7f00_0000_0000..0x7f00_0020_0000);
        assert_eq!(first.anon_huge_bytes, 2 << 20);
        assert_eq!(first.kernel_page_bytes, 4096);
        let second = parse(TEXT, 0x7f00_0040_0000..0x7f00_0060_0000);
        assert_eq!(second.private_hugetlb_bytes, 2 << 20);
        assert_eq!(second.kernel_page_bytes, 2 << 20);
        assert_eq!(parse(TEXT, 0..4096), Mapped::default());
    }
}
