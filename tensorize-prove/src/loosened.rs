//! Why a proof is one over the real numbers, and not of the same bits.

use std::collections::BTreeSet;
use std::fmt;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Sym;
use tensorize_ir::op::BinOp;

/// Something that holds for real numbers alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loosened {
    /// Line of the source, 0 if it is none in particular.
    pub line: u32,
    /// What it is about.
    pub cause: Cause,
}

/// See [`Loosened`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The summary has these operations of floats in another order, or rounds at other places.
    Order {
        /// What the kernel computes with them: variables, elements of arrays, the returned value.
        what: BTreeSet<String>,
        /// StableHLO's names.
        operations: BTreeSet<&'static str>,
    },
    /// C leaves the bits of what the kernel computes open, as those of a fused product and sum.
    Open,
    /// The caller asked for no more: flags of the compiler change the bits.
    Asked,
}

impl Loosened {
    /// `found` is what the kernel has in `what`.
    pub(crate) fn order(what: String, line: u32, found: &ElemRef) -> Loosened {
        let mut operations = BTreeSet::new();
        found.visit(&mut |e| {
            if let Elem::Binary(
                op @ (BinOp::Add | BinOp::Subtract | BinOp::Multiply | BinOp::Divide),
                ..,
            ) = &**e
                && e.ty().is_float()
            {
                operations.insert(op.name());
            }
        });
        let what = BTreeSet::from([what]);
        let cause = Cause::Order { what, operations };
        Loosened { line, cause }
    }

    /// One for each line, and of each kind.
    pub(crate) fn merged(all: Vec<Loosened>) -> Vec<Loosened> {
        let mut merged: Vec<Loosened> = Vec::new();
        for one in all {
            let order = |l: &Loosened| matches!(l.cause, Cause::Order { .. });
            let alike = |l: &&mut Loosened| l.line == one.line && order(l) == order(&one);
            match (
                merged.iter_mut().find(alike).map(|l| &mut l.cause),
                &one.cause,
            ) {
                (
                    Some(Cause::Order { what, operations }),
                    Cause::Order {
                        what: more,
                        operations: others,
                    },
                ) => {
                    what.extend(more.iter().cloned());
                    operations.extend(others);
                }
                (Some(_), _) => {}
                (None, _) => merged.push(one),
            }
        }
        merged
    }

    /// The value of a variable after each round of a loop.
    pub(crate) fn round(var: &Sym, line: u32, found: &ElemRef) -> Loosened {
        Loosened::order(format!("`{var}`"), line, found)
    }
}

impl fmt::Display for Loosened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Order { what, operations } => {
                let what: Vec<&str> = what.iter().map(String::as_str).collect();
                let names: Vec<String> = operations.iter().map(|o| format!("`{o}`")).collect();
                let names = match &names[..] {
                    [] => "conversions of floats".into(),
                    names => names.join(", "),
                };
                let what = what.join(", ");
                write!(
                    f,
                    "in {what}, the summary has {names} in another order, or rounds at other places"
                )
            }
            Cause::Open => f.write_str(
                "C leaves open how an operation is rounded, or which of two zeros it gives (a fused product and \
                 sum, a product of complex numbers, what is kept in a `long double`, `fmin`, `fmax`, `pow`)",
            ),
            Cause::Asked => {
                f.write_str("the compiler's flags allow for another order, or for other roundings")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tensorize_ir::scalar::ScalarType;

    #[test]
    fn what_is_said_of_a_line_is_said_once() {
        let x: ElemRef = Arc::new(Elem::Param("x".into(), ScalarType::F32));
        let sum = Elem::binary(BinOp::Add, x.clone(), x.clone());
        let product = Elem::binary(BinOp::Multiply, x.clone(), x.clone());
        let all = vec![
            Loosened::round(&"m".into(), 3, &x),
            Loosened::round(&"s".into(), 3, &sum),
            Loosened::round(&"m".into(), 3, &product),
            Loosened::order("the returned value".into(), 0, &x),
        ];
        let texts: Vec<String> = Loosened::merged(all)
            .iter()
            .map(|l| l.to_string())
            .collect();
        assert_eq!(
            texts,
            [
                "in `m`, `s`, the summary has `add`, `multiply` in another order, or rounds at other places",
                "in the returned value, the summary has conversions of floats in another order, or rounds at other places",
            ]
        );
    }
}
