//! The program's arrays: what a target is given of them, and what it may change.

#![allow(unsafe_code)]

use std::ffi::c_void;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Elem {
    I1,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Elem {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            Elem::I1 | Elem::I8 | Elem::U8 => 1,
            Elem::I16 | Elem::U16 => 2,
            Elem::I32 | Elem::U32 | Elem::F32 => 4,
            Elem::I64 | Elem::U64 | Elem::F64 => 8,
        }
    }

    /// NumPy's name.
    pub fn dtype(self) -> &'static str {
        match self {
            Elem::I1 => "bool",
            Elem::I8 => "int8",
            Elem::I16 => "int16",
            Elem::I32 => "int32",
            Elem::I64 => "int64",
            Elem::U8 => "uint8",
            Elem::U16 => "uint16",
            Elem::U32 => "uint32",
            Elem::U64 => "uint64",
            Elem::F32 => "float32",
            Elem::F64 => "float64",
        }
    }

    /// `float` or `double`.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }

    /// Whether it has a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64) || self.is_float()
    }

    /// The mathematical value of an integer's bits.
    pub fn integer(self, bits: u64) -> i128 {
        let unused = 64 - 8 * self.size() as u32;
        if self.is_signed() {
            i128::from((bits << unused) as i64 >> unused)
        } else {
            i128::from(bits << unused >> unused)
        }
    }
}

/// An array of a call, with the elements that the kernel may touch.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// The parameter.
    pub name: &'static str,
    /// Element 0.
    pub pointer: *mut c_void,
    /// The type of its elements.
    pub elem: Elem,
    /// The first that is touched.
    pub lo: i64,
    /// One past the last; nothing is touched if it is not more than `lo`.
    pub hi: i64,
    /// Whether some are written.
    pub writes: bool,
    /// Whether it depends on the data which ones are touched.
    pub depends_on_data: bool,
    /// Which ones are the array's, if others between them are not.
    pub members: Option<Members>,
}

/// The elements of an array that are members of one type in structs that have other members, too.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    /// How many elements fill a struct.
    pub stride: i64,
    /// Which of these are members: the first of each range and one past its last.
    pub at: &'static [(i64, i64)],
}

impl Array {
    /// Whether element `i` from `lo` on is the array's own.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.members.is_none_or(|m| {
            let place = i128::from(self.lo) + i as i128;
            let in_struct = place.rem_euclid(i128::from(m.stride.max(1)));
            let (from, to) = (
                |at: &(i64, i64)| i128::from(at.0),
                |at: &(i64, i64)| i128::from(at.1),
            );
            m.at.iter()
                .any(|at| (from(at)..to(at)).contains(&in_struct))
        })
    }

    /// How many elements may be touched; `None` if it doesn't fit.
    pub(crate) fn len(&self) -> Option<usize> {
        let len = usize::try_from(self.hi.checked_sub(self.lo)?.max(0)).ok()?;
        len.checked_mul(self.elem.size())
            .filter(|bytes| *bytes <= isize::MAX as usize)?;
        Some(len)
    }

    /// The addresses of the first byte that may be touched, and of the one after the last.
    pub(crate) fn range(&self) -> Option<(usize, usize)> {
        let at = |index: i64| {
            let offset = index.checked_mul(self.elem.size() as i64)?;
            let at = i64::try_from(self.pointer as usize)
                .ok()?
                .checked_add(offset)?;
            usize::try_from(at).ok()
        };
        if self.hi <= self.lo {
            return Some((0, 0));
        }
        Some((at(self.lo)?, at(self.hi)?))
    }

    fn first(&self) -> *mut u8 {
        let offset = (self.lo as isize).wrapping_mul(self.elem.size() as isize);
        self.pointer.cast::<u8>().wrapping_offset(offset)
    }

    /// Copies the elements into `to`, which has room for just these.
    ///
    /// # Safety
    /// The original may touch every one of them in this call, unless `depends_on_data`.
    pub(crate) unsafe fn read(&self, to: &mut [u8]) -> Result<(), String> {
        let unreadable = || format!("some of `{}` can't be read", self.name);
        match copy_if_readable(self.first(), to) {
            Some(true) => Ok(()),
            Some(false) => Err(unreadable()),
            None if self.depends_on_data => Err(format!(
                "it can't be told here whether all of `{}` can be read",
                self.name
            )),
            None => {
                // SAFETY: the original reads or writes all of it, so it is there.
                unsafe { std::ptr::copy_nonoverlapping(self.first(), to.as_mut_ptr(), to.len()) };
                Ok(())
            }
        }
    }

    /// Stores the elements that differ between `old` and `new`: others may belong to another thread.
    ///
    /// # Safety
    /// The original writes those elements in this call.
    pub(crate) unsafe fn write_changed(&self, old: &[u8], new: &[u8]) {
        let size = self.elem.size();
        let differs = |i: usize| old[i..i + size] != new[i..i + size] && self.has(i / size);
        let mut at = 0;
        while at < new.len() {
            if !differs(at) {
                at += size;
                continue;
            }
            let start = at;
            while at < new.len() && differs(at) {
                at += size;
            }
            // SAFETY: within the elements that `old` and `new` hold, and the original writes these.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    new[start..at].as_ptr(),
                    self.first().add(start),
                    at - start,
                );
            }
        }
    }
}

/// Zeroed memory, aligned for every element; `None` instead of an abort when there is not enough.
pub(crate) struct Buffer {
    words: Vec<u64>,
    bytes: usize,
}

impl Buffer {
    pub(crate) fn new(bytes: usize) -> Option<Buffer> {
        let mut words = Vec::new();
        let len = bytes.div_ceil(8);
        words.try_reserve_exact(len).ok()?;
        words.resize(len, 0);
        Some(Buffer { words, bytes })
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: the words hold at least that many bytes, and bytes have no invalid values.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }
}

/// Copies memory that may not be there: `Some(false)` if it isn't, `None` if this system can't tell.
#[cfg(target_os = "linux")]
pub(crate) fn copy_if_readable(from: *const u8, to: &mut [u8]) -> Option<bool> {
    let mut done = 0;
    while done < to.len() {
        let left = to.len() - done;
        let local = libc::iovec {
            iov_base: to[done..].as_mut_ptr().cast(),
            iov_len: left,
        };
        let remote = libc::iovec {
            iov_base: from.wrapping_add(done).cast_mut().cast(),
            iov_len: left,
        };
        // SAFETY: `local` is ours; the kernel checks `remote` and fails where it is not mapped.
        let n = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        match usize::try_from(n) {
            Ok(0) => return Some(false),
            Ok(n) => done += n,
            Err(_) => {
                let error = std::io::Error::last_os_error().raw_os_error();
                return if error == Some(libc::EFAULT) {
                    Some(false)
                } else {
                    None
                };
            }
        }
    }
    Some(true)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn copy_if_readable(_from: *const u8, _to: &mut [u8]) -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array<T>(x: *const T, elem: Elem, lo: i64, hi: i64) -> Array {
        Array {
            name: "x",
            pointer: x.cast_mut().cast(),
            elem,
            lo,
            hi,
            writes: true,
            depends_on_data: true,
            members: None,
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_not_there_is_no_crash() {
        let mut to = [1u8; 64];
        let nowhere = array(std::ptr::without_provenance::<u8>(64), Elem::U8, 0, 64);
        // SAFETY: it depends on the data.
        assert!(
            unsafe { nowhere.read(&mut to) }
                .unwrap_err()
                .contains("`x`")
        );
    }

    #[test]
    fn only_changed_elements_are_stored() {
        let mut x = [10i16, 20, 30, 40, 50];
        let a = array(x.as_mut_ptr(), Elem::I16, 1, 4);
        let mut old = [0; 6];
        // SAFETY: `x` is there.
        unsafe { a.read(&mut old) }.unwrap();
        let mut new = old;
        new[2..4].copy_from_slice(&31i16.to_ne_bytes());
        x[1] = 99;
        // SAFETY: `x` is there.
        unsafe { a.write_changed(&old, &new) };
        assert_eq!(x, [10, 99, 31, 40, 50]);
    }

    #[test]
    fn of_structs_only_the_members_are_stored() {
        let mut x = [10i16, 20, 30, 40, 50, 60];
        let members = Some(Members {
            stride: 3,
            at: &[(1, 2)],
        });
        let a = Array {
            members,
            ..array(x[3..].as_mut_ptr(), Elem::I16, -3, 3)
        };
        let old = [0; 12];
        let new = [1; 12];
        // SAFETY: `x` is there.
        unsafe { a.write_changed(&old, &new) };
        assert_eq!(x, [10, 257, 30, 40, 257, 60]);
    }

    #[test]
    fn integers_of_every_width() {
        assert_eq!(Elem::I8.integer(0xff), -1);
        assert_eq!(Elem::U8.integer(0xff), 255);
        assert_eq!(Elem::I64.integer(u64::MAX), -1);
        assert_eq!(Elem::U64.integer(u64::MAX), i128::from(u64::MAX));
    }

    #[test]
    fn no_buffer_is_no_abort() {
        assert!(Buffer::new(isize::MAX as usize).is_none());
    }
}
