//! What is read of TensIR is written so that it reads back as the same.

use std::fmt::Display;
use std::str::FromStr;
use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::index::Idx;
use tensorize_ir::tensir::{Function, TensorType};

/// Fails for an input that is read, and written as something else.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    reads_back::<Function>(&text);
    // The same words, for what stands in records on its own.
    for part in text.lines().take(4).flat_map(|l| l.split(" : ")) {
        reads_back::<TensorType>(part);
        reads_back::<Idx>(part);
        reads_back::<Guard>(part);
        reads_back::<Footprint>(part);
    }
}

/// Whether a text is read at all.
pub fn reads_back<T: FromStr + Display + PartialEq>(text: &str) -> bool {
    let Ok(read) = text.parse::<T>() else {
        return false;
    };
    let again = read.to_string();
    let same = again.parse::<T>().is_ok_and(|a| a == read);
    assert!(
        same,
        "{text:?} is written as {again:?}, which is something else"
    );
    true
}
