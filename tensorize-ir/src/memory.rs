//! Concrete arguments of a call and what it leaves behind: shared by both interpreters.

use crate::element::{Elem, Env, Evaluator};
use crate::index::{Idx, Sym};
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;

/// The arguments of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Values of the scalar parameters, by name.
    pub scalars: BTreeMap<Sym, Scalar>,
    /// What each pointer parameter points into. Two names never share a buffer.
    pub arrays: BTreeMap<Sym, Buffer>,
}

/// What a call leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The final contents of every array.
    pub arrays: BTreeMap<Sym, Buffer>,
    /// The returned value, if there is one.
    pub returned: Option<Scalar>,
}

/// The memory around a pointer: elements at indices `-origin .. data.len() - origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Element type.
    pub elem: ScalarType,
    /// How many elements lie before the one that the pointer points to.
    pub origin: i64,
    /// The elements.
    pub data: Vec<Scalar>,
}

impl Buffer {
    /// A buffer whose first element is number 0.
    pub fn new(elem: ScalarType, data: Vec<Scalar>) -> Buffer {
        Buffer {
            elem,
            origin: 0,
            data,
        }
    }

    /// `len` zeros from number 0 on.
    pub fn zeros(elem: ScalarType, len: usize) -> Buffer {
        Buffer::new(elem, vec![Scalar::zero(elem); len])
    }

    fn offset(&self, index: i128) -> Option<usize> {
        let offset = usize::try_from(index.checked_add(self.origin.into())?).ok()?;
        (offset < self.data.len()).then_some(offset)
    }

    /// The element at an index relative to the pointer; `None` outside of the buffer.
    pub fn get(&self, index: i128) -> Option<Scalar> {
        self.offset(index).map(|i| self.data[i])
    }

    /// Replaces the element at an index relative to the pointer. `None`, and no change, outside of
    /// the buffer or if the type is not the buffer's.
    pub fn set(&mut self, index: i128, value: Scalar) -> Option<()> {
        let i = self.offset(index).filter(|_| value.ty == self.elem)?;
        self.data[i] = value;
        Some(())
    }
}

impl Inputs {
    /// Adds a scalar argument.
    pub fn scalar(mut self, name: impl Into<Sym>, value: Scalar) -> Inputs {
        self.scalars.insert(name.into(), value);
        self
    }

    /// Adds an array argument.
    pub fn array(mut self, name: impl Into<Sym>, buffer: Buffer) -> Inputs {
        self.arrays.insert(name.into(), buffer);
        self
    }

    /// The mathematical value of an integer argument.
    pub fn size(&self, name: &str) -> Option<i128> {
        self.scalars
            .get(name)
            .filter(|v| v.ty.is_int())
            .map(|v| v.as_int())
    }

    /// What a polynomial over the sizes is for these arguments: an extent, or a place where no dimension is.
    pub fn number(&self, of: &Idx) -> Option<i128> {
        if !of.has_values() {
            return of.eval_sizes(&|s| self.size(s));
        }
        let number = Elem::OfIdx(ScalarType::I64, of.clone());
        let value = Evaluator::new(&number, &[], self).at(&[], &mut u64::MAX.clone());
        value.ok().map(Scalar::as_int)
    }
}

impl Env for Inputs {
    fn sym(&self, name: &Sym) -> Option<i128> {
        self.size(name)
    }

    fn param(&self, name: &Sym) -> Option<Scalar> {
        self.scalars.get(name).copied()
    }

    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar> {
        self.arrays.get(array)?.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_relative_to_the_pointer() {
        let int = |v| Scalar::int(ScalarType::I32, v);
        let mut b = Buffer {
            elem: ScalarType::I32,
            origin: 1,
            data: vec![int(7), int(8)],
        };
        assert_eq!(
            (b.get(-1), b.get(0), b.get(1), b.get(-2)),
            (Some(int(7)), Some(int(8)), None, None)
        );
        assert!(b.set(-1, int(9)).is_some() && b.set(1, int(9)).is_none());
        assert!(b.set(0, Scalar::f32(1.0)).is_none());
        assert_eq!(b.data, [int(9), int(8)]);
        assert_eq!(b.get(i128::MAX), None);
    }
}
