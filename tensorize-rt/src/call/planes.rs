//! Tables of tables of row pointers, such as `float ***volume`.

use super::{Block, Misfit, RowRange, pointers};
use std::ffi::c_void;
use std::ptr;

/// What a table of tables says of the planes and rows that a kernel touches.
#[derive(Debug)]
pub struct Planes {
    name: &'static str,
    table: *const *mut c_void,
    /// The first plane, and the first row of each.
    first: (i64, i64),
    /// How many rows of each plane.
    each: usize,
    /// Each plane's table.
    planes: Vec<*mut c_void>,
    /// The rows, plane by plane.
    rows: Vec<*mut c_void>,
}

impl Default for Planes {
    fn default() -> Self {
        Planes {
            name: "",
            table: ptr::null(),
            first: (0, 0),
            each: 0,
            planes: Vec::new(),
            rows: Vec::new(),
        }
    }
}

/// Element 0 of a flat array, rows per plane, and the pitch of the rows.
pub type Flat = (*mut c_void, i64, i64);

impl Planes {
    /// Reads the pointers to the rows that are within both bounds, of which the second is excluded. The kernel may touch fewer in
    /// some plane, so nothing says that all of them are there.
    pub fn of(
        name: &'static str,
        table: *const *mut c_void,
        planes: Option<(i64, i64)>,
        rows: Option<(i64, i64)>,
    ) -> Result<Self, Misfit> {
        let unknown = || Misfit::from(format!("which rows of `{name}` are touched is not known"));
        let (planes, rows) = planes.zip(rows).ok_or_else(unknown)?;
        let count = |(lo, hi): (i64, i64)| {
            usize::try_from(hi.checked_sub(lo).ok_or_else(unknown)?.max(0)).map_err(|_| unknown())
        };
        let (n, each) = (count(planes)?, count(rows)?);
        let mut read = Planes {
            name,
            table,
            first: (planes.0, rows.0),
            each,
            ..Planes::default()
        };
        if n == 0 || each == 0 {
            return Ok(read);
        }
        read.planes = pointers(table.wrapping_offset(planes.0 as isize), n)
            .ok_or_else(|| format!("the planes of `{name}` can't be read"))?;
        for plane in &read.planes {
            let first = plane.cast::<*mut c_void>().wrapping_offset(rows.0 as isize);
            let found = pointers(first, each);
            let found = found.ok_or_else(|| format!("the rows of `{name}` can't be read"))?;
            let room = read.rows.try_reserve(each);
            room.map_err(|_| Misfit::from("there is not enough memory"))?;
            read.rows.extend(found);
        }
        Ok(read)
    }

    /// The flat array that it stands for, if its rows are equally far apart, and its planes are.
    ///
    /// `columns` are those that are touched, for a table of one row.
    pub fn spaced(&self, columns: Option<(i64, i64)>, size: usize) -> Result<Flat, Misfit> {
        let name = self.name;
        let uneven = || Misfit::from(format!("the rows of `{name}` are not equally far apart"));
        let width = columns.map_or(1, |(_, hi)| hi.max(1));
        let Some(first) = self.rows.first().map(|r| *r as usize) else {
            return Ok((ptr::null_mut(), 1, width));
        };
        let distance = |to: usize, unit: usize| {
            let bytes = (self.rows[to] as usize).checked_sub(first);
            let even = bytes.filter(|b| *b > 0 && b % unit == 0);
            even.map(|b| b / unit).ok_or_else(uneven)
        };
        let several = self.planes.len() > 1;
        let (pitch, per_plane) = match (self.each > 1, several) {
            (true, _) => {
                let pitch = distance(1, size)?;
                let row = pitch.checked_mul(size).ok_or_else(uneven)?;
                let planes = several.then(|| distance(self.each, row));
                (pitch, planes.unwrap_or(Ok(self.each))?)
            }
            (false, true) => (distance(1, size)?, 1),
            (false, false) => (width as usize, 1),
        };
        let at = |plane: usize, row: usize| {
            let rows = plane.wrapping_mul(per_plane).wrapping_add(row);
            first.wrapping_add(rows.wrapping_mul(pitch).wrapping_mul(size))
        };
        let found = self.rows.iter().enumerate();
        if found
            .into_iter()
            .any(|(i, r)| *r as usize != at(i / self.each, i % self.each))
        {
            return Err(uneven());
        }
        let (Ok(pitch), Ok(per_plane)) = (i64::try_from(pitch), i64::try_from(per_plane)) else {
            return Err(uneven());
        };
        let back = (self.first.0)
            .checked_mul(per_plane)
            .and_then(|rows| rows.checked_add(self.first.1))
            .and_then(|rows| rows.checked_mul(pitch))
            .and_then(|elements| elements.checked_mul(size as i64))
            .ok_or_else(uneven)?;
        let origin = self.rows[0].wrapping_byte_offset((back as isize).wrapping_neg());
        Ok((origin, per_plane, pitch))
    }

    /// Copies what is touched of the rows.
    ///
    /// # Safety
    /// As for [`Block::gather_table`].
    pub unsafe fn gather(
        &self,
        block: &mut Block,
        columns: Option<(i64, i64)>,
        size: usize,
        writes: bool,
    ) -> Result<Flat, Misfit> {
        let large = || Misfit::from("its sizes are too large");
        let each = i64::try_from(self.each.max(1)).map_err(|_| large())?;
        let count = i64::try_from(self.rows.len()).map_err(|_| large())?;
        let lo = (self.first.0)
            .checked_mul(each)
            .and_then(|rows| rows.checked_add(self.first.1))
            .ok_or_else(large)?;
        let rows = RowRange {
            lo,
            hi: lo.checked_add(count).ok_or_else(large)?,
            pitch: columns.map_or(1, |(_, hi)| hi.max(1)),
        };
        let table = self
            .rows
            .as_ptr()
            .wrapping_offset(lo.wrapping_neg() as isize);
        // SAFETY: handed on.
        let (origin, pitch) =
            unsafe { block.gather_table(self.name, table, Some(rows), columns, size, writes) }?;
        Ok((origin, each, pitch))
    }

    /// Where the pointers were, as first and last bytes.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, usize)> {
        let bytes = |n: usize| n * size_of::<*mut c_void>();
        let table = self.table.wrapping_offset(self.first.0 as isize) as usize;
        let outer = (table, table.wrapping_add(bytes(self.planes.len())));
        let inner = self.planes.iter().map(move |plane| {
            let first = plane.cast::<*mut c_void>();
            let first = first.wrapping_offset(self.first.1 as isize) as usize;
            (first, first.wrapping_add(bytes(self.each)))
        });
        std::iter::once(outer).chain(inner)
    }
}

#[cfg(test)]
mod tests;
