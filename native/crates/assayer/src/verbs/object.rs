//! The verb `object`: what ELF files say of themselves.

use assay_disasm::description::{Asked, Described, Listed, describe};

use super::typed;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{ObjectFunctions, ObjectReference, ObjectRequest};
use crate::protocol::response::Surveyed;

/// Runs the verb: one message for each image or refusal.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let ObjectRequest { paths, symbols, functions, references, contents } = typed(request)?;
    let asked = Asked {
        symbols,
        functions: functions.map(|functions| match functions {
            ObjectFunctions::All => Listed::All,
            ObjectFunctions::Exported => Listed::Exported,
        }),
        references: references
            .into_iter()
            .map(|ObjectReference { function, symbol }| (function, symbol))
            .collect(),
        contents,
    };
    let mut done = Surveyed::default();
    for path in &paths {
        describe(path, &asked, &mut |described| match described {
            Described::Object(object) => {
                done.images += 1;
                output.write("object", &object)
            }
            Described::Refused(refused) => {
                done.refused += 1;
                output.write("refused", &refused)
            }
        })?;
    }
    output.write("result", &done)
}
