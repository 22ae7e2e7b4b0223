//! Eight-byte loads of a chosen alignment.

use assay_primitives::smaps::Mapped;
use assay_primitives::unaligned::{self, Alignment, Pages, assay_unaligned_load};
use assay_primitives::{Address, Arena, Called};
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::MicroRequest;

/// Runs the workload. All threads load from the same pages: nothing is written.
pub fn run(request: &MicroRequest, output: &mut Output) -> Result<(), Failure> {
    frame::run(request, output, |_| {
        let arena = Arena::new(Pages::BYTES, request.parts.pages)?;
        let pages = Pages::new(&arena)
            .ok_or_else(|| anyhow::anyhow!("the arena has no room for the pages"))?;
        let function = Called::new(assay_unaligned_load as unaligned::Function);
        Ok(UnalignedKind { function, alignment: request.parts.alignment, pages, arena })
    })
}

struct UnalignedKind {
    function: Called<unaligned::Function>,
    alignment: Alignment,
    pages: Pages,
    arena: Arena,
}

impl Kind for UnalignedKind {
    const NAME: &'static str = "unaligned";
    fn least_ns(&self) -> f64 {
        0.25
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    /// `load_offset_bytes` is where in a page of 4 KiB the loads really lie.
    fn chosen(&self) -> Value {
        let offset = self.pages.start(self.alignment).addr() % 4096;
        json!({"alignment": self.alignment.name(), "load_offset_bytes": offset})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.arena.obtained()?)
    }

    fn share(&self, _: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let (function, alignment) = (self.function, self.alignment);
        Ok(Box::new(UnalignedShare { function, alignment, pages: &self.pages }))
    }
}

struct UnalignedShare<'a> {
    function: Called<unaligned::Function>,
    alignment: Alignment,
    pages: &'a Pages,
}

impl Share for UnalignedShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the pages are borrowed.
        let sum = unsafe { (self.function.function())(self.pages.start(self.alignment), times) };
        sum == Pages::expected(self.alignment, times)
    }
}
