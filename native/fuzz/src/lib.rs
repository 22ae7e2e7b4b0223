//! What must hold of the codecs whatever bytes come, one plain function `check` for each protocol.
//!
//! The fuzz targets call them with bytes that libFuzzer makes up; the test `corpus` of `assay-wire`
//! includes this file and calls them with the bytes in `corpus`, which servers have sent. A check
//! panics when a codec does, when what it says depends on how the bytes were cut into pieces, and
//! when it takes more memory than the bytes that have arrived can account for.

pub mod feed;
pub mod http;
pub mod memcached;
pub mod memory;
pub mod mysql;
pub mod postgres;
pub mod resp;
pub mod stub;
pub mod transcript;
