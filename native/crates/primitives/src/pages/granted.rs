//! Whether the kernel gave the pages that were asked for.

use super::PageMode;
use super::pool::Pool;
use crate::PrimitiveError;
use crate::smaps::Mapped;

/// The share that must be huge where the kernel only promises to try.
const TRANSPARENT_SHARE: f64 = 0.9;

/// Refuses a mapping that holds fewer huge pages than its mode asks for.
pub(super) fn check(mode: PageMode, mapped: &Mapped) -> Result<(), PrimitiveError> {
    let (huge, share) = match mode {
        PageMode::Small => return Ok(()),
        PageMode::Transparent => (mapped.anon_huge_bytes, TRANSPARENT_SHARE),
        PageMode::Collapse => (mapped.anon_huge_bytes, 1.0),
        PageMode::Hugetlb2m | PageMode::Hugetlb1g => (mapped.private_hugetlb_bytes, 1.0),
    };
    let wanted_page = Pool::of(mode).map_or(0, |pool| pool.page_bytes() as u64);
    let has_size = wanted_page == 0 || mapped.kernel_page_bytes == wanted_page;
    if mapped.bytes > 0 && huge as f64 >= share * mapped.bytes as f64 && has_size {
        return Ok(());
    }
    let what = format!(
        "pages `{}`: of {} bytes, {huge} are in huge pages (kernel page size {} bytes), by \
         /proc/self/smaps of the arena",
        mode.name(),
        mapped.bytes,
        mapped.kernel_page_bytes,
    );
    let next = match mode {
        PageMode::Hugetlb2m | PageMode::Hugetlb1g => {
            "enlarge the pool under /sys/kernel/mm/hugepages and read its number back"
        }
        _ => {
            "see that /sys/kernel/mm/transparent_hugepage/enabled is not `never`, and free or \
             compact memory (`echo 1 > /proc/sys/vm/compact_memory` as root)"
        }
    };
    Err(PrimitiveError::Missing { what, next: next.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(anon: u64, pool: u64, page: u64) -> Mapped {
        Mapped {
            bytes: 1000,
            anon_huge_bytes: anon,
            private_hugetlb_bytes: pool,
            eligible_bytes: anon,
            kernel_page_bytes: page,
        }
    }

    #[test]
    fn a_partial_grant_is_refused_with_both_numbers() {
        let (two, giant) = (2 << 20, 1 << 30);
        for (mode, obtained, is_enough) in [
            (PageMode::Small, mapped(0, 0, 4096), true),
            (PageMode::Transparent, mapped(950, 0, 4096), true),
            (PageMode::Transparent, mapped(500, 0, 4096), false),
            (PageMode::Collapse, mapped(1000, 0, 4096), true),
            (PageMode::Collapse, mapped(950, 0, 4096), false),
            (PageMode::Hugetlb2m, mapped(0, 1000, two), true),
            (PageMode::Hugetlb2m, mapped(0, 500, two), false),
            (PageMode::Hugetlb1g, mapped(0, 1000, giant), true),
            (PageMode::Hugetlb1g, mapped(0, 1000, two), false),
        ] {
            let checked = check(mode, &obtained);
            assert_eq!(checked.is_ok(), is_enough, "{mode:?} {obtained:?}");
            if let Err(PrimitiveError::Missing { what, next }) = checked {
                assert!(what.contains("of 1000 bytes") && what.contains(mode.name()), "{what}");
                assert!(next.contains("/sys/kernel/mm/"), "{next}");
            }
        }
    }
}
