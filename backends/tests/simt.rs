//! The targets `opencl` and `cuda`: what they print. What that computes is tested where there are drivers.

mod common;

use common::{chain_with_its_first_product, depth, generate, golden, summary, try_generate};
use tensorize_backends::simt::{CUDA, OPENCL};
use tensorize_ir::guard::{Extent, Footprint, Tier};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::tensir::Function;

/// Footprints of arrays that start with their element 0.
fn from_zero(f: &Function) -> Vec<Footprint> {
    let names = f.params.iter().filter_map(|p| match p {
        Param::Array { name, .. } => Some(name),
        Param::Scalar { .. } => None,
    });
    let footprint = |name: &tensorize_ir::index::Sym| Footprint {
        extent: Extent {
            array: name.clone(),
            lo: Idx::constant(0),
            hi: Idx::constant(1),
        },
        reads: true,
        writes: true,
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    names.map(footprint).collect()
}

#[test]
fn a_kernel_in_both_languages() {
    let f = summary("screen");
    for (target, name) in [(&OPENCL, "screen.opencl.cl"), (&CUDA, "screen.cuda.cu")] {
        let g = try_generate(target, &f, Tier::Exact, &from_zero(&f)).unwrap();
        golden(name, &g.files[0].1);
    }
}

#[test]
fn several_kernels_of_one_summary() {
    let f = summary("softmax");
    let g = generate(&OPENCL, &f, Tier::Real);
    golden("softmax.opencl.cl", &g.files[0].1);
    assert!(g.entry.contains(' '), "{}", g.entry);
}

/// The host makes room, asks how many rounds there are, and has the kernels of a round run so often.
#[test]
fn kernels_in_rounds() {
    let f = summary("over_time");
    let g = try_generate(&OPENCL, &f, Tier::Exact, &from_zero(&f)).unwrap();
    golden("over_time.opencl.cl", &g.files[0].1);
    let names: Vec<&str> = g.entry.split(' ').collect();
    assert!(
        matches!(names[..], [_, "+4", "[", _, _, _, _, "]"]),
        "{names:?}"
    );
}

#[test]
fn a_product_of_matrices() {
    let f = summary("matmul");
    let g = try_generate(&OPENCL, &f, Tier::Exact, &from_zero(&f)).unwrap();
    golden("matmul.opencl.cl", &g.files[0].1);
}

/// A number of rounds that C says with `?` is one operand of the comparison.
#[test]
fn rounds_that_are_chosen_are_counted() {
    for (text, rounds) in [
        (
            "func @f(a: const ptr<i32>, n: i32) {
               %a = view a[#0] : tensor<(n - 5*floordiv(n, 5)) x i32>
               %zero = constant 0:i32
               %sum = reduce %a, %zero, reducer = add, dimensions = [0]
               return %sum
             }",
            1,
        ),
        (
            "func @f(a: const ptr<i32>, b: const ptr<i32>, c: ptr<i32>, m: i64, n: i64, k: i64) {
               %a = view a[#0*k + #1] : tensor<m x (k - 5*floordiv(k, 5)) x i32>
               %b = view b[#0*n + #1] : tensor<(k - 5*floordiv(k, 5)) x n x i32>
               %start = constant 0:i32
               %c = dot_general %a, %b, %start, contracting = [1 x 0]
               store c[#0*n + #1] = %c
             }",
            2,
        ),
    ] {
        let f: Function = text.parse().unwrap();
        let g = try_generate(&OPENCL, &f, Tier::Exact, &from_zero(&f)).unwrap();
        let code = &g.files[0].1;
        let lines = code
            .lines()
            .filter(|l| l.contains("for (") && l.contains('?'));
        let heads: Vec<&str> = lines.filter_map(|l| l.split(';').nth(1)).collect();
        assert_eq!(heads.len(), rounds, "{code}");
        for head in heads {
            let (_, right) = head.split_once(" < ").unwrap();
            assert!(right.starts_with('('), "{head}\n{code}");
        }
    }
}

#[test]
fn what_a_device_rounds_as_it_likes_is_refused_at_tier_exact() {
    let why = try_generate(&OPENCL, &summary("softmax"), Tier::Exact, &[]).unwrap_err();
    assert!(why.contains("`exponential` is rounded"), "{why}");
}

/// A kernel of its own fills the result that the next one reads.
#[test]
fn results_are_not_computed_again() {
    let f: Function = chain_with_its_first_product().parse().unwrap();
    let g = try_generate(&OPENCL, &f, Tier::Exact, &from_zero(&f)).unwrap();
    assert_eq!(g.entry.split(' ').count(), 2, "{}", g.entry);
    assert_eq!(depth(&g.loopir.unwrap().body), 3);
}
