//! What the kernel really gave one mapping: /proc/self/smaps for an address range.
//!
//! Asking for huge pages proves nothing; `AnonHugePages`, `Private_Hugetlb` and `KernelPageSize` of
//! the very mapping do (proc_pid_smaps(5)). Linux 6.18 lists a page of 1 GiB that one process alone
//! has mapped privately under `Shared_Hugetlb` now and then, so pages of a pool are both together.

use std::ops::Range;

/// Sums over the mappings that lie inside an address range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Bytes mapped.
    pub bytes: u64,
    /// Bytes backed by transparent huge pages.
    pub anon_huge_bytes: u64,
    /// Bytes backed by the huge page pool, whether the kernel calls them private or shared.
    pub private_hugetlb_bytes: u64,
    /// Touched bytes of no file that the kernel would put into transparent huge pages as its policy
    /// and what the process asked for are.
    pub eligible_bytes: u64,
    /// The smallest page size the kernel states for any of the mappings; 0 without one.
    pub kernel_page_bytes: u64,
}

impl Mapped {
    /// Adds another range.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.anon_huge_bytes += other.anon_huge_bytes;
        self.private_hugetlb_bytes += other.private_hugetlb_bytes;
        self.eligible_bytes += other.eligible_bytes;
        let sizes = [self.kernel_page_bytes, other.kernel_page_bytes];
        self.kernel_page_bytes = sizes.into_iter().filter(|size| *size > 0).min().unwrap_or(0);
    }
}

/// Reads this process's mappings inside `range`.
pub fn read(range: Range<usize>) -> std::io::Result<Mapped> {
    Ok(parse(&std::fs::read_to_string("/proc/self/smaps")?, range))
}

/// What this process has touched of memory without a file, wherever it lies: its heap, first of all.
/// `bytes` are such bytes; `kernel_page_bytes` is the largest page of a pool among them, else the
/// smallest page of all.
pub fn touched() -> std::io::Result<Mapped> {
    Ok(parse_touched(&std::fs::read_to_string("/proc/self/smaps")?))
}

fn parse_touched(text: &str) -> Mapped {
    let mut total = Mapped::default();
    let (mut page, mut of_pool, mut anonymous) = (0, 0, 0);
    for (name, bytes) in text.lines().filter_map(field) {
        add(&mut total, &mut anonymous, name, bytes);
        match name {
            "KernelPageSize" => page = bytes,
            "Anonymous" => total.bytes += bytes,
            "Private_Hugetlb" | "Shared_Hugetlb" => {
                total.bytes += bytes;
                of_pool = if bytes > 0 { page.max(of_pool) } else { of_pool };
            }
            _ => {}
        }
    }
    if of_pool > 0 {
        total.kernel_page_bytes = of_pool;
    }
    total
}

fn parse(text: &str, range: Range<usize>) -> Mapped {
    let mut total = Mapped::default();
    let (mut is_inside, mut anonymous) = (false, 0);
    for line in text.lines() {
        if let Some(mapping) = address_range(line) {
            is_inside = mapping.start >= range.start && mapping.end <= range.end;
            if is_inside {
                total.bytes += (mapping.end - mapping.start) as u64;
            }
        } else if is_inside && let Some((name, bytes)) = field(line) {
            add(&mut total, &mut anonymous, name, bytes);
        }
    }
    total
}

/// Adds a field of a mapping; `anonymous` is what this mapping has touched of no file.
fn add(total: &mut Mapped, anonymous: &mut u64, name: &str, bytes: u64) {
    match name {
        "Anonymous" => *anonymous = bytes,
        "THPeligible" if bytes > 0 => total.eligible_bytes += *anonymous,
        "AnonHugePages" => total.anon_huge_bytes += bytes,
        "Private_Hugetlb" | "Shared_Hugetlb" => total.private_hugetlb_bytes += bytes,
        "KernelPageSize" if total.kernel_page_bytes == 0 => total.kernel_page_bytes = bytes,
        "KernelPageSize" => total.kernel_page_bytes = total.kernel_page_bytes.min(bytes),
        _ => {}
    }
}

fn address_range(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// The name of a field and its value, in bytes if it has a unit.
fn field(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.split_once(':')?;
    let value = value.trim();
    let Some(kib) = value.strip_suffix(" kB") else {
        return Some((name, value.parse().ok()?));
    };
    let kib: u64 = kib.trim().parse().ok()?;
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

    #[test]
    fn a_page_of_a_pool_counts_under_either_name() {
        let text = TEXT.replace("Private_Hugetlb:    2048", "Shared_Hugetlb:     2048");
        let range = 0x7f00_0040_0000..0x7f00_0060_0000;
        assert_eq!(parse(&text, range.clone()), parse(TEXT, range));
        assert_eq!(parse_touched(&text), parse_touched(TEXT));
    }

    #[test]
    fn of_a_whole_process_counts_what_was_touched_and_is_no_file() {
        let file = "55d000000000-55d000400000 r--p 00000000 fe:00 7 /usr/bin/x\n\
            Size:               4096 kB\nKernelPageSize:        4 kB\nAnonymous:            12 kB\n\
            AnonHugePages:         0 kB\nPrivate_Hugetlb:       0 kB\nTHPeligible:    0\n";
        let text = TEXT
            .replace("AnonHugePages:      2048", "Anonymous: 2048 kB\nAnonHugePages: 2048")
            .replace("VmFlags", "THPeligible:           1\nVmFlags");
        let found = parse_touched(&format!("{file}{text}"));
        assert_eq!(found.bytes, (4 << 20) + (12 << 10));
        assert_eq!((found.anon_huge_bytes, found.private_hugetlb_bytes), (2 << 20, 2 << 20));
        assert_eq!(found.eligible_bytes, 2 << 20, "not of a file");
        assert_eq!(found.kernel_page_bytes, 2 << 20, "of the pool's pages, not of the heap's");
        assert_eq!(parse_touched(file).kernel_page_bytes, 4096);
    }
}
