//! The request of `object`.

use std::path::PathBuf;

use serde::Deserialize;

/// Files, and what is asked of each beside what it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectRequest {
    pub paths: Vec<PathBuf>,
    /// Names as in the symbol table.
    #[serde(default)]
    pub symbols: Vec<String>,
    #[serde(default)]
    pub functions: Option<ObjectFunctions>,
    #[serde(default)]
    pub references: Vec<ObjectReference>,
    #[serde(default)]
    pub contents: bool,
}

/// Which functions are listed by name.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFunctions {
    All,
    Exported,
}

/// A function, and the variable that it refers to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectReference {
    pub function: String,
    pub symbol: String,
}
