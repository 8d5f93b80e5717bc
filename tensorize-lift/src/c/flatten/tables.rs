//! Tables of pointers. Mostly they are the rows of one array, or the planes of one. Where a function uses the first few, each by its
//! number (the channels of a sound, `in[0]` and `in[1]`), each is an array of its own, wherever it lies.

use super::numbers::only_reads;
use super::record::pointer_to;
use super::{Node, array_param, tag};
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Target};
use crate::c::source;
use crate::c::types::{Ty, const_elements};
use clang_sys::CXType_Pointer;
use std::collections::BTreeMap;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{Entry, Shape};

/// More of them are a table.
const MOST: usize = 8;

/// A table of pointers to rows of numbers, or of pointers to such tables.
pub(super) struct RowTable {
    pub elem: ScalarType,
    /// Whether the numbers are `const`.
    pub is_const: bool,
    /// Whether it is one of tables.
    pub of_tables: bool,
    /// How many pointers it has, where it lies in a struct itself.
    pub held: Option<u64>,
}

/// Whether this is a pointer to pointers to numbers, or to pointers to these; or an array of what that points to.
pub(super) fn row_table(t: &Ty, spelled: Type<'_>) -> Option<RowTable> {
    let (Ty::Pointer(inner) | Ty::Array(inner, _)) = t else {
        return None;
    };
    let Ty::Pointer(inner) = &**inner else {
        return None;
    };
    let (elem, of_tables) = match &**inner {
        Ty::Pointer(elem) => (elem.as_scalar()?, true),
        elem => (elem.as_scalar()?, false),
    };
    let c = spelled.canonical();
    // `float *m[]` is an array of pointers until it decays.
    let inner = if c.kind() == CXType_Pointer {
        c.pointee()
    } else {
        c.array_element()
    };
    let row = if of_tables { inner.pointee() } else { inner };
    Some(RowTable {
        elem,
        is_const: const_elements(row.pointee()),
        of_tables,
        held: None,
    })
}

impl<'u> Lower<'u, '_> {
    /// The rows of one array, or the planes: the array, how far they are apart, and what the parameter becomes.
    pub(super) fn rows(
        &mut self,
        name: &str,
        table: &RowTable,
    ) -> (Target, Vec<Expr>, (Shape, Vec<Param>)) {
        let (array, elem) = (self.flat_name(name), table.elem);
        let pitch = self.flat_name(&format!("{array}_pitch"));
        let per_plane = table
            .of_tables
            .then(|| self.flat_name(&format!("{array}_rows")));
        self.flat.pitches.insert(pitch.clone());
        self.flat.tables.insert(array.clone());
        let shape = Shape::Rows {
            to: array.to_string(),
            pitch: pitch.to_string(),
            per_plane: per_plane.as_ref().map(ToString::to_string),
            given: None,
            held: table.held,
        };
        let distances = || [&pitch].into_iter().chain(&per_plane).cloned();
        let ty = ScalarType::I64;
        let mut params = vec![array_param(&array, elem, table.is_const, false)];
        params.extend(distances().map(|name| Param::Scalar { name, ty }));
        // The outer one is first.
        let dims = distances().rev().map(|name| Expr::Var(name, ty)).collect();
        (Target { array, elem }, dims, (shape, params))
    }

    /// A parameter that is such a table; `false` if it is none. Every call reads the pointers, so the function has to.
    pub(super) fn numbered_entries(&mut self, p: Cursor<'u>, name: &str, table: &RowTable) -> bool {
        let Some(body) = source::body(self.frames[0].function) else {
            return false;
        };
        let mut read = BTreeMap::new();
        if !only_reads(body, p, true, &mut read)
            || read.is_empty()
            || read.len() > MOST
            || !read.values().all(|c| tag::is_always_reached(body, *c))
        {
            return false;
        }
        let (mut at, mut params) = (Vec::new(), Vec::new());
        for index in read.into_keys() {
            let name = format!("{name}_{index}");
            let (target, dims, (shape, own)) = if table.of_tables {
                let inner = RowTable {
                    of_tables: false,
                    ..*table
                };
                self.rows(&name, &inner)
            } else {
                let (array, elem) = (self.flat_name(&name), table.elem);
                let to = array.to_string();
                let param = array_param(&array, elem, table.is_const, false);
                let shape = Shape::Pointer { to, given: None };
                (Target { array, elem }, vec![], (shape, vec![param]))
            };
            at.push(Entry { index, shape });
            params.extend(own);
            (self.flat.numbers).insert((p, index), pointer_to(target, dims));
        }
        self.add_parameter(p, name, Node::Leaf(Shape::Pointers { at }, params));
        true
    }
}
