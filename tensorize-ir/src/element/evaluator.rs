//! An expression that is evaluated at many places of one input.
//!
//! [`Elem::eval`] looks up every name each time, and computes what a row has in common once for each of its elements.
//! Here names are numbers, and a fold that depends on less than what stands around it is computed once for what it
//! depends on.

use super::{Elem, Fold};
use crate::index::{Atom, Idx, Sym, floor_div, floor_mod};
use crate::memory::{Buffer, Inputs};
use crate::op::{self, BinOp, CmpOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::collections::{BTreeSet, HashMap};

/// An expression over places, made ready for one input.
pub struct Evaluator<'a> {
    root: Node<'a>,
    state: State,
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Something outside of an array is read, or the input lacks what is asked for.
    Undefined,
    /// It takes more steps than there are.
    Steps,
}

enum Node<'a> {
    Const(Scalar),
    /// The input has nothing of this name and type.
    Missing,
    OfIdx(ScalarType, Polynomial<'a>),
    Read(&'a Buffer, Polynomial<'a>),
    Unary(UnOp, Box<Node<'a>>),
    Binary(BinOp, Box<Node<'a>>, Box<Node<'a>>),
    Compare(CmpOp, Box<Node<'a>>, Box<Node<'a>>),
    IndexCompare(CmpOp, Polynomial<'a>, Polynomial<'a>),
    Convert(ScalarType, Box<Node<'a>>),
    Bitcast(ScalarType, Box<Node<'a>>),
    Select(Box<Node<'a>>, Box<Node<'a>>, Box<Node<'a>>),
    Acc(usize),
    Fold(Box<Reduction<'a>>),
}

struct Reduction<'a> {
    var: usize,
    extent: Polynomial<'a>,
    lanes: Vec<Lane<'a>>,
    /// Where its values are kept, and the names that it depends on.
    kept: Option<(usize, Vec<usize>)>,
}

struct Lane<'a> {
    acc: usize,
    init: Node<'a>,
    step: Node<'a>,
}

/// Coefficients, each with its factors.
struct Polynomial<'a>(Vec<(i128, Vec<Factor<'a>>)>);

enum Factor<'a> {
    Sym(usize),
    FloorDiv(Polynomial<'a>, Polynomial<'a>),
    Mod(Polynomial<'a>, Polynomial<'a>),
    Max(Polynomial<'a>, Polynomial<'a>),
    Min(Polynomial<'a>, Polynomial<'a>),
    Value(Node<'a>),
}

impl<'a> Evaluator<'a> {
    /// For `e`, in which the names in `place` are free, and the sizes, numbers and arrays of `inputs`.
    pub fn new(e: &Elem, place: &[Sym], inputs: &'a Inputs) -> Evaluator<'a> {
        let mut names = Names::new(place, inputs);
        let root = names.node(e);
        let state = State::new(&names, 0);
        Evaluator { root, state }
    }

    /// The number that an index is, as [`super::eval_index`] has it. What it takes is taken from `steps`.
    pub fn index(idx: &Idx, inputs: &'a Inputs, steps: &mut u64) -> Result<i128, Lack> {
        let mut names = Names::new(&[], inputs);
        let polynomial = names.polynomial(idx);
        let mut state = State::new(&names, *steps);
        let value = state.index(&polynomial);
        *steps = state.steps;
        value
    }

    /// The value at a place, as [`Elem::eval`] has it. What it takes is taken from `steps`.
    pub fn at(&mut self, place: &[i128], steps: &mut u64) -> Result<Scalar, Lack> {
        self.state.syms[..place.len()].copy_from_slice(place);
        self.state.steps = *steps;
        let value = self.state.eval(&self.root);
        *steps = self.state.steps;
        value
    }
}

/// What changes while an expression is evaluated.
struct State {
    /// The place, then the counters of folds.
    syms: Vec<i128>,
    accs: Vec<Option<Scalar>>,
    /// For each fold that is kept, its values by what it depends on.
    kept: Vec<HashMap<Vec<i128>, Result<Scalar, Lack>>>,
    steps: u64,
}

impl State {
    fn new(names: &Names, steps: u64) -> State {
        State {
            syms: vec![0; names.syms],
            accs: vec![None; names.accs],
            kept: vec![HashMap::new(); names.kept],
            steps,
        }
    }

    fn eval(&mut self, node: &Node<'_>) -> Result<Scalar, Lack> {
        self.steps = self.steps.checked_sub(1).ok_or(Lack::Steps)?;
        Ok(match node {
            Node::Const(v) => *v,
            Node::Missing => return Err(Lack::Undefined),
            Node::OfIdx(ty, idx) => Scalar::int(*ty, self.index(idx)?),
            Node::Read(buffer, idx) => buffer.get(self.index(idx)?).ok_or(Lack::Undefined)?,
            Node::Unary(op, a) => op::eval_unary(*op, self.eval(a)?),
            Node::Binary(op, a, b) => op::eval_binary(*op, self.eval(a)?, self.eval(b)?),
            Node::Compare(op, a, b) => {
                Scalar::bool(op::eval_compare(*op, self.eval(a)?, self.eval(b)?))
            }
            Node::IndexCompare(op, a, b) => {
                Scalar::bool(op.holds(&self.index(a)?, &self.index(b)?))
            }
            Node::Convert(ty, a) => op::eval_convert(*ty, self.eval(a)?),
            Node::Bitcast(ty, a) => Scalar {
                ty: *ty,
                bits: self.eval(a)?.bits,
            },
            Node::Select(c, t, f) => {
                let branch = if self.eval(c)?.is_true() { t } else { f };
                self.eval(branch)?
            }
            Node::Acc(acc) => self.accs[*acc].ok_or(Lack::Undefined)?,
            Node::Fold(fold) => {
                let Some((slot, on)) = &fold.kept else {
                    return self.fold(fold);
                };
                let key: Vec<i128> = on.iter().map(|&s| self.syms[s]).collect();
                if let Some(value) = self.kept[*slot].get(&key) {
                    return *value;
                }
                let value = self.fold(fold);
                if value != Err(Lack::Steps) {
                    self.kept[*slot].insert(key, value);
                }
                value?
            }
        })
    }

    fn fold(&mut self, fold: &Reduction<'_>) -> Result<Scalar, Lack> {
        let extent = self.index(&fold.extent)?;
        let inits = fold.lanes.iter().map(|lane| self.eval(&lane.init));
        let mut values = inits.collect::<Result<Vec<_>, _>>()?;
        for i in 0..extent.max(0) {
            self.syms[fold.var] = i;
            for (lane, value) in fold.lanes.iter().zip(&values) {
                self.accs[lane.acc] = Some(*value);
            }
            for (lane, value) in fold.lanes.iter().zip(&mut values) {
                *value = self.eval(&lane.step)?;
            }
        }
        values.first().copied().ok_or(Lack::Undefined)
    }

    fn index(&mut self, idx: &Polynomial<'_>) -> Result<i128, Lack> {
        let mut sum = 0i128;
        for (c, factors) in &idx.0 {
            let mut product = *c;
            for factor in factors {
                let v = self.factor(factor)?;
                product = product.checked_mul(v).ok_or(Lack::Undefined)?;
            }
            sum = sum.checked_add(product).ok_or(Lack::Undefined)?;
        }
        Ok(sum)
    }

    fn factor(&mut self, factor: &Factor<'_>) -> Result<i128, Lack> {
        Ok(match factor {
            Factor::Sym(s) => self.syms[*s],
            Factor::FloorDiv(a, b) => match (self.index(a)?, self.index(b)?) {
                (_, 0) => 0,
                (a, -1) => a.checked_neg().ok_or(Lack::Undefined)?,
                (a, b) => floor_div(a, b),
            },
            Factor::Mod(a, b) => match (self.index(a)?, self.index(b)?) {
                (a, 0) => a,
                (_, -1) => 0,
                (a, b) => floor_mod(a, b),
            },
            Factor::Max(a, b) => self.index(a)?.max(self.index(b)?),
            Factor::Min(a, b) => self.index(a)?.min(self.index(b)?),
            Factor::Value(e) => self.eval(e)?.as_int(),
        })
    }
}

/// From names to numbers.
struct Names<'a> {
    inputs: &'a Inputs,
    /// The names that can be seen here, the innermost last.
    scope: Vec<(Sym, usize)>,
    acc_scope: Vec<(Sym, usize)>,
    /// How many there are.
    syms: usize,
    accs: usize,
    kept: usize,
    /// Which ones the part that is looked at depends on.
    used: BTreeSet<usize>,
    used_accs: BTreeSet<usize>,
}

impl<'a> Names<'a> {
    fn new(place: &[Sym], inputs: &'a Inputs) -> Names<'a> {
        Names {
            inputs,
            scope: place.iter().cloned().zip(0..).collect(),
            acc_scope: Vec::new(),
            syms: place.len(),
            accs: 0,
            kept: 0,
            used: BTreeSet::new(),
            used_accs: BTreeSet::new(),
        }
    }

    fn boxed(&mut self, e: &Elem) -> Box<Node<'a>> {
        Box::new(self.node(e))
    }

    fn node(&mut self, e: &Elem) -> Node<'a> {
        match e {
            Elem::Const(v) => Node::Const(*v),
            Elem::Param(name, ty) => {
                let given = self.inputs.scalars.get(name).filter(|v| v.ty == *ty);
                given.map_or(Node::Missing, |v| Node::Const(*v))
            }
            Elem::OfIdx(ty, idx) => Node::OfIdx(*ty, self.polynomial(idx)),
            Elem::Read { array, ty, index } => {
                let inputs = self.inputs;
                match inputs.arrays.get(array).filter(|b| b.elem == *ty) {
                    Some(buffer) => Node::Read(buffer, self.polynomial(index)),
                    None => Node::Missing,
                }
            }
            Elem::Unary(op, a) => Node::Unary(*op, self.boxed(a)),
            Elem::Binary(op, a, b) => Node::Binary(*op, self.boxed(a), self.boxed(b)),
            Elem::Compare(op, a, b) => Node::Compare(*op, self.boxed(a), self.boxed(b)),
            Elem::IndexCompare(op, a, b) => {
                Node::IndexCompare(*op, self.polynomial(a), self.polynomial(b))
            }
            Elem::Convert(ty, a) => Node::Convert(*ty, self.boxed(a)),
            Elem::Bitcast(ty, a) => Node::Bitcast(*ty, self.boxed(a)),
            Elem::Select(c, t, f) => Node::Select(self.boxed(c), self.boxed(t), self.boxed(f)),
            Elem::Acc(name, _) => match seen(&self.acc_scope, name) {
                Some(acc) => {
                    self.used_accs.insert(acc);
                    Node::Acc(acc)
                }
                None => Node::Missing,
            },
            Elem::Fold(fold) => Node::Fold(Box::new(self.fold(fold))),
        }
    }

    fn fold(&mut self, fold: &Fold) -> Reduction<'a> {
        let outer = std::mem::take(&mut self.used);
        let outer_accs = std::mem::take(&mut self.used_accs);
        let around = self.scope.len();
        let extent = self.polynomial(&fold.extent);
        let inits: Vec<_> = fold.lanes().map(|lane| self.node(lane.init)).collect();

        let (var, first_acc) = (self.syms, self.accs);
        self.syms += 1;
        self.scope.push((fold.var.clone(), var));
        for lane in fold.lanes() {
            self.acc_scope.push((lane.acc.clone(), self.accs));
            self.accs += 1;
        }
        let steps: Vec<_> = fold.lanes().map(|lane| self.node(lane.step)).collect();
        let lanes = inits.into_iter().zip(steps).zip(first_acc..);
        let lanes: Vec<_> = lanes
            .map(|((init, step), acc)| Lane { acc, init, step })
            .collect();
        self.scope.truncate(around);
        self.acc_scope.truncate(self.acc_scope.len() - lanes.len());

        let own: Vec<usize> = self.used.iter().copied().filter(|&s| s != var).collect();
        let free_accs: Vec<usize> = (self.used_accs.iter().copied())
            .filter(|&a| !(first_acc..first_acc + lanes.len()).contains(&a))
            .collect();
        self.used = outer;
        self.used.extend(&own);
        self.used_accs = outer_accs;
        self.used_accs.extend(&free_accs);
        // What depends on everything around it is asked for once.
        let kept = (free_accs.is_empty() && own.len() < around).then(|| {
            self.kept += 1;
            (self.kept - 1, own)
        });
        Reduction {
            var,
            extent,
            lanes,
            kept,
        }
    }

    fn polynomial(&mut self, idx: &Idx) -> Polynomial<'a> {
        let mut terms = Vec::new();
        for (monomial, mut c) in idx.terms() {
            let mut factors = Vec::new();
            for atom in monomial {
                let factor = self.factor(atom);
                match factor {
                    Ok(factor) => factors.push(factor),
                    Err(size) => match c.checked_mul(size) {
                        Some(product) => c = product,
                        None => factors.push(Factor::Value(Node::Missing)),
                    },
                }
            }
            terms.push((c, factors));
        }
        Polynomial(terms)
    }

    /// A size, which does not change, is an error.
    fn factor(&mut self, atom: &Atom) -> Result<Factor<'a>, i128> {
        Ok(match atom {
            Atom::Sym(s) => match (seen(&self.scope, s), self.inputs.size(s)) {
                (Some(sym), _) => {
                    self.used.insert(sym);
                    Factor::Sym(sym)
                }
                (None, Some(size)) => return Err(size),
                (None, None) => Factor::Value(Node::Missing),
            },
            Atom::FloorDiv(a, b) => Factor::FloorDiv(self.polynomial(a), self.polynomial(b)),
            Atom::Mod(a, b) => Factor::Mod(self.polynomial(a), self.polynomial(b)),
            Atom::Max(a, b) => Factor::Max(self.polynomial(a), self.polynomial(b)),
            Atom::Min(a, b) => Factor::Min(self.polynomial(a), self.polynomial(b)),
            Atom::Value(e) => Factor::Value(self.node(e)),
        })
    }
}

fn seen(scope: &[(Sym, usize)], name: &Sym) -> Option<usize> {
    let found = scope.iter().rev().find(|(n, _)| n == name);
    found.map(|(_, number)| *number)
}
