//! What a census says of ELF images, as the specification has it.
#![allow(dead_code)] // Fields are declared to be checked, not read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    asked: String,
    symbol: String,
    raw: String,
    address: String,
    bytes: u64,
    instructions: u64,
    counts: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Census {
    arch: String,
    build_id: Option<String>,
    functions: Vec<Function>,
    missing: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageCensus {
    path: String,
    member: Option<String>,
    arch: String,
    kind: String,
    build_id: Option<String>,
    stripped: bool,
    language: Option<String>,
    counts: BTreeMap<String, u64>,
    unverified: BTreeMap<String, u64>,
    helpers: Vec<Helper>,
    coverage: Coverage,
    sites: Vec<Site>,
    facts: ImageFacts,
    exports_hints: BTreeMap<String, HintsOf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Helper {
    name: String,
    section: Option<String>,
    address: u64,
    calls: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    text_bytes: u64,
    covered: f64,
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    kind: String,
    facts: BTreeMap<String, Value>,
    function: Option<String>,
    section: Option<String>,
    address: u64,
    length: u64,
    listing: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFacts {
    atomics: String,
    min_load_align: Option<u64>,
    constructor: Option<bool>,
    page_size_string: bool,
    jemalloc_lg_page: Option<u32>,
    checksum_tables: Vec<String>,
    bti: bool,
    pac: bool,
    section_align: BTreeMap<String, u64>,
    needed: Vec<String>,
    more: BTreeMap<String, u64>,
    cut: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintsOf {
    pause: u64,
    hints: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectFile {
    path: String,
    member: Option<String>,
    arch: String,
    kind: String,
    build_id: Option<String>,
    interpreter: Option<String>,
    soname: Option<String>,
    needed: Vec<String>,
    stripped: bool,
    compilers: Vec<String>,
    symbols: Vec<ObjectSymbol>,
    functions: Option<Vec<String>>,
    references: Vec<ObjectReference>,
    missing: Vec<String>,
    contents: Option<Vec<ObjectContent>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectContent {
    name: String,
    kind: String,
    bytes: u64,
    digest: String,
    shape: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectSymbol {
    name: String,
    kind: String,
    address: u64,
    bytes: u64,
    offset: Option<u64>,
    exported: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectReference {
    function: String,
    symbol: String,
    address: u64,
    offset: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedFile {
    path: String,
    member: Option<String>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surveyed {
    images: u64,
    refused: u64,
}
