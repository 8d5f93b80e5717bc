//! The named attributes of operators: `dimensions = [0, 1]`.

use crate::index::Idx;
use crate::op::{BinOp, UnOp};
use crate::tensir::{Op, Reducer};
use crate::text::{Cursor, ParseError};
use std::str::FromStr;

/// The named attributes of an operator: what stands there, and where.
#[derive(Default)]
pub(super) struct Attributes {
    dimension: Option<usize>,
    dimensions: Option<Vec<usize>>,
    permutation: Option<Vec<usize>>,
    start: Option<Vec<Idx>>,
    stride: Option<Vec<i64>>,
    low: Option<Vec<Idx>>,
    batch: Option<Vec<(usize, usize)>>,
    contracting: Option<Vec<(usize, usize)>>,
    reducer: Option<Reducer>,
    exclusive: Option<bool>,
    reverse: Option<bool>,
}

impl Attributes {
    /// Whether [`Attributes::op`] knows the name, once the attributes are there.
    pub(super) fn is_operator(name: &str) -> bool {
        let mut none = Attributes::default();
        none.missing(name).is_some() || none.op(name).is_some()
    }

    pub(super) fn read(&mut self, c: &mut Cursor<'_>) -> Result<(), ParseError> {
        fn numbers<T: FromStr>(c: &mut Cursor<'_>) -> Result<Vec<T>, ParseError> {
            c.expect("[")?;
            c.list("]", |c| c.integer("a number"))
        }
        fn indices(c: &mut Cursor<'_>) -> Result<Vec<Idx>, ParseError> {
            c.expect("[")?;
            c.list("]", Cursor::idx)
        }
        fn pairs(c: &mut Cursor<'_>) -> Result<Vec<(usize, usize)>, ParseError> {
            c.expect("[")?;
            c.list("]", |c| {
                let left = c.integer("a dimension")?;
                c.times()?;
                Ok((left, c.integer("a dimension")?))
            })
        }
        fn truth(c: &mut Cursor<'_>) -> Result<bool, ParseError> {
            match c.eat_name("true") {
                true => Ok(true),
                false => c.expect_word("false").map(|()| false),
            }
        }
        let here = c.here();
        let mut ahead = c.clone();
        let key = match ahead.name() {
            Some(key) if ahead.eat("=") => key,
            _ => return Err(c.expected("an operand such as '%0', or an attribute")),
        };
        *c = ahead;
        let twice = match key {
            "dimension" => self.dimension.replace(c.integer("a dimension")?).is_some(),
            "dimensions" => self.dimensions.replace(numbers(c)?).is_some(),
            "permutation" => self.permutation.replace(numbers(c)?).is_some(),
            "start" => self.start.replace(indices(c)?).is_some(),
            "stride" => self.stride.replace(numbers(c)?).is_some(),
            "low" => self.low.replace(indices(c)?).is_some(),
            "batch" => self.batch.replace(pairs(c)?).is_some(),
            "contracting" => self.contracting.replace(pairs(c)?).is_some(),
            "reducer" => self.reducer.replace(c.reducer()?).is_some(),
            "exclusive" => self.exclusive.replace(truth(c)?).is_some(),
            "reverse" => self.reverse.replace(truth(c)?).is_some(),
            _ => return Err(c.error_at(here, format!("'{key}' is not an attribute"))),
        };
        if twice {
            return Err(c.error_at(here, format!("'{key}' is given twice")));
        }
        Ok(())
    }

    /// The operator of this name with these attributes, which are taken.
    pub(super) fn op(&mut self, name: &str) -> Option<Op> {
        Some(match name {
            "iota" => Op::Iota {
                dimension: self.dimension.take()?,
            },
            "convert" => Op::Convert,
            "bitcast_convert" => Op::BitcastConvert,
            "select" => Op::Select,
            "broadcast_in_dim" => Op::BroadcastInDim {
                dimensions: self.dimensions.take()?,
            },
            "reshape" => Op::Reshape,
            "transpose" => Op::Transpose {
                permutation: self.permutation.take()?,
            },
            "slice" => {
                let start = self.start.take()?;
                let stride = self.stride.take().unwrap_or_else(|| vec![1; start.len()]);
                Op::Slice { start, stride }
            }
            "pad" => Op::Pad {
                low: self.low.take()?,
            },
            "concatenate" => Op::Concatenate {
                dimension: self.dimension.take()?,
            },
            "reverse" => Op::Reverse {
                dimensions: self.dimensions.take()?,
            },
            "gather" => Op::Gather,
            "dot_general" => Op::DotGeneral {
                batch: self.batch.take().unwrap_or_default(),
                contracting: self.contracting.take().unwrap_or_default(),
            },
            "reduce" if self.dimensions.is_some() => Op::Reduce {
                reducer: self.reducer.take()?,
                dimensions: self.dimensions.take()?,
            },
            "scan" if self.dimension.is_some() => Op::Scan {
                reducer: self.reducer.take()?,
                dimension: self.dimension.take()?,
                exclusive: self.exclusive.take().unwrap_or(false),
                reverse: self.reverse.take().unwrap_or(false),
            },
            "arg_reduce" if self.dimension.is_some() => Op::ArgReduce {
                reducer: self.reducer.take()?,
                dimension: self.dimension.take()?,
            },
            _ => match UnOp::from_name(name) {
                Some(op) => Op::Unary(op),
                None => Op::Binary(BinOp::from_name(name)?),
            },
        })
    }

    /// What an operator of this name still needs.
    pub(super) fn missing(&self, name: &str) -> Option<&'static str> {
        Some(match name {
            "scan" | "arg_reduce" if self.dimension.is_some() => "reducer",
            "iota" | "concatenate" | "scan" | "arg_reduce" => "dimension",
            "reduce" if self.dimensions.is_some() => "reducer",
            "broadcast_in_dim" | "reverse" | "reduce" => "dimensions",
            "transpose" => "permutation",
            "slice" => "start",
            "pad" => "low",
            _ => return None,
        })
    }

    pub(super) fn left_over(&self) -> Option<&'static str> {
        let Attributes {
            dimension,
            dimensions,
            permutation,
            start,
            stride,
            low,
            batch,
            contracting,
            reducer,
            exclusive,
            reverse,
        } = self;
        let given = [
            ("dimension", dimension.is_some()),
            ("dimensions", dimensions.is_some()),
            ("permutation", permutation.is_some()),
            ("start", start.is_some()),
            ("stride", stride.is_some()),
            ("low", low.is_some()),
            ("batch", batch.is_some()),
            ("contracting", contracting.is_some()),
            ("reducer", reducer.is_some()),
            ("exclusive", exclusive.is_some()),
            ("reverse", reverse.is_some()),
        ];
        given
            .into_iter()
            .find(|(_, there)| *there)
            .map(|(key, _)| key)
    }
}
