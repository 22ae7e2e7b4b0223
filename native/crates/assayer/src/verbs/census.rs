//! The verb `census`: what functions of an executable contain, or what whole files do.

use assay_disasm::survey::report::Found;
use assay_disasm::survey::survey;
use assay_disasm::{Function, Image, census};
use serde_json::Value;

use super::typed;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{CensusRequest, SurveyRequest};
use crate::protocol::response;

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
    if request.get("paths").is_some() {
        return files(typed(request)?, output);
    }
    let request: CensusRequest = typed(request)?;
    let addresses: Vec<u64> =
        request.addresses.iter().map(|text| address(text)).collect::<Result<_, _>>()?;
    let image = Image::open(&request.path)?;
    let file = image.parse()?;
    let census = census::take(&file, &request.symbols, &addresses);
    let response = response::Census {
        arch: file.set.name(),
        build_id: file.build_id.clone(),
        functions: census.functions.into_iter().map(function).collect(),
        missing: census.missing,
    };
    output.write("result", &response)
}

/// Surveys whole files, one message for each image or refusal.
fn files(request: SurveyRequest, output: &mut Output) -> Result<(), Failure> {
    give_back_at_once();
    let mut done = response::Surveyed::default();
    for path in &request.paths {
        survey(path, request.sites, &mut |found| match found {
            Found::Image(image) => {
                done.images += 1;
                output.write("census", &image)
            }
            Found::Refused(refused) => {
                done.refused += 1;
                output.write("refused", &refused)
            }
        })?;
    }
    output.write("result", &done)
}

/// Has lists of 128 KiB or more leave the process when they are dropped. Otherwise the C library keeps
/// them for the next ones, once it has seen one go.
fn give_back_at_once() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number of the allocator's.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
}

fn address(text: &str) -> Result<u64, Failure> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16)
        .map_err(|_| Failure::usage(format!("addresses: `{text}` is not a hexadecimal address")))
}

fn function(function: Function) -> response::Function {
    response::Function {
        asked: function.asked,
        symbol: function.symbol.demangled,
        raw: function.symbol.raw,
        address: format!("{:#x}", function.symbol.address),
        bytes: function.symbol.bytes,
        instructions: function.instructions,
        counts: function.counts,
    }
}
