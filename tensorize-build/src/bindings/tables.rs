//! What a dispatcher does with a table of row pointers before a call: it finds the flat array that the table stands for, or copies
//! its rows.

use super::{Table, Writer};
use crate::arithmetic;
use std::fmt::Write as _;
use tensorize_ir::guard::{Extent, Footprint};
use tensorize_ir::index::Idx;

/// Rust for one table.
pub(super) struct Prepared {
    /// Variables of the whole call.
    pub declare: String,
    /// Lets the array and its distances be those of the flat form; `__gather` says whether rows are copied.
    pub prepare: String,
    /// Whether rows that are not equally far apart can be copied.
    pub may_be_copied: bool,
}

impl Writer<'_> {
    /// The table of number `i`.
    pub(super) fn prepared_table(
        &self,
        i: usize,
        to: &str,
        pitch: &str,
    ) -> Result<Prepared, String> {
        let (a, p, size) = (self.rust_name(to), self.rust_name(pitch), self.size_of(to)?);
        let depends = self.touches(to, |f| f.reads_depend_on_data || f.writes_depend_on_data)?;
        let writes = self.touches(to, |f| f.writes)?;
        let spaced = format!(
            "unsafe {{ rt::equally_spaced({to:?}, __table_{i}, __range_{i}, {size}, {depends}) }}?"
        );
        let columns = self.part_of(to, |t| t.columns.as_ref())?;
        let gather = match &columns {
            Some(columns) => format!(
                "let __columns = {columns};\n\
                 unsafe {{ __block_{i}.borrow_mut().gather_table({to:?}, __table_{i}, __range_{i}, __columns, {size}, {writes}) }}?"
            ),
            None => spaced.clone(),
        };
        let extent = self.extent_of(self.proven()?, to)?;
        Ok(Prepared {
            declare: declared(&a, i),
            prepare: format!(
                "let __range_{i} = rt::row_range(&|{p}: i64| {{\n{extent}\n}});\n\
                 let (__a, __p) = if __gather {{\n{gather}\n}} else {{\n{spaced}\n}};\n\
                 {a} = __a.cast();\n{p} = __p;\n"
            ),
            may_be_copied: columns.is_some(),
        })
    }

    /// The table of tables of number `i`.
    pub(super) fn prepared_planes(
        &self,
        i: usize,
        to: &str,
        pitch: &str,
        per_plane: &str,
    ) -> Result<Prepared, String> {
        let (a, p, r) = (
            self.rust_name(to),
            self.rust_name(pitch),
            self.rust_name(per_plane),
        );
        let (size, writes) = (self.size_of(to)?, self.touches(to, |f| f.writes)?);
        let part = |part: fn(&Table) -> Option<&(Idx, Idx)>| {
            let unknown = || format!("which part of the planes of `{to}` is touched is not known");
            self.part_of(to, part)?.ok_or_else(unknown)
        };
        let planes = part(|t| t.planes.as_ref())?;
        let rows = part(|t| t.rows.as_ref())?;
        let columns = part(|t| t.columns.as_ref())?;
        let mut declare = declared(&a, i);
        writeln!(
            declare,
            "let __planes_{i} = ::core::cell::RefCell::new(rt::Planes::default());"
        )
        .ok();
        Ok(Prepared {
            declare,
            prepare: format!(
                "let (__planes, __rows, __columns) = ({planes}, {rows}, {columns});\n\
                 *__planes_{i}.borrow_mut() = rt::Planes::of({to:?}, __table_{i}, __planes, __rows)?;\n\
                 let (__a, __r, __p) = if __gather {{\n\
                 unsafe {{ __planes_{i}.borrow().gather(&mut __block_{i}.borrow_mut(), __columns, {size}, {writes}) }}?\n\
                 }} else {{\n__planes_{i}.borrow().spaced(__columns, {size})?\n}};\n\
                 {a} = __a.cast();\n{r} = __r;\n{p} = __p;\n"
            ),
            may_be_copied: true,
        })
    }

    fn touches(&self, array: &str, how: impl Fn(&Footprint) -> bool) -> Result<bool, String> {
        let mut all = self.proven()?.footprints.iter();
        Ok(all.any(|f| *f.extent.array == *array && how(f)))
    }

    /// `(lo, hi)` of a part of a table as an `Option`, where it is known.
    fn part_of(
        &self,
        array: &str,
        part: impl Fn(&Table) -> Option<&(Idx, Idx)>,
    ) -> Result<Option<String>, String> {
        let proven = self.proven()?;
        let Some((lo, hi)) = proven.tables.get(array).and_then(part) else {
            return Ok(None);
        };
        let extent = Extent {
            array: array.into(),
            lo: lo.clone(),
            hi: hi.clone(),
        };
        let Ok((lo, hi)) = self.with_names(|names| arithmetic::extent(&extent, names)) else {
            return Ok(None);
        };
        let footprint = Footprint {
            extent,
            reads: false,
            writes: false,
            reads_depend_on_data: false,
            writes_depend_on_data: false,
        };
        let lets = self.lets(&[], &[&footprint]);
        Ok(Some(format!("(|| {{\n{lets}Some(({lo}, {hi}))\n}})()")))
    }
}

fn declared(array: &str, i: usize) -> String {
    format!(
        "let __table_{i} = {array} as *const *mut ::core::ffi::c_void;\n\
         let __block_{i} = ::core::cell::RefCell::new(rt::Block::default());\n"
    )
}
