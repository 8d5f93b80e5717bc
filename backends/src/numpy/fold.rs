//! Reductions, in the order that the tier asks for.

use super::node::Emitter;
use super::py::{Code, Level, dtype};
use crate::Unsupported;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Reducer;

impl Emitter<'_> {
    /// `init ∘ x ∘ x …` over these axes of `x`, which has its full shape. Without `init`, it is zero.
    pub(super) fn reduction(
        &mut self,
        reducer: Reducer,
        ty: ScalarType,
        init: Option<&Code>,
        x: &Code,
        axes: &[usize],
    ) -> Result<Code, Unsupported> {
        let tuple = super::py::tuple(&axes.iter().map(usize::to_string).collect::<Vec<_>>());
        let axis = match axes {
            [one] => one.to_string(),
            _ => tuple.clone(),
        };
        let start = match init {
            Some(init) => init.s.clone(),
            None => format!("{}(0)", dtype(ty)),
        };
        let x_atom = x.at(Level::Atom);
        let call = |s: String| Ok(Code::atom(s, true));
        let plus = |sum: String| {
            Ok(match init {
                None => Code::atom(sum, true),
                Some(init) => Code {
                    s: format!("{} + {sum}", init.at(Level::Sum)),
                    level: Level::Sum,
                    full: true,
                },
            })
        };
        let times = |product: String| {
            let s = format!(
                "{start_at} * {product}",
                start_at = match init {
                    Some(init) => init.at(Level::Product),
                    None => start.clone(),
                }
            );
            Ok(Code {
                s,
                level: Level::Product,
                full: true,
            })
        };
        use BinOp::*;
        match reducer {
            Reducer::Op(op @ (Add | Multiply)) => {
                if ty.is_float() && self.allowed == Tier::Exact {
                    let ufunc = if op == Add { "np.add" } else { "np.multiply" };
                    return call(format!("_in_order({ufunc}, {start}, {}, {tuple})", x.s));
                }
                if ty.is_float() {
                    self.tier = Tier::Real;
                }
                let method = if op == Add { "sum" } else { "prod" };
                let sum = format!("{x_atom}.{method}(axis={axis}, dtype={})", dtype(ty));
                if op == Add { plus(sum) } else { times(sum) }
            }
            Reducer::Op(op @ (And | Or | Xor)) => {
                let (stem, sign) = match op {
                    And => ("and", "&"),
                    Or => ("or", "|"),
                    _ => ("xor", "^"),
                };
                let kind = if ty == ScalarType::I1 {
                    "logical"
                } else {
                    "bitwise"
                };
                call(format!(
                    "({start} {sign} np.{kind}_{stem}.reduce({}, axis={axis}))",
                    x.s
                ))
            }
            Reducer::Op(op @ (Maximum | Minimum)) if ty.is_int() => {
                self.int_extreme(op == Maximum, &start, x, &axis)
            }
            Reducer::TakeIf(cmp) | Reducer::KeepIf(cmp)
                if ty.is_int() && !matches!(cmp, CmpOp::Eq | CmpOp::Ne) =>
            {
                self.int_extreme(matches!(cmp, CmpOp::Gt | CmpOp::Ge), &start, x, &axis)
            }
            Reducer::TakeIf(cmp) | Reducer::KeepIf(cmp)
                if ty.is_float() && !matches!(cmp, CmpOp::Eq | CmpOp::Ne) =>
            {
                let keep = matches!(reducer, Reducer::KeepIf(_));
                let larger = matches!(cmp, CmpOp::Gt | CmpOp::Ge);
                let strict = matches!(cmp, CmpOp::Gt | CmpOp::Lt);
                // Of equal ones, `if (x > m) m = x;` has the first, `m = m > x ? m : x;` the last.
                let first = strict != keep;
                let py = |b: bool| if b { "True" } else { "False" };
                call(format!(
                    "_extreme({start}, {}, {tuple}, larger={}, first={}, keep={})",
                    x.s,
                    py(larger),
                    py(first),
                    py(keep)
                ))
            }
            Reducer::Op(op) => {
                let step =
                    self.binary(op, ty, &Code::atom("a", true), &Code::atom("b", true), None)?;
                call(format!(
                    "_one_by_one(lambda a, b: {}, {start}, {}, {tuple})",
                    step.s, x.s
                ))
            }
            Reducer::TakeIf(cmp) => {
                let cmp = cmp.c_operator();
                call(format!(
                    "_one_by_one(lambda a, b: np.where(b {cmp} a, b, a), {start}, {}, {tuple})",
                    x.s
                ))
            }
            Reducer::KeepIf(cmp) => {
                let cmp = cmp.c_operator();
                call(format!(
                    "_one_by_one(lambda a, b: np.where(a {cmp} b, a, b), {start}, {}, {tuple})",
                    x.s
                ))
            }
        }
    }

    fn int_extreme(
        &mut self,
        larger: bool,
        start: &str,
        x: &Code,
        axis: &str,
    ) -> Result<Code, Unsupported> {
        let name = if larger { "maximum" } else { "minimum" };
        // The identity, so that no element at all is fine; the start may have a shape of its own.
        Ok(Code::atom(
            format!("_in_any_order(np.{name}, {start}, {}, {axis})", x.s),
            true,
        ))
    }
}
