//! How tensors that lie in arrays are seen as matrices.

use crate::array::linear;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::tensir::{View, dim};

/// An element of an array, from which strides are counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub array: Sym,
    pub offset: Idx,
    /// From row to row, in elements. Of no meaning for a flat shape.
    pub pitch: Idx,
}

/// How a tensor is seen as a matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// So many elements, one after the other.
    Flat(Idx),
    /// Rows by columns, those of a row one after the other.
    Rows(Idx, Idx),
}

/// The number of elements.
pub(crate) fn size(shape: &[Idx]) -> Idx {
    shape.iter().fold(Idx::constant(1), |n, e| &n * e)
}

/// How tensors of this shape under these views are all seen as matrices, if they can be.
pub(crate) fn matrix_shape(shape: &[Idx], views: &[View]) -> Option<Shape> {
    let dims: Vec<Sym> = (0..shape.len()).map(dim).collect();
    let mut strides = Vec::new();
    for view in views {
        strides.push(linear(&view.index, &dims)?.0);
    }
    let flat = |strides: &Vec<Idx>| {
        let mut inner = Idx::constant(1);
        strides.iter().zip(shape).rev().all(|(stride, extent)| {
            let fits = *stride == inner;
            inner = &inner * extent;
            fits
        })
    };
    if strides.iter().all(flat) {
        return Some(Shape::Flat(size(shape)));
    }
    match shape {
        [n] => Some(Shape::Rows(n.clone(), Idx::constant(1))),
        [rows, cols] if strides.iter().all(|s| s[1].as_constant() == Some(1)) => {
            Some(Shape::Rows(rows.clone(), cols.clone()))
        }
        _ => None,
    }
}

/// The place of a view's first element.
pub(crate) fn place(view: &View, shape: &[Idx]) -> Option<Place> {
    let dims: Vec<Sym> = (0..shape.len()).map(dim).collect();
    let (strides, offset) = linear(&view.index, &dims)?;
    Some(Place {
        array: view.array.clone(),
        offset,
        pitch: strides.first().cloned().unwrap_or(Idx::constant(1)),
    })
}
