//! The parsers of TensIR on inputs near to those of a corpus: a value that is written as it was read, or an error.

#[path = "../../tests/fuzz/near.rs"]
mod near;
#[path = "../../tests/fuzz/summaries.rs"]
mod summaries;

use proptest::prelude::*;
use summaries::{check, reads_back};
use tensorize_ir::tensir::Function;

#[test]
fn the_corpus_is_read() {
    let corpus = near::corpus("summaries");
    let read = |bytes: &&Vec<u8>| std::str::from_utf8(bytes).is_ok_and(reads_back::<Function>);
    assert!(corpus.iter().filter(read).count() >= 10);
}

proptest! {
    #![proptest_config(near::config(4000))]

    #[test]
    fn near_summaries(input in near::near(near::corpus("summaries"))) {
        check(&input);
    }
}
