//! The compiled plans: one function per query, made by Cranelift at run time.
//!
//! `function (columns, rows, results, scratch)` adds `rows` rows to the results. It is called for
//! tiles of 1024 rows, so that all loops inside it find the tile in the first-level cache; at ninety
//! sums a call works for several microseconds, in which its own cost is lost.
//!
//! Memory is never writable and executable at once (cranelift-jit switches it over in
//! `finalize_definitions`, which also flushes instruction caches where the CPU needs it). It lives
//! as long as the plan: `run` borrows the plan, so nothing can be executing when it is freed. The
//! functions call nothing, so the distance to the executable does not matter; calls would have to be
//! far (`use_colocated_libcalls` is off).

mod body;
mod function;
mod narrow;

use std::sync::Mutex;

use assay_primitives::Called;
use cranelift_codegen::ir::{AbiParam, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};

use crate::data::{Column, ColumnType};
use crate::error::PlanError;
use crate::plan::{Code, Executor};
use crate::resolve::Resolved;

/// Rows per call.
const TILE: usize = 1024;

/// What one value of the compiled code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// One row in a general register.
    Scalar,
    /// Two rows in a vector register, or four where 32 bits are enough for each.
    Simd,
}

impl Lane {
    fn symbol(self) -> &'static str {
        match self {
            Lane::Scalar => "assay_plan_cranelift_scalar",
            Lane::Simd => "assay_plan_cranelift_simd",
        }
    }
}

type TileFunction = unsafe extern "C" fn(*const *const u8, usize, *mut i64, *mut i64);

/// A compiled query.
pub(crate) struct Jit {
    function: Called<TileFunction>,
    bytes: usize,
    symbol: &'static str,
    /// The columns whose addresses the function takes, in its order.
    columns: Vec<usize>,
    /// The module whose memory the function is in; taken only by `drop`.
    module: Mutex<Option<JITModule>>,
}

impl Jit {
    pub fn new(resolved: &Resolved, types: &[ColumnType], lane: Lane) -> Result<Self, PlanError> {
        let mut module = new_module()?;
        let columns = resolved.columns_read();
        let mut context = module.make_context();
        let pointer = module.target_config().pointer_type();
        if pointer != types::I64 {
            return Err(PlanError::Compiler(format!("{pointer} addresses, 64 bits are needed")));
        }
        context.func.signature.call_conv = module.target_config().default_call_conv;
        context.func.signature.params.extend([AbiParam::new(pointer); 4]);
        let id = module
            .declare_function(lane.symbol(), Linkage::Export, &context.func.signature)
            .map_err(compiler)?;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let mut building = FunctionBuilderContext::new();
        let source = function::Source { resolved, columns: &columns, types, lane };
        source.build(&mut context.func, &mut building, module.target_config());
        module.define_function(id, &mut context).map_err(compiler)?;
        let bytes = context.compiled_code().map_or(0, |code| code.code_buffer().len());
        module.finalize_definitions().map_err(compiler)?;
        let address = module.get_finalized_function(id);
        // SAFETY: the module compiled a function of this signature and calling convention at this
        // address, and its memory is executable since `finalize_definitions`.
        let function = unsafe { std::mem::transmute::<*const u8, TileFunction>(address) };
        let function = Called::new(function);
        let module = Mutex::new(Some(module));
        Ok(Self { function, bytes, symbol: lane.symbol(), columns, module })
    }
}

fn new_module() -> Result<JITModule, PlanError> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("enable_verifier", verifier),
    ] {
        flags.set(name, value).map_err(compiler)?;
    }
    let isa = cranelift_native::builder()
        .map_err(compiler)?
        .finish(settings::Flags::new(flags))
        .map_err(compiler)?;
    Ok(JITModule::new(JITBuilder::with_isa(isa, default_libcall_names())))
}

fn compiler(error: impl std::fmt::Display) -> PlanError {
    PlanError::Compiler(error.to_string())
}

impl Executor for Jit {
    fn add(&self, columns: &[Column], rows: usize, results: &mut [i64]) {
        let mut scratch = vec![0_i64; self.columns.len() * TILE];
        let mut addresses = vec![std::ptr::null(); self.columns.len()];
        for begin in (0..rows).step_by(TILE) {
            for (address, &place) in addresses.iter_mut().zip(&self.columns) {
                *address = columns[place].address_of(begin);
            }
            let rows = TILE.min(rows - begin);
            // SAFETY: the plan checked that the columns have the types it was compiled for and
            // equal lengths, so `rows` values follow each address; the results are one per
            // aggregate; the scratch has TILE words per column; the module is alive, as `self` is.
            unsafe {
                (self.function.function())(
                    addresses.as_ptr(),
                    rows,
                    results.as_mut_ptr(),
                    scratch.as_mut_ptr(),
                );
            }
        }
    }

    fn code(&self) -> Code {
        Code { address: self.function.address(), bytes: Some(self.bytes), symbol: self.symbol }
    }

    fn machine_code(&self) -> Option<&[u8]> {
        // SAFETY: the function is this long, readable, never written again, and freed by `drop`
        // only, which the borrow of `self` keeps away.
        Some(unsafe {
            std::slice::from_raw_parts(self.function.function() as *const u8, self.bytes)
        })
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(module) = module.take() {
            // SAFETY: `self` is borrowed exclusively, so no `run` is executing the function and
            // nobody holds its code; `Code::address` is a number that nothing calls.
            unsafe { module.free_memory() };
        }
    }
}
