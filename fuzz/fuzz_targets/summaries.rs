#![no_main]

#[path = "../../tests/fuzz/summaries.rs"]
#[allow(dead_code)]
mod summaries;

libfuzzer_sys::fuzz_target!(|input: &[u8]| summaries::check(input));
