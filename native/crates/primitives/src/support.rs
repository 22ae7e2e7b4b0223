//! What a CPU has for a choice, and the error that says what it lacks.

use crate::PrimitiveError;

/// The function of a choice, or why there is none.
#[derive(Clone, Copy, Debug)]
pub enum Support<F> {
    /// The function that does it here.
    Here(F),
    /// The first CPU feature that is missing, as /proc/cpuinfo writes it.
    Lacking(&'static str),
    /// The choice belongs to another instruction set.
    Foreign,
}

impl<F> Support<F> {
    /// The function; else an error that names the choice (`atomics `lse``) and says `next`.
    pub fn require(self, choice: &str, next: &str) -> Result<F, PrimitiveError> {
        let lack = match self {
            Support::Here(function) => return Ok(function),
            Support::Lacking(feature) => format!("needs CPU feature {feature}"),
            Support::Foreign => "belongs to another CPU architecture".to_owned(),
        };
        let what = format!("{choice} {lack}; this is {}", std::env::consts::ARCH);
        Err(PrimitiveError::Missing { what, next: next.to_owned() })
    }
}
