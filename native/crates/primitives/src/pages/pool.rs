//! The kernel's pools of huge pages, one for each size.

use super::PageMode;
use crate::PrimitiveError;

/// One pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    page_shift: u32,
}

impl Pool {
    /// The pool that a mode draws on, if any.
    pub(super) fn of(mode: PageMode) -> Option<Self> {
        match mode {
            PageMode::Hugetlb2m => Some(Self { page_shift: 21 }),
            PageMode::Hugetlb1g => Some(Self { page_shift: 30 }),
            PageMode::Small | PageMode::Transparent | PageMode::Collapse => None,
        }
    }

    /// The size of its pages.
    pub(super) fn page_bytes(self) -> usize {
        1 << self.page_shift
    }

    /// What mmap needs to be told.
    pub(super) fn flags(self) -> libc::c_int {
        libc::MAP_HUGETLB | ((self.page_shift as libc::c_int) << libc::MAP_HUGE_SHIFT)
    }

    fn folder(self) -> String {
        format!("/sys/kernel/mm/hugepages/hugepages-{}kB", self.page_bytes() / 1024)
    }

    fn count(self, name: &str) -> usize {
        let text = std::fs::read_to_string(format!("{}/{name}", self.folder()));
        text.unwrap_or_default().trim().parse().unwrap_or(0)
    }

    /// The error of a mapping that did not fit, with the command that makes it fit.
    pub(super) fn too_small(
        self,
        bytes: usize,
        mode: PageMode,
        error: std::io::Error,
    ) -> PrimitiveError {
        let (name, folder) = (mode.name(), self.folder());
        let size = if self.page_shift == 21 { "2 MiB" } else { "1 GiB" };
        if !std::path::Path::new(&folder).exists() {
            return PrimitiveError::Missing {
                what: format!(
                    "pages `{name}`: this CPU or kernel has no pages of {size} ({error})"
                ),
                next: "choose pages `hugetlb-2m` or `thp`".to_owned(),
            };
        }
        let needed = bytes / self.page_bytes();
        let pool = self.count("nr_hugepages");
        let free = self.count("free_hugepages").saturating_sub(self.count("resv_hugepages"));
        let wanted = pool - free.min(pool) + needed;
        let next = if self.page_shift == 21 {
            format!("as root: sysctl -w vm.nr_hugepages={wanted}")
        } else {
            format!(
                "as root: echo {wanted} > {folder}/nr_hugepages; then read that file back, the \
                 kernel may have granted fewer"
            )
        };
        let what = format!(
            "pages `{name}`: {needed} pages of {size} are needed, {free} are free ({error})"
        );
        PrimitiveError::Missing { what, next }
    }
}
