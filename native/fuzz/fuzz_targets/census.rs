#![no_main]

#[path = "../src/census.rs"]
mod census;

libfuzzer_sys::fuzz_target!(|input: &[u8]| census::check(input));
