//! Bottom-up enumeration: expressions by size, one for each behaviour on the points that were seen.

use std::collections::HashSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::op::{self, BinOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// An expression and what it is at each point.
#[derive(Clone)]
pub struct Entry {
    /// The expression.
    pub expr: ElemRef,
    /// Its values, over doubles.
    pub values: Vec<Scalar>,
    size: usize,
}

/// The operators that are tried.
pub struct Grammar {
    /// Of one operand.
    pub unary: Vec<UnOp>,
    /// Of two.
    pub binary: Vec<BinOp>,
    /// The largest expressions.
    pub max_size: usize,
    /// The most expressions.
    pub max_entries: usize,
}

/// All expressions so far.
pub struct Bank<'a> {
    eval: &'a dyn Fn(&ElemRef) -> Option<Vec<Scalar>>,
    /// At which points the value has to be finite.
    finite: &'a [bool],
    entries: Vec<Entry>,
    seen: HashSet<(ScalarType, Vec<u64>)>,
}

impl<'a> Bank<'a> {
    /// Nothing yet; `eval` gives the values at the points.
    pub fn new(eval: &'a dyn Fn(&ElemRef) -> Option<Vec<Scalar>>, finite: &'a [bool]) -> Bank<'a> {
        Bank {
            eval,
            finite,
            entries: vec![],
            seen: HashSet::new(),
        }
    }

    /// Adds an expression as a leaf of this size, unless one behaves like it.
    pub fn leaf(&mut self, expr: ElemRef, size: usize) -> Option<&Entry> {
        let values = (self.eval)(&expr)?;
        self.add(expr, values, size)
    }

    fn add(&mut self, expr: ElemRef, values: Vec<Scalar>, size: usize) -> Option<&Entry> {
        let finite =
            |(v, needed): (&Scalar, &bool)| !needed || !v.ty.is_float() || v.as_f64().abs() < 1e30;
        if !values.iter().zip(self.finite).all(finite) {
            return None;
        }
        let key = values.iter().map(|v| behaviour(*v)).collect();
        if !self.seen.insert((expr.ty(), key)) {
            return None;
        }
        self.entries.push(Entry { expr, values, size });
        self.entries.last()
    }

    /// Enumerates by size; stops when `found` says so. The leaves have been shown already.
    pub fn enumerate(&mut self, grammar: &Grammar, found: &mut dyn FnMut(&Entry) -> bool) {
        for size in 2..=grammar.max_size {
            let known = self.entries.len();
            for i in 0..known {
                if self.entries[i].size != size - 1 {
                    continue;
                }
                for op in &grammar.unary {
                    let a = &self.entries[i];
                    if !op.accepts(a.expr.ty()) {
                        continue;
                    }
                    let values = a.values.iter().map(|v| op::eval_unary(*op, *v)).collect();
                    let expr = Elem::unary(*op, a.expr.clone());
                    if self.full(grammar) || self.add(expr, values, size).is_some_and(&mut *found) {
                        return;
                    }
                }
            }
            for i in 0..known {
                for j in 0..known {
                    if self.entries[i].size + self.entries[j].size + 1 != size {
                        continue;
                    }
                    for op in &grammar.binary {
                        let (a, b) = (&self.entries[i], &self.entries[j]);
                        let ty = a.expr.ty();
                        let twice = op.is_commutative() && j < i;
                        if b.expr.ty() != ty || !op.accepts(ty) || twice {
                            continue;
                        }
                        let both = a.values.iter().zip(&b.values);
                        let values = both.map(|(x, y)| op::eval_binary(*op, *x, *y)).collect();
                        let expr = Elem::binary(*op, a.expr.clone(), b.expr.clone());
                        if self.full(grammar)
                            || self.add(expr, values, size).is_some_and(&mut *found)
                        {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// All expressions so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn full(&self, grammar: &Grammar) -> bool {
        self.entries.len() >= grammar.max_entries
    }
}

/// The same for values that rounding may keep apart.
fn behaviour(v: Scalar) -> u64 {
    if !v.ty.is_float() {
        return v.bits;
    }
    let x = v.as_f64();
    if x.abs() < 1e-9 {
        return 0;
    }
    u64::from((x as f32).to_bits()) + 1
}

/// Whether two values are the same up to rounding.
pub fn close(a: Scalar, b: Scalar) -> bool {
    if !a.ty.is_float() {
        return a == b;
    }
    let (a, b) = (a.as_f64(), b.as_f64());
    a == b || (a - b).abs() <= 1e-7 * a.abs().max(b.abs()).max(1e-2)
}
