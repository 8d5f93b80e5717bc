//! Which nests are products of matrices, so that a library can compute them:
//! `c[i, j] = alpha · Σᵣ a[i, r] · b[r, j] + beta · c[i, j]` in floats, each operand with strides of its own. `alpha` and
//! `beta` are numbers or parameters, and need not be there. Where something else is made of the products' sums (a bias, an
//! activation), the bare sums stand in the result first, and the rest is done in place.
//!
//! The loops stay: they are what is proven, and what runs where the library is not linked. Since the library adds in
//! an order of its own, this is for tier `real`.

use super::lower::Builder;
use super::nest::{Nest, Stored, reads_any};
use super::term::canonical;
use crate::Unsupported;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// A loop over the rows of a result that a library may run instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    /// The loop over the rows, by its number in LoopIR.
    pub rows: u32,
    /// Of all elements: `f32` or `f64`.
    pub elem: ScalarType,
    /// How many columns the result has.
    pub columns: Expr,
    /// How many products make an element.
    pub depth: Expr,
    /// The operand with the result's rows.
    pub left: Matrix,
    /// The operand with the result's columns.
    pub right: Matrix,
    /// What is stored.
    pub result: Matrix,
    /// What the products are multiplied by.
    pub alpha: Expr,
    /// What is multiplied by it and added, of what stands there; zero if that is not read.
    pub beta: Expr,
}

/// A matrix in memory, all in elements of `array`.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The array.
    pub array: Sym,
    /// Where the element (0, 0) is.
    pub first: Expr,
    /// From one row to the next.
    pub row: Expr,
    /// From one column to the next.
    pub column: Expr,
}

/// The same in terms of the sizes and of the loops around the two innermost ones.
pub(super) struct Product {
    elem: ScalarType,
    columns: Idx,
    depth: Idx,
    left: Strided,
    right: Strided,
    result: Strided,
    alpha: ElemRef,
    beta: ElemRef,
}

struct Strided {
    array: Sym,
    first: Idx,
    row: Idx,
    column: Idx,
}

/// The two innermost loops of a nest as a product, if they are one and sums may be taken in any order.
pub(super) fn product(nest: &Nest, allowed: Tier) -> Option<Product> {
    let [target] = nest.results.as_slice() else {
        return None;
    };
    let elem = target.value.ty();
    if allowed != Tier::Real || !matches!(elem, ScalarType::F32 | ScalarType::F64) {
        return None;
    }
    let old = Elem::read(target.array.clone(), elem, target.index.clone());
    let (sum, added) = sum_and_rest(&target.value)?;
    let (outer, Elem::Fold(fold)) = (sum.factor, &*sum.of) else {
        return None;
    };
    let zero = |e: &Elem| matches!(e, Elem::Const(start) if !start.is_true());
    // What it starts from is multiplied by the factor, too.
    let start = match &*fold.init {
        e if zero(e) => None,
        _ => Some(scaled(&fold.init).filter(|_| outer.is_none() && added.is_none())?),
    };
    let beta = match added.or(start) {
        None => None,
        Some(rest) if rest.of == old => Some(rest.factor.unwrap_or_else(|| number(elem, 1.0))),
        Some(_) => return None,
    };
    // Nothing is stored under a condition, but for sums on top of what is there, which take rounds.
    let accumulates = fold.init == old;
    if !accumulates && !matches!(target.store, Stored::Always(_)) {
        return None;
    }
    let (BinOp::Add, step) = fold.as_reduction()? else {
        return None;
    };
    let mut factors = Vec::new();
    factors_of(&step, &mut factors);
    let (inner, operands): (Vec<ElemRef>, Vec<ElemRef>) = factors.into_iter().partition(is_number);
    let [a, b] = operands.as_slice() else {
        return None;
    };
    let mut all = inner.into_iter().chain(outer);
    let alpha = all.next().unwrap_or_else(|| number(elem, 1.0));
    if all.next().is_some() {
        return None;
    }
    let [.., i, j] = nest.dims.as_slice() else {
        return None;
    };
    let [.., rows, columns] = nest.extents.as_slice() else {
        return None;
    };
    let fixed = |idx: &Idx| !idx.mentions(i) && !idx.mentions(j) && !idx.has_values();
    if ![rows, columns, &fold.extent].into_iter().all(fixed) {
        return None;
    }
    let ways = [(a, b), (b, a)].into_iter();
    let (left, right) = ways
        .filter_map(|(a, b)| Some((strided(a, i, &fold.var)?, strided(b, &fold.var, j)?)))
        .find(|(left, right)| left.fixed_in(j) && right.fixed_in(i))?;
    Some(Product {
        elem,
        columns: columns.clone(),
        depth: fold.extent.clone(),
        left,
        right,
        result: strided(&old, i, j)?,
        alpha,
        beta: beta.unwrap_or_else(|| number(elem, 0.0)),
    })
}

/// Fewer products than this are not left to a library: looking at the result once more costs as much as it saves.
const DEEP: i128 = 16;

/// A product with something done to its elements (a bias, an activation) as two nests: the product, and the rest on top of it
/// in place.
pub(super) fn staged(nest: &Nest, allowed: Tier) -> Option<[Nest; 2]> {
    let [target] = nest.results.as_slice() else {
        return None;
    };
    let Stored::Always(value) = &target.store else {
        return None;
    };
    if allowed != Tier::Real || product(nest, allowed).is_some() {
        return None;
    }
    let mut sums = Vec::new();
    let mut in_any_case = false;
    sums_of(value, true, &mut |e, always| {
        sums.push((canonical(e), e.clone()));
        in_any_case |= always;
    });
    let (form, sum) = sums.first()?;
    let Elem::Fold(fold) = &**sum else {
        return None;
    };
    let shallow = |n: &Idx| n.as_constant().is_some_and(|n| n < DEEP);
    let columns = nest.extents.last()?;
    if sums.iter().any(|(other, _)| other != form) || shallow(&fold.extent) || shallow(columns) {
        return None;
    }
    // The product stands where the result will, and is computed for all of it.
    let elem = value.ty();
    if !in_any_case || sum.ty() != elem || !matches!(elem, ScalarType::F32 | ScalarType::F64) {
        return None;
    }
    let old = Elem::read(target.array.clone(), elem, target.index.clone());
    let zero = number(elem, 0.0);
    let alone: ElemRef = Arc::new(Elem::Fold(Arc::new(Fold {
        init: zero.clone(),
        ..Fold::clone(fold)
    })));
    let total = match fold.init == zero {
        true => old,
        false => Elem::binary(BinOp::Add, fold.init.clone(), old),
    };
    let on_top = value.map(&mut |e| (canonical(e) == *form).then(|| total.clone()));
    // Once the product stands there, what stood there is gone.
    if reads_any(value, &[&target.array]) {
        return None;
    }
    let first = nest.storing(target, alone);
    product(&first, allowed)?;
    Some([first, nest.storing(target, on_top)])
}

/// The sums in a value, each with whether it is computed in any case.
pub(super) fn sums_of(e: &ElemRef, always: bool, found: &mut dyn FnMut(&ElemRef, bool)) {
    match &**e {
        Elem::Fold(_) => found(e, always),
        Elem::Select(c, t, f) => {
            sums_of(c, always, found);
            sums_of(t, false, found);
            sums_of(f, false, found);
        }
        _ => e
            .children()
            .into_iter()
            .for_each(|c| sums_of(c, always, found)),
    }
}

/// Something times a number or a parameter, if there is one.
struct Scaled {
    factor: Option<ElemRef>,
    of: ElemRef,
}

fn scaled(e: &ElemRef) -> Option<Scaled> {
    if let Elem::Binary(BinOp::Multiply, a, b) = &**e {
        let mut ways = [(a, b), (b, a)].into_iter();
        return ways
            .find(|(factor, _)| is_number(factor))
            .map(|(f, of)| Scaled {
                factor: Some(f.clone()),
                of: of.clone(),
            });
    }
    Some(Scaled {
        factor: None,
        of: e.clone(),
    })
}

/// A sum of products, and what is added to it.
fn sum_and_rest(e: &ElemRef) -> Option<(Scaled, Option<Scaled>)> {
    let is_sum = |s: &Scaled| matches!(&*s.of, Elem::Fold(_));
    let Elem::Binary(BinOp::Add, a, b) = &**e else {
        return Some((scaled(e).filter(is_sum)?, None));
    };
    match (scaled(a)?, scaled(b)?) {
        (sum, rest) if is_sum(&sum) => Some((sum, Some(rest))),
        (rest, sum) if is_sum(&sum) => Some((sum, Some(rest))),
        _ => None,
    }
}

fn factors_of(e: &ElemRef, into: &mut Vec<ElemRef>) {
    match &**e {
        Elem::Binary(BinOp::Multiply, a, b) => {
            factors_of(a, into);
            factors_of(b, into);
        }
        _ => into.push(e.clone()),
    }
}

/// The same for all elements, and there without being computed.
fn is_number(e: &ElemRef) -> bool {
    matches!(&**e, Elem::Const(_) | Elem::Param(..))
}

fn number(elem: ScalarType, value: f64) -> ElemRef {
    Elem::constant(match elem {
        ScalarType::F32 => Scalar::f32(value as f32),
        _ => Scalar::f64(value),
    })
}

/// What is read as a matrix, by the counters of its rows and columns.
fn strided(e: &ElemRef, row: &Sym, column: &Sym) -> Option<Strided> {
    let Elem::Read { array, index, .. } = &**e else {
        return None;
    };
    let (along_rows, rest) = index.linear_in(row)?;
    let (along_columns, first) = rest.linear_in(column)?;
    if index.has_values() || along_rows.mentions(column) {
        return None;
    }
    Some(Strided {
        array: array.clone(),
        first,
        row: along_rows,
        column: along_columns,
    })
}

impl Strided {
    fn fixed_in(&self, counter: &Sym) -> bool {
        let parts = [&self.first, &self.row, &self.column];
        !parts.into_iter().any(|i| i.mentions(counter))
    }
}

impl Builder {
    /// Notes that the loop that was closed last runs over the rows of a product.
    pub(super) fn contraction(&mut self, product: &Product) -> Result<(), Unsupported> {
        let mut matrix = |m: &Strided| -> Result<Matrix, Unsupported> {
            Ok(Matrix {
                array: m.array.clone(),
                first: self.index(&m.first)?,
                row: self.index(&m.row)?,
                column: self.index(&m.column)?,
            })
        };
        let (left, right) = (matrix(&product.left)?, matrix(&product.right)?);
        let result = matrix(&product.result)?;
        let (alpha, beta) = (self.value(&product.alpha)?, self.value(&product.beta)?);
        let found = Contraction {
            rows: self.next_loop - 1,
            elem: product.elem,
            columns: self.index(&product.columns)?,
            depth: self.index(&product.depth)?,
            left,
            right,
            result,
            alpha,
            beta,
        };
        self.contractions.push(found);
        self.tier = Tier::Real;
        Ok(())
    }
}
