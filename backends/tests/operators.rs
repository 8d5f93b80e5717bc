//! Every operator on every type, edges included, in C against the interpreter.

mod common;

use common::operators::all;
use common::{Random, assert_same, call, expected, run_c, try_generate};
use tensorize_backends::cpu::Cpu;
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Inputs;
use tensorize_ir::tensir::Function;

fn calls(f: &Function) -> Vec<Inputs> {
    vec![call(f, &[("n", 300)], &mut Random(11), false)]
}

#[test]
fn in_c() {
    for (f, tier) in all() {
        let calls = calls(&f);
        let g = try_generate(&Cpu, &f, tier, &[]).unwrap();
        let text = &g.files[0].1;
        assert_eq!(text.contains("TZ_VECTORS;"), tier == Tier::Real, "{text}");
        let got = run_c(&f, &g.entry, text, &calls);
        // The interpreter's library is Rust's.
        assert_same(&f.name, tier, &got[0], &expected(&f, &calls[0]));
    }
}
