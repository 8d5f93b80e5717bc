//! The parsers of TensIR on inputs near to those of a corpus: a value that is written as it was read, or an error.

#[path = "../../tests/fuzz/near.rs"]
mod near;

use proptest::prelude::*;
use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::index::Idx;
use tensorize_ir::tensir::{Function, TensorType};

/// What is read is written so that it reads back as the same.
fn reads_back<T: std::str::FromStr + ToString + PartialEq>(
    text: &str,
) -> Result<bool, TestCaseError> {
    let Ok(read) = text.parse::<T>() else {
        return Ok(false);
    };
    let again = read.to_string();
    let same = again.parse::<T>().is_ok_and(|a| a == read);
    prop_assert!(
        same,
        "{text:?} is written as {again:?}, which is something else"
    );
    Ok(true)
}

#[test]
fn the_corpus_is_read() {
    let corpus = near::corpus("summaries");
    let read = |bytes: &&Vec<u8>| {
        std::str::from_utf8(bytes).is_ok_and(|text| reads_back::<Function>(text).unwrap())
    };
    assert!(corpus.iter().filter(read).count() >= 10);
}

proptest! {
    #![proptest_config(near::config(4000))]

    #[test]
    fn summaries(input in near::near(near::corpus("summaries"))) {
        let text = String::from_utf8_lossy(&input);
        reads_back::<Function>(&text)?;
        // The same words, for what stands in records on its own.
        for part in text.lines().take(4).flat_map(|l| l.split(" : ")) {
            reads_back::<TensorType>(part)?;
            reads_back::<Idx>(part)?;
            reads_back::<Guard>(part)?;
            reads_back::<Footprint>(part)?;
        }
    }
}
