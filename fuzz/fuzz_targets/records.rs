#![no_main]

#[path = "../../tests/fuzz/records.rs"]
#[allow(dead_code)]
mod records;

libfuzzer_sys::fuzz_target!(|input: &[u8]| records::check(input));
