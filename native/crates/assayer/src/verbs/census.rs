//! The verb `census`: what functions of an executable contain.

use assay_disasm::{Function, Image, census};
use serde_json::Value;

use super::typed;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::CensusRequest;
use crate::protocol::response;

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
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
