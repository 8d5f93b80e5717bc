//! Which values an integer of a kernel may take: what division by a constant and by a variable rest on.

use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// From the least to the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub least: i128,
    pub most: i128,
}

impl Range {
    pub(super) fn of(ty: ScalarType) -> Range {
        if ty == ScalarType::I1 {
            return Range { least: 0, most: 1 };
        }
        Range {
            least: ty.min_value(),
            most: ty.max_value(),
        }
    }

    pub(super) fn exactly(value: i128) -> Range {
        Range {
            least: value,
            most: value,
        }
    }

    /// These values wrapped to a type: themselves if all fit.
    pub(super) fn wrapped(self, ty: ScalarType) -> Range {
        let all = Range::of(ty);
        if self.least >= all.least && self.most <= all.most {
            self
        } else {
            all
        }
    }

    pub(super) fn with(self, other: Range) -> Range {
        Range {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// The result of an operator before it is wrapped; `None` if nothing is known of it.
    pub(super) fn binary(op: BinOp, a: Range, b: Range) -> Option<Range> {
        let corners = |f: &dyn Fn(i128, i128) -> i128| {
            let all = [
                f(a.least, b.least),
                f(a.least, b.most),
                f(a.most, b.least),
                f(a.most, b.most),
            ];
            all.into_iter().map(Range::exactly).reduce(Range::with)
        };
        match op {
            BinOp::Add => corners(&|x, y| x + y),
            BinOp::Subtract => corners(&|x, y| x - y),
            BinOp::Multiply => corners(&|x, y| x * y),
            BinOp::Maximum => corners(&|x, y| x.max(y)),
            BinOp::Minimum => corners(&|x, y| x.min(y)),
            BinOp::Divide if b.least > 0 => corners(&|x, y| x / y),
            BinOp::And if a.least >= 0 && b.least >= 0 => Some(Range {
                least: 0,
                most: a.most.min(b.most),
            }),
            _ => None,
        }
    }
}
