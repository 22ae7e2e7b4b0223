//! Counting functions that were asked for by name or by address.

use std::collections::BTreeMap;

use crate::image::{FunctionSymbol, InstructionSet, Parsed};
use crate::{a64, x86_64};

/// How many instructions of each class a function has.
pub type Counts = BTreeMap<&'static str, u64>;

/// One counted function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// What the question was: a name or an address.
    pub asked: String,
    /// The function.
    pub symbol: FunctionSymbol,
    /// All its instructions, padding excluded.
    pub instructions: u64,
    /// Instructions by class; every class of the architecture is there, zeros included.
    pub counts: Counts,
}

/// The answer to a list of questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// What was found, in the order of the questions.
    pub functions: Vec<Function>,
    /// Questions that no function answers.
    pub missing: Vec<String>,
}

/// Counts the functions with these names (as written in the symbol table, or demangled) and the
/// functions that hold these link-time addresses; of those that have no symbol, without a name.
pub fn take(file: &Parsed<'_>, names: &[String], addresses: &[u64]) -> Census {
    let functions = file.functions();
    let mut census = Census::default();
    for name in names {
        let is_it =
            |function: &&FunctionSymbol| function.raw == *name || function.demangled == *name;
        let found: Vec<_> = functions.iter().filter(is_it).collect();
        census.answer(file, name.clone(), &found);
    }
    let mut frames = None;
    for address in addresses {
        let holds = |function: &&FunctionSymbol| {
            (function.address..function.address + function.bytes).contains(address)
        };
        let mut found: Vec<_> = functions.iter().find(holds).into_iter().collect();
        if found.is_empty() {
            let unnamed = frames.get_or_insert_with(|| file.frames());
            found.extend(unnamed.iter().find(holds));
        }
        census.answer(file, format!("{address:#x}"), &found);
    }
    census
}

/// Counts machine code that is in no file, of the architecture that runs this: what a compiler
/// made at run time. Returns all instructions, padding excluded, and those of each class.
pub fn of_code(code: &[u8], address: u64) -> (u64, Counts) {
    if cfg!(target_arch = "aarch64") { a64::count(code) } else { x86_64::count(code, address) }
}

impl Census {
    fn answer(&mut self, file: &Parsed<'_>, asked: String, found: &[&FunctionSymbol]) {
        let counted: Vec<Function> =
            found.iter().filter_map(|symbol| count(file, &asked, symbol)).collect();
        if counted.is_empty() {
            self.missing.push(asked);
        }
        self.functions.extend(counted);
    }
}

fn count(file: &Parsed<'_>, asked: &str, symbol: &FunctionSymbol) -> Option<Function> {
    let code = file.code(symbol)?;
    let (instructions, counts) = match file.set {
        InstructionSet::X86_64 => x86_64::count(code, symbol.address),
        InstructionSet::A64 => a64::count(code),
    };
    Some(Function { asked: asked.to_owned(), symbol: symbol.clone(), instructions, counts })
}
