//! Reductions, in the order that the tier asks for.

use super::dialect::Operand;
use super::node::Emitter;
use super::py::{Code, Level};
use super::scalar_op::compare;
use crate::Unsupported;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Reducer;

/// A reducer that keeps the largest or smallest element.
#[derive(Clone, Copy)]
pub(super) struct Extreme {
    pub larger: bool,
    /// Of equal ones, `if (x > m) m = x;` has the first, `m = m > x ? m : x;` the last.
    first: bool,
    keep: bool,
}

impl Extreme {
    pub(super) fn of(reducer: Reducer) -> Option<Extreme> {
        let (cmp, keep) = match reducer {
            Reducer::Op(_) => return None,
            Reducer::TakeIf(cmp) => (cmp, false),
            Reducer::KeepIf(cmp) => (cmp, true),
        };
        let ordered = !matches!(cmp, CmpOp::Eq | CmpOp::Ne);
        ordered.then_some(Extreme {
            larger: matches!(cmp, CmpOp::Gt | CmpOp::Ge),
            first: matches!(cmp, CmpOp::Gt | CmpOp::Lt) != keep,
            keep,
        })
    }

    /// What a form says of it.
    pub(super) fn operands<'a>(&self) -> [(&'static str, Operand<'a>); 4] {
        let extreme = if self.larger { "maximum" } else { "minimum" };
        [
            ("larger", truth(self.larger).into()),
            ("first", truth(self.first).into()),
            ("keep", truth(self.keep).into()),
            ("extreme", extreme.into()),
        ]
    }
}

/// Python's word.
pub(super) fn truth(b: bool) -> &'static str {
    if b { "True" } else { "False" }
}

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
            None => self.zero(ty)?,
        };
        let t = self.dialect.dtype(ty)?;
        let (lowest, highest) = self.limits(ty);
        let (lowest, highest) = (self.typed(&lowest, ty)?, self.typed(&highest, ty)?);
        let operands = [
            ("a", x.into()),
            ("start", (&start).into()),
            ("axis", (&axis).into()),
            ("axes", (&tuple).into()),
            ("t", (&t).into()),
            ("lowest", (&lowest).into()),
            ("highest", (&highest).into()),
        ];
        let combined = |sign: &str, level: Level, init: &Code, reduced: &Code| Code {
            s: format!("{} {sign} {}", init.at(level), reduced.at(Level::Atom)),
            level,
            full: true,
        };
        let extreme = Extreme::of(reducer);
        use BinOp::*;
        match reducer {
            Reducer::Op(op @ (Add | Multiply)) => {
                let name = if op == Add { "add" } else { "multiply" };
                if ty.is_float() && self.allowed == Tier::Exact {
                    return self.form(&format!("ordered_{name}"), ty, &operands);
                }
                let reduced = self.form(&format!("reduce_{name}"), ty, &operands)?;
                Ok(match (init, op) {
                    (None, _) => Code::atom(reduced.s, true),
                    (Some(init), Add) => combined("+", Level::Sum, init, &reduced),
                    (Some(init), _) => combined("*", Level::Product, init, &reduced),
                })
            }
            Reducer::Op(op @ (And | Or | Xor)) => {
                self.form(&format!("reduce_{}", op.name()), ty, &operands)
            }
            Reducer::Op(op @ (Maximum | Minimum)) if ty.is_int() => {
                self.form(&format!("reduce_{}", op.name()), ty, &operands)
            }
            Reducer::TakeIf(cmp) | Reducer::KeepIf(cmp)
                if ty.is_int() && !matches!(cmp, CmpOp::Eq | CmpOp::Ne) =>
            {
                let larger = matches!(cmp, CmpOp::Gt | CmpOp::Ge);
                let op = if larger { Maximum } else { Minimum };
                self.form(&format!("reduce_{}", op.name()), ty, &operands)
            }
            Reducer::TakeIf(_) | Reducer::KeepIf(_) if ty.is_float() && extreme.is_some() => {
                let more = extreme.iter().flat_map(|e| e.operands());
                let (max, identity) = match extreme.is_some_and(|e| e.larger) {
                    true => ("max", &lowest),
                    false => ("min", &highest),
                };
                let none = [("max", max.into()), ("identity", identity.into())];
                let operands: Vec<_> = operands.into_iter().chain(more).chain(none).collect();
                self.form("extreme", ty, &operands)
            }
            _ => {
                let step = self.step(reducer, ty)?;
                self.one_by_one("one_by_one", ty, &step, &operands)
            }
        }
    }

    /// What the reducer makes of `a` and the next element, `b`.
    pub(super) fn step(&mut self, reducer: Reducer, ty: ScalarType) -> Result<Code, Unsupported> {
        let (a, b) = (Code::atom("a", true), Code::atom("b", true));
        match reducer {
            Reducer::Op(op) => self.binary(op, ty, &a, &b, None),
            Reducer::TakeIf(cmp) => self.select(ty, &compare(cmp, &b, &a), &b, &a),
            Reducer::KeepIf(cmp) => self.select(ty, &compare(cmp, &a, &b), &a, &b),
        }
    }

    pub(super) fn one_by_one(
        &mut self,
        form: &str,
        ty: ScalarType,
        step: &Code,
        operands: &[(&str, Operand)],
    ) -> Result<Code, Unsupported> {
        let row = self.dialect.row(form, ty, false)?;
        let form = row.form.replace("{step}", &step.s);
        self.float_step(ty)?;
        Ok(self.dialect.fill(&form, operands))
    }

    /// What the largest and the smallest of no elements are, as digits.
    fn limits(&self, ty: ScalarType) -> (String, String) {
        match ty {
            ScalarType::I1 => ("False".into(), "True".into()),
            _ if ty.is_float() => ("-np.inf".into(), "np.inf".into()),
            _ => (ty.min_value().to_string(), ty.max_value().to_string()),
        }
    }

    fn zero(&mut self, ty: ScalarType) -> Result<String, Unsupported> {
        self.typed("0", ty)
    }
}
