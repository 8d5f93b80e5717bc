//! Tables of pointers of which a function uses the first few, each by its number: the channels of a sound (`in[0]`, `in[1]`), the
//! planes of an image. Each is an array of its own, wherever it lies.

use super::numbers::only_reads;
use super::{Node, RowTable, array_param, tag};
use crate::c::ffi::Cursor;
use crate::c::flatten::record::pointer_to;
use crate::c::lower::{Lower, Target};
use crate::c::source;
use std::collections::BTreeMap;
use tensorize_ir::signature::{Entry, Shape};

/// More of them are a table.
const MOST: usize = 8;

impl<'u> Lower<'u, '_> {
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
            let (target, dims, node) = match table.of_tables {
                true => {
                    let of_tables = false;
                    self.rows(
                        &name,
                        &RowTable {
                            of_tables,
                            ..*table
                        },
                    )
                }
                false => {
                    let (array, elem) = (self.flat_name(&name), table.elem);
                    let to = array.to_string();
                    let param = array_param(&array, elem, table.is_const, false);
                    let leaf = Node::Leaf(Shape::Pointer { to, given: None }, vec![param]);
                    (Target { array, elem }, vec![], leaf)
                }
            };
            let Node::Leaf(shape, own) = node else {
                continue;
            };
            at.push(Entry { index, shape });
            params.extend(own);
            (self.flat.numbers).insert((p, index), pointer_to(target, dims));
        }
        self.add_parameter(p, name, Node::Leaf(Shape::Pointers { at }, params));
        true
    }
}
