//! Calls whose arguments are more than numbers and arrays: what the shim in C or C++ says of one, tables of
//! row pointers, and rows that are copied into one block.

#![allow(unsafe_code)]

mod planes;

pub use planes::Planes;

use crate::memory::{Array, copy_if_readable};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// A call as the shim describes it. The layout is that of `struct tensorize_call` in generated C.
#[repr(C)]
#[derive(Debug)]
pub struct Call {
    /// The addresses of the original's arguments; null if it was called with flat ones.
    pub arguments: *const *mut c_void,
    fixed: *const *const c_void,
    fixed_count: usize,
    refused: *const c_char,
    allocate: Option<unsafe extern "C" fn(*const *mut c_void, i64, i64, i64) -> *mut c_void>,
    settle: Option<unsafe extern "C" fn(*const *mut c_void, i64, i64, i64, i64)>,
    /// Vectors that get their elements when the call ends: each one's address, and its elements' first and last byte.
    moved: *const *const c_void,
    moved_count: usize,
}

/// A call with flat arguments.
pub static FLAT: Call = Call {
    arguments: ptr::null(),
    fixed: ptr::null(),
    fixed_count: 0,
    refused: ptr::null(),
    allocate: None,
    settle: None,
    moved: ptr::null(),
    moved_count: 0,
};

// SAFETY: `FLAT` points to nothing; other values are not shared.
unsafe impl Sync for Call {}

/// Why a call does not fit the flat form.
pub type Misfit = std::borrow::Cow<'static, str>;

impl Call {
    /// The shim's call, or a flat one.
    ///
    /// # Safety
    /// Null, or a shim's, which it keeps for as long as the call lasts.
    pub unsafe fn of<'a>(call: *const Call) -> &'a Call {
        // SAFETY: handed on.
        unsafe { call.as_ref() }.unwrap_or(&FLAT)
    }

    /// The original's own arguments, if it comes from a shim that found nothing amiss.
    ///
    /// # Safety
    /// As for [`Call::of`].
    #[inline(always)]
    pub unsafe fn arguments(call: *const Call) -> Option<*const *mut c_void> {
        // SAFETY: handed on.
        let call = unsafe { call.as_ref() }?;
        (call.refused.is_null() && !call.arguments.is_null()).then_some(call.arguments)
    }

    /// Whether it comes from a shim, with the original's own arguments.
    pub fn from_source(&self) -> bool {
        !self.arguments.is_null()
    }

    /// An error if the shim found that the arguments have no flat form.
    pub fn fits(&self) -> Result<(), Misfit> {
        if self.refused.is_null() {
            return Ok(());
        }
        // SAFETY: a literal of the shim's.
        let why = unsafe { CStr::from_ptr(self.refused) };
        Err(why.to_string_lossy().into_owned().into())
    }

    /// An error if the kernel writes to what the shim has read: the flat form would not see it. Or if anything else lies in a
    /// vector whose elements are kept elsewhere until the call ends. `blocks` are the rows that were copied.
    pub fn keeps_apart(
        &self,
        arrays: &[Array],
        tables: &[(*const *mut c_void, Option<RowRange>)],
        planes: &[&Planes],
        blocks: &[&Block],
    ) -> Result<(), Misfit> {
        let fixed = match self.fixed_count {
            0 => &[],
            // SAFETY: the shim's array of so many pairs.
            n => unsafe { std::slice::from_raw_parts(self.fixed, 2 * n) },
        };
        let moved = match self.moved_count {
            0 => &[],
            // SAFETY: the shim's array of so many triples.
            n => unsafe { std::slice::from_raw_parts(self.moved, 3 * n) },
        };
        let entries = tables.iter().filter_map(|(table, rows)| {
            let at = |i: i64| table.wrapping_offset(i as isize) as usize;
            rows.map(|r| (at(r.lo), at(r.hi)))
        });
        let read: Vec<(usize, usize)> = fixed
            .chunks(2)
            .map(|pair| (pair[0] as usize, pair[1] as usize))
            .chain(entries)
            .chain(planes.iter().flat_map(|p| p.entries()))
            .collect();
        let overlap = |a: (usize, usize), b: (usize, usize)| a.0 < b.1 && b.0 < a.1;
        let vectors: Vec<(usize, (usize, usize))> = moved
            .chunks(3)
            .map(|v| (v[0] as usize, (v[1] as usize, v[2] as usize)))
            .collect();
        for a in arrays {
            let range = a.range().ok_or("its sizes are too large")?;
            if a.writes && read.iter().any(|r| overlap(range, *r)) {
                return Err(format!("`{}` overlaps with the arguments themselves", a.name).into());
            }
            if vectors.iter().any(|(_, v)| overlap(range, *v)) {
                let name = a.name;
                return Err(
                    format!("`{name}` overlaps with a vector that changes its length").into(),
                );
            }
        }
        for row in blocks.iter().flat_map(|b| b.ranges()) {
            let range = (row.start, row.end);
            if row.writes && read.iter().any(|r| overlap(range, *r)) {
                return Err("rows overlap with the arguments themselves".into());
            }
            if vectors.iter().any(|(_, v)| overlap(range, *v)) {
                return Err("rows overlap with a vector that changes its length".into());
            }
        }
        for (i, (object, elements)) in vectors.iter().enumerate() {
            let twice = vectors[..i].iter().any(|(o, _)| o == object);
            if twice || read.iter().any(|r| overlap(*elements, *r)) {
                return Err(
                    "a vector that changes its length is passed as something else, too".into(),
                );
            }
        }
        Ok(())
    }

    /// Room for an array whose length the kernel decides.
    ///
    /// # Safety
    /// The shim knows an array of this number.
    pub unsafe fn allocate(
        &self,
        which: i64,
        count: i64,
        pitch: i64,
    ) -> Result<*mut c_void, Misfit> {
        let allocate = self.allocate.ok_or("the caller makes no room")?;
        // SAFETY: handed on; it is the shim's own.
        let room = unsafe { allocate(self.arguments, which, count.max(0), pitch) };
        if room.is_null() && count > 0 {
            return Err("there is not enough memory".into());
        }
        Ok(room)
    }

    /// Gives such an array its length.
    ///
    /// # Safety
    /// The shim made room for it in this call.
    pub unsafe fn settle(&self, which: i64, rows: i64, size: i64, pitch: i64) {
        if let Some(settle) = self.settle {
            // SAFETY: handed on.
            unsafe { settle(self.arguments, which, rows, size, pitch) };
        }
    }
}

/// The rows of a table that a kernel touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange {
    /// The first.
    pub lo: i64,
    /// One past the last.
    pub hi: i64,
    /// A pitch that keeps them apart, as far as the last one tells.
    pub pitch: i64,
}

/// The rows of a table, from the extent of its flat array for any pitch.
///
/// Which row and which column an access is does not depend on the pitch, of which the source knows nothing;
/// `row*pitch + column` lies within the extent for every pitch. So with a pitch larger than all columns the
/// extent's ends, divided by it, are the ends of the rows.
pub fn row_range(extent: &dyn Fn(i64) -> Option<(i64, i64)>) -> Option<RowRange> {
    const PITCHES: [i64; 3] = [1 << 28, 1 << 29, 1 << 30];
    let at: Vec<(i64, i64)> = PITCHES.iter().map(|p| extent(*p)).collect::<Option<_>>()?;
    if at.iter().all(|(lo, hi)| lo >= hi) {
        return Some(RowRange {
            lo: 0,
            hi: 0,
            pitch: 1,
        });
    }
    let line = |end: &dyn Fn(&(i64, i64)) -> i64| {
        let step = PITCHES[0];
        let slope = end(&at[1]).checked_sub(end(&at[0]))?;
        let again = end(&at[2]).checked_sub(end(&at[1]))?;
        if slope % step != 0 || again.checked_sub(slope)? != slope {
            return None;
        }
        let rest = end(&at[0]).checked_sub(slope)?;
        // A column as large as the pitch would say something else.
        (rest.abs() < step / 2).then_some((slope / step, rest))
    };
    let (lo, _) = line(&|e| e.0)?;
    let (last, rest) = line(&|e| e.1)?;
    // Nothing is known of columns left of the row's start.
    (rest > 0 && last >= lo).then_some(RowRange {
        lo,
        hi: last + 1,
        pitch: rest,
    })
}

/// The flat array that a table of row pointers stands for: its element 0, and the pitch. The rows have to be
/// equally far apart.
///
/// # Safety
/// `table` is the kernel's argument, and `rows` are those that it touches, at least on some data; if on some
/// data only, `depends_on_data`.
pub unsafe fn equally_spaced(
    name: &'static str,
    table: *const *mut c_void,
    rows: Option<RowRange>,
    size: usize,
    depends_on_data: bool,
) -> Result<(*mut c_void, i64), Misfit> {
    let rows = rows.ok_or_else(|| format!("which rows of `{name}` are touched is not known"))?;
    let count = usize::try_from(rows.hi - rows.lo).unwrap_or(0);
    if count == 0 {
        return Ok((ptr::null_mut(), rows.pitch));
    }
    let first = table.wrapping_offset(rows.lo as isize);
    let copy;
    let pointers: &[*mut c_void] = if depends_on_data {
        copy =
            pointers(first, count).ok_or_else(|| format!("the rows of `{name}` can't be read"))?;
        &copy
    } else {
        // SAFETY: the kernel reads these entries.
        unsafe { std::slice::from_raw_parts(first, count) }
    };
    let uneven = || Misfit::from(format!("the rows of `{name}` are not equally far apart"));
    let at = |i: usize| pointers[i] as usize;
    let mut pitch = rows.pitch;
    if count > 1 {
        let step = at(1).checked_sub(at(0)).ok_or_else(uneven)?;
        if step == 0
            || step % size != 0
            || (1..count).any(|i| at(i).wrapping_sub(at(i - 1)) != step)
        {
            return Err(uneven());
        }
        pitch = i64::try_from(step / size).map_err(|_| uneven())?;
    }
    let back = rows
        .lo
        .checked_mul(pitch)
        .and_then(|e| e.checked_mul(size as i64))
        .ok_or_else(uneven)?;
    let origin = pointers[0].wrapping_byte_offset((back as isize).wrapping_neg());
    Ok((origin, pitch))
}

/// So many pointers from there on, if they can be read.
fn pointers(from: *const *mut c_void, count: usize) -> Option<Vec<*mut c_void>> {
    let mut found: Vec<*mut c_void> = Vec::new();
    found.try_reserve_exact(count).ok()?;
    found.resize(count, ptr::null_mut());
    let bytes = count.checked_mul(size_of::<*mut c_void>())?;
    // SAFETY: pointers may hold any bytes.
    let to = unsafe { std::slice::from_raw_parts_mut(found.as_mut_ptr().cast::<u8>(), bytes) };
    (copy_if_readable(from.cast(), to) == Some(true)).then_some(found)
}

/// Rows that lie anywhere, copied into one block for the time of a call.
#[derive(Debug, Default)]
pub struct Block {
    rows: Vec<*mut u8>,
    /// The length of a row, in bytes.
    length: usize,
    size: usize,
    writes: bool,
    data: Vec<u64>,
    before: Vec<u64>,
}

impl Block {
    /// Copies rows of `length` elements; element 0 of the block.
    ///
    /// # Safety
    /// `table` holds `rows` pointers to so many elements of `size` bytes.
    pub unsafe fn gather(
        &mut self,
        table: *const *mut c_void,
        rows: i64,
        length: i64,
        size: usize,
        writes: bool,
    ) -> Result<*mut c_void, Misfit> {
        let large = || Misfit::from("its sizes are too large");
        let rows = usize::try_from(rows).map_err(|_| large())?;
        self.length = usize::try_from(length)
            .ok()
            .and_then(|l| l.checked_mul(size))
            .ok_or_else(large)?;
        (self.size, self.writes) = (size, writes);
        let bytes = rows.checked_mul(self.length).ok_or_else(large)?;
        let words = bytes.div_ceil(8);
        let memory = |_| Misfit::from("there is not enough memory");
        self.data.try_reserve_exact(words).map_err(memory)?;
        self.data.resize(words, 0);
        // SAFETY: handed on.
        self.rows = (0..rows).map(|i| unsafe { *table.add(i) }.cast()).collect();
        // SAFETY: handed on.
        unsafe { self.read() };
        if writes {
            self.before.try_reserve_exact(words).map_err(memory)?;
            self.before.extend_from_slice(&self.data);
        }
        Ok(self.data.as_mut_ptr().cast())
    }

    /// Copies what is touched of the rows of a table; element 0 of the flat array, and its pitch.
    ///
    /// # Safety
    /// `table` is the kernel's argument, and it touches nothing outside of these rows and columns.
    pub unsafe fn gather_table(
        &mut self,
        name: &'static str,
        table: *const *mut c_void,
        rows: Option<RowRange>,
        columns: Option<(i64, i64)>,
        size: usize,
        writes: bool,
    ) -> Result<(*mut c_void, i64), Misfit> {
        let large = || Misfit::from("its sizes are too large");
        let (rows, (lo, hi)) = rows.zip(columns).ok_or_else(large)?;
        let width = hi.checked_sub(lo).ok_or_else(large)?;
        let count = usize::try_from(rows.hi - rows.lo).unwrap_or(0);
        if count == 0 || width <= 0 {
            return Ok((ptr::null_mut(), rows.pitch));
        }
        let unreadable = || Misfit::from(format!("the rows of `{name}` can't be read"));
        let bytes = |n: i64| {
            n.checked_mul(size as i64)
                .map(|b| b as isize)
                .ok_or_else(large)
        };
        let first = table.wrapping_offset(rows.lo as isize);
        let mut found = pointers(first, count).ok_or_else(unreadable)?;
        let start = bytes(lo)?;
        for row in &mut found {
            *row = row.wrapping_byte_offset(start);
        }
        // A row may have fewer columns than another; what is not there is not touched, but it has to be
        // readable for the copy.
        let width_bytes = usize::try_from(bytes(width)?).map_err(|_| large())?;
        let mut seen: Vec<u8> = Vec::new();
        seen.try_reserve_exact(width_bytes).map_err(|_| large())?;
        seen.resize(width_bytes, 0);
        if found
            .iter()
            .any(|row| copy_if_readable(row.cast::<u8>().cast_const(), &mut seen) != Some(true))
        {
            return Err(unreadable());
        }
        // SAFETY: all of it has just been read.
        let data = unsafe { self.gather(found.as_ptr(), count as i64, width, size, writes) }?;
        let back = rows
            .lo
            .checked_mul(width)
            .and_then(|e| e.checked_add(lo))
            .ok_or_else(large)?;
        Ok((
            data.wrapping_byte_offset(bytes(back)?.wrapping_neg()),
            width,
        ))
    }

    /// Copies the rows again.
    unsafe fn read(&mut self) {
        let to = self.data.as_mut_ptr().cast::<u8>();
        for (i, row) in self.rows.iter().enumerate() {
            // SAFETY: the block holds all rows, and `gather`'s caller says that these are there.
            unsafe { ptr::copy_nonoverlapping(*row, to.add(i * self.length), self.length) };
        }
    }

    /// After the original has run on the rows themselves.
    ///
    /// # Safety
    /// The rows are still there.
    pub unsafe fn refresh(&mut self) {
        // SAFETY: handed on.
        unsafe { self.read() };
        if self.writes {
            self.before.copy_from_slice(&self.data);
        }
    }

    /// Stores what has changed in the block.
    ///
    /// # Safety
    /// The rows are still there, and the kernel writes to them.
    pub unsafe fn scatter(&self) {
        if !self.writes {
            return;
        }
        let (new, old) = (
            self.data.as_ptr().cast::<u8>(),
            self.before.as_ptr().cast::<u8>(),
        );
        for (i, row) in self.rows.iter().enumerate() {
            let at = i * self.length;
            // SAFETY: both hold all rows.
            let [new, old] =
                [new, old].map(|b| unsafe { std::slice::from_raw_parts(b.add(at), self.length) });
            for (j, (a, b)) in new.chunks(self.size).zip(old.chunks(self.size)).enumerate() {
                if a != b {
                    // SAFETY: within the row, of which the kernel writes this element.
                    unsafe {
                        ptr::copy_nonoverlapping(a.as_ptr(), row.add(j * self.size), self.size);
                    }
                }
            }
        }
    }

    fn ranges(&self) -> impl Iterator<Item = Piece> {
        self.rows.iter().map(|r| Piece {
            start: *r as usize,
            end: (*r as usize).saturating_add(self.length),
            gathered: true,
            writes: self.writes,
        })
    }
}

struct Piece {
    start: usize,
    end: usize,
    gathered: bool,
    writes: bool,
}

/// An error if a row that was copied shares memory with something else, and one of them is written: the
/// copies would not see it. `others` are the arrays that were not copied.
pub fn rows_apart(blocks: &[&Block], others: &[&Array]) -> Result<(), Misfit> {
    let mut pieces: Vec<Piece> = blocks.iter().flat_map(|b| b.ranges()).collect();
    if pieces.is_empty() {
        return Ok(());
    }
    for a in others {
        let (start, end) = a.range().ok_or("its sizes are too large")?;
        pieces.push(Piece {
            start,
            end,
            gathered: false,
            writes: a.writes,
        });
    }
    pieces.retain(|p| p.start < p.end);
    pieces.sort_by_key(|p| p.start);
    // How far pieces so far reach, by whether they were copied and are written.
    let mut reach = [[0; 2]; 2];
    for p in &pieces {
        let meets = |gathered: bool, writes: bool| {
            (gathered || p.gathered)
                && (writes || p.writes)
                && reach[usize::from(gathered)][usize::from(writes)] > p.start
        };
        let both = [false, true];
        if both.iter().any(|g| both.iter().any(|w| meets(*g, *w))) {
            return Err("rows overlap with what is written".into());
        }
        let own = &mut reach[usize::from(p.gathered)][usize::from(p.writes)];
        *own = p.end.max(*own);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
