//! Running folds, and those that keep a place.

use super::fold::{Extreme, truth};
use super::node::Emitter;
use super::py::Code;
use crate::Unsupported;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Node, Op, Reducer};

impl Emitter<'_> {
    /// `scan`: the values that a fold has on its way along one axis.
    pub(super) fn scan(&mut self, node: &Node) -> Result<Code, Unsupported> {
        let Op::Scan {
            reducer,
            dimension,
            exclusive,
            reverse,
        } = node.op
        else {
            return Err(Unsupported::new("not a scan"));
        };
        let ty = node.ty.elem;
        let x = self.full(node.args[0])?;
        let start = self.fold_start(node.args[1])?.s;
        let axis = dimension.to_string();
        let t = self.dialect.dtype(ty)?;
        let mut operands = vec![
            ("a", (&x).into()),
            ("start", (&start).into()),
            ("axis", (&axis).into()),
            ("exclusive", truth(exclusive).into()),
            ("reverse", truth(reverse).into()),
            ("t", (&t).into()),
        ];
        let op = match (reducer, Extreme::of(reducer)) {
            (Reducer::Op(op), _) => Some(op),
            (_, Some(extreme)) if ty.is_int() && extreme.larger => Some(BinOp::Maximum),
            (_, Some(_)) if ty.is_int() => Some(BinOp::Minimum),
            (_, Some(extreme)) if self.dialect.row("scan_extreme", ty, false).is_ok() => {
                operands.extend(extreme.operands());
                return self.form("scan_extreme", ty, &operands);
            }
            _ => None,
        };
        use BinOp::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
        let own = match op {
            Some(op @ (Add | Multiply | And | Or | Xor)) => Some(format!("scan_{}", op.name())),
            Some(op @ (Maximum | Minimum)) if ty.is_int() => Some(format!("scan_{}", op.name())),
            _ => None,
        };
        // Where the framework has nothing for the operator, it takes one step after the other.
        match own.filter(|name| self.dialect.row(name, ty, false).is_ok()) {
            Some(name) => self.form(&name, ty, &operands),
            None => {
                let step = self.step(reducer, ty)?;
                self.one_by_one("scan_one_by_one", ty, &step, &operands)
            }
        }
    }

    /// `arg_reduce`: the label of the largest or smallest element.
    pub(super) fn arg_reduce(&mut self, node: &Node) -> Result<Code, Unsupported> {
        let Op::ArgReduce { reducer, dimension } = node.op else {
            return Err(Unsupported::new("not an arg_reduce"));
        };
        let extreme = Extreme::of(reducer).ok_or_else(|| {
            Unsupported::new(format!("the place that {reducer} ends up with has no form"))
        })?;
        let of: ScalarType = self.function.nodes[node.args[0]].ty.elem;
        let (x, labels) = (self.full(node.args[0])?, self.full(node.args[1])?);
        let start = self.fold_start(node.args[2])?.s;
        let label = self.fold_start(node.args[3])?.s;
        let axis = dimension.to_string();
        let mut operands = vec![
            ("a", (&x).into()),
            ("b", (&labels).into()),
            ("start", (&start).into()),
            ("label", (&label).into()),
            ("axis", (&axis).into()),
        ];
        operands.extend(extreme.operands());
        self.form("arg_extreme", of, &operands)
    }
}
