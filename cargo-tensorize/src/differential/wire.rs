//! Jobs and results as the driver reads and writes them: 64-bit words, lowest byte first.

use super::{Arg, Error, Job, Outcome};
use tensorize_ir::memory::Buffer;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Appends the job.
pub(super) fn write(job: &Job, out: &mut Vec<u8>) {
    word(job.function as u64, out);
    word(job.args.len() as u64, out);
    for (i, arg) in job.args.iter().enumerate() {
        match arg {
            Arg::Scalar(v) => {
                word(0, out);
                word(v.bits, out);
            }
            Arg::Array { buffer, read_only } => {
                let size = buffer.elem.bytes();
                // What is written through another pointer into the array can't be write-protected.
                let aliased = job
                    .args
                    .iter()
                    .any(|a| matches!(a, Arg::Alias { of, .. } if *of == i));
                word(1, out);
                word((buffer.data.len() * size) as u64, out);
                word(buffer.origin.wrapping_mul(size as i64) as u64, out);
                word(job.front.into(), out);
                word((*read_only && !aliased).into(), out);
                for v in &buffer.data {
                    out.extend(&v.bits.to_le_bytes()[..size]);
                }
                out.resize(out.len().next_multiple_of(8), 0);
            }
            Arg::Alias { of, bytes } => {
                word(2, out);
                word(*of as u64, out);
                word(*bytes as u64, out);
            }
        }
    }
}

fn word(w: u64, out: &mut Vec<u8>) {
    out.extend(w.to_le_bytes());
}

/// What the driver wrote for a job, and the rest. `None` if it is not all there. An error if this machine can't make such a call.
pub(super) fn read<'a>(
    job: &Job,
    ret: Option<ScalarType>,
    from: &'a [u8],
) -> Option<(Result<Outcome, Error>, &'a [u8])> {
    let mut reader = Reader(from);
    let outcome = match reader.word()? {
        0 => {
            let returned = reader.word()?;
            let mut arrays = Vec::new();
            for arg in &job.args {
                if let Arg::Array { buffer, .. } = arg {
                    arrays.push(reader.buffer(buffer)?);
                }
            }
            let returned = ret.map(|ty| Scalar {
                ty,
                bits: returned & (u64::MAX >> (64 - width(ty))),
            });
            Outcome::Done { arrays, returned }
        }
        1 => {
            let signal = reader.word()? as i32;
            let (arg, offset) = (reader.word()?, reader.word()? as i64);
            let write = [Some(false), Some(true)]
                .get(reader.word()? as usize)
                .copied()
                .flatten();
            match element(job, arg, offset) {
                Some((arg, index)) => Outcome::Outside { arg, index, write },
                None => Outcome::Crashed { signal },
            }
        }
        2 => {
            let (arg, offset) = (reader.word()?, reader.word()? as i64);
            let (arg, index) = element(job, arg, offset)?;
            Outcome::Outside {
                arg,
                index,
                write: Some(true),
            }
        }
        4 => return Some((Err(Error::Instruction), reader.0)),
        _ => Outcome::Endless,
    };
    Some((Ok(outcome), reader.0))
}

/// A `_Bool` is returned in a byte.
fn width(ty: ScalarType) -> u32 {
    ty.bytes() as u32 * 8
}

fn element(job: &Job, arg: u64, offset: i64) -> Option<(usize, i64)> {
    let arg = usize::try_from(arg).ok()?;
    match job.args.get(arg)? {
        Arg::Array { buffer, .. } => Some((arg, offset.div_euclid(buffer.elem.bytes() as i64))),
        _ => None,
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The array again, with what it holds now.
    fn buffer(&mut self, before: &Buffer) -> Option<Buffer> {
        let size = before.elem.bytes();
        let bytes = before.data.len() * size;
        let (contents, rest) = self.0.split_at_checked(bytes.next_multiple_of(8))?;
        self.0 = rest;
        let value = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            Scalar {
                ty: before.elem,
                bits: u64::from_le_bytes(word),
            }
        };
        let data = contents[..bytes].chunks_exact(size).map(value).collect();
        Some(Buffer {
            elem: before.elem,
            origin: before.origin,
            data,
        })
    }
}
