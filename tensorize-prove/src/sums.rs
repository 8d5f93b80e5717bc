//! Sums of integers, of which the order does not matter: they wrap, and a fold that adds to what it begins with is that plus what
//! it adds to nothing.

use crate::context::Context;
use crate::equal::congruent;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Tier;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// More parts than this are not compared one by one.
const MOST: usize = 6;

/// Whether two integers are sums of the same parts.
pub(crate) fn same_parts(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    let ty = a.ty();
    if !ty.is_int() || ty == ScalarType::I1 || ty != b.ty() {
        return false;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    parts(a, &mut left);
    parts(b, &mut right);
    // What is no sum is compared elsewhere.
    if left.len() != right.len() || !(2..=MOST).contains(&left.len()) {
        return false;
    }
    left.retain(|part| match right.iter().position(|other| other == part) {
        Some(at) => {
            right.remove(at);
            false
        }
        None => true,
    });
    left.into_iter().all(|part| {
        let alike =
            |other: &ElemRef| std::mem::discriminant(&**other) == std::mem::discriminant(&*part);
        let found = (0..right.len())
            .find(|&at| alike(&right[at]) && congruent(ctx, &part, &right[at], tier));
        found.is_some_and(|at| {
            right.remove(at);
            true
        })
    })
}

/// What it is the sum of, modulo 2 to its bits.
fn parts(e: &ElemRef, out: &mut Vec<ElemRef>) {
    match &**e {
        Elem::Binary(BinOp::Add, a, b) => [a, b].into_iter().for_each(|x| parts(x, out)),
        Elem::Const(v) if v.as_int() == 0 => {}
        Elem::Fold(f) if matches!(f.as_reduction(), Some((BinOp::Add, _))) => {
            parts(&f.init, out);
            let init = Elem::constant(Scalar::int(e.ty(), 0));
            let of_nothing = Fold {
                init,
                ..(**f).clone()
            };
            out.push(Arc::new(Elem::Fold(Arc::new(of_nothing))));
        }
        _ => out.push(e.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::same_parts;
    use crate::context::Context;
    use crate::solver::{self, Solver};
    use std::collections::BTreeMap;
    use tensorize_ir::guard::Tier;
    use tensorize_ir::index::Sym;
    use tensorize_ir::loopir::Param;
    use tensorize_ir::scalar::ScalarType;
    use tensorize_ir::text::parse_elem;

    fn same(a: &str, b: &str) -> bool {
        let mut solver = Solver::new(solver::find())
            .expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
        let sizes = BTreeMap::from([(Sym::from("n"), ScalarType::I32)]);
        let mut ctx = Context::new(&mut solver, sizes, vec![]);
        let array = |name: &str, elem| Param::Array {
            name: name.into(),
            elem,
            is_const: true,
            restrict: false,
        };
        let n = Param::Scalar {
            name: "n".into(),
            ty: ScalarType::I32,
        };
        let params = [array("x", ScalarType::I32), array("f", ScalarType::F32), n];
        let [a, b] = [a, b]
            .map(|text| text.replace("NOTHING", "fold(s = 0:i32, k < n, add(s, x[k]))"))
            .map(|text| parse_elem(&text, &params).unwrap_or_else(|e| panic!("{text}: {e}")));
        let (forth, back) = (
            same_parts(&mut ctx, &a, &b, Tier::Exact),
            same_parts(&mut ctx, &b, &a, Tier::Exact),
        );
        assert_eq!(forth, back, "{a} and {b}");
        forth
    }

    #[test]
    fn what_a_fold_begins_with_is_a_part() {
        for (a, b) in [
            ("fold(s = x[n], k < n, add(s, x[k]))", "add(NOTHING, x[n])"),
            (
                "fold(s = add(x[n], x[n + 1]), k < n, add(x[k], s))",
                "add(x[n + 1], add(NOTHING, x[n]))",
            ),
            (
                "add(x[n], fold(s = x[n + 1], k < n, add(s, x[k])))",
                "add(x[n + 1], fold(s = x[n], k < n, add(s, x[k])))",
            ),
            // One after the other.
            (
                "fold(s = fold(t = x[n], j < n, add(t, x[j])), k < n, add(s, x[k]))",
                "add(add(NOTHING, NOTHING), x[n])",
            ),
        ] {
            assert!(same(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn nothing_else_is_left_out() {
        let one_more = "add(NOTHING, x[n])";
        for other in [
            "NOTHING",
            "fold(s = x[n + 1], k < n, add(s, x[k]))",
            "fold(s = x[n], k < n + 1, add(s, x[k]))",
            "fold(s = x[n], k < n, add(s, x[k + 1]))",
            "fold(s = x[n], k < n, maximum(s, x[k]))",
            "fold(s = x[n], k < n, subtract(s, x[k]))",
            "fold(s = x[n], k < n, add(s, s))",
            "fold(s = x[n], k < n, add(add(s, x[k]), s))",
            "add(fold(s = x[n], k < n, add(s, x[k])), x[n])",
            "fold(s = x[n], t = 0:i32, k < n, add(s, x[k]), add(t, s))",
            "convert(i32, fold(s = convert(i64, x[n]), k < n, add(s, convert(i64, x[k]))))",
        ] {
            assert!(!same(one_more, other), "{other}");
        }
        // Two of the one are not one of each.
        assert!(!same(
            "add(add(x[n], x[n]), x[0])",
            "add(add(x[n], x[0]), x[0])"
        ));
        // Only what is added can be taken apart.
        let largest = "fold(s = x[n], k < n, maximum(s, x[k]))";
        let of_nothing = "fold(s = 0:i32, k < n, maximum(s, x[k]))";
        assert!(!same(largest, &format!("add({of_nothing}, x[n])")));
        // The order of floats matters.
        let floats = "fold(s = f[n], k < n, add(s, f[k]))";
        assert!(!same(
            floats,
            "add(fold(s = 0.0:f32, k < n, add(s, f[k])), f[n])"
        ));
    }
}
