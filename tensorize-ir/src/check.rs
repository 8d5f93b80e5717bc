//! Runs a kernel and something that should compute the same, until they differ.
//!
//! A proof speaks of all inputs and can be about the wrong program; a run speaks of one input and of the
//! program itself. This is the second line of defence, and how a counterexample is made short.

use crate::index::Sym;
use crate::inputs::{Case, Spec};
use crate::loopir::interp::{Program, Stop};
use crate::memory::{Buffer, Inputs, Outputs};
use crate::scalar::Scalar;
use crate::signature::Resized;
use crate::tensir::{self, Sampled};
use std::fmt::Write;

mod shrink;

/// The other side: what it leaves behind, or in words why it leaves nothing.
pub type Side<'a> = dyn FnMut(&Inputs) -> Result<Outputs, String> + 'a;

/// When two values count as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Same {
    /// [`Scalar::same`].
    Exactly,
    /// Floats: `|a - b|` is at most this times the largest of `|a|`, `|b|` and 1; where `a` is not
    /// finite, anything goes. Integers (which may have been rounded from floats): at most 1 apart.
    Within(f64),
}

/// How to compare.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What the two sides are called in words, as in "the loop gives 3, the summary 4".
    pub names: (&'static str, &'static str),
    /// When two values count as the same.
    pub same: Same,
    /// Whether the kernel may touch elements outside of the [`Spec`]'s extents. If not, that is a
    /// difference; arrays of which the extent is not known may always grow.
    pub may_leave_extents: bool,
    /// Whether an input on which the other side has no result says nothing. If not, that is a difference.
    pub other_may_fail: bool,
    /// A run of the kernel that takes more steps is skipped.
    pub limit_steps: u64,
    /// How many more runs may be spent on making a difference smaller.
    pub shrink_runs: usize,
    /// Vectors that get a length at the end: what lies past it is nobody's.
    pub resized: Vec<Resized>,
}

impl Default for Comparison {
    fn default() -> Comparison {
        Comparison {
            names: ("the loop", "the summary"),
            same: Same::Exactly,
            may_leave_extents: false,
            other_may_fail: false,
            limit_steps: 1_000_000,
            shrink_runs: 2000,
            resized: Vec::new(),
        }
    }
}

/// How many inputs said what.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Both sides ran, and agreed.
    pub compared: usize,
    /// C leaves the kernel's behaviour undefined, or it runs too long.
    pub skipped: usize,
    /// The largest `|a - b| / |a|` of finite floats; 0 where all agree.
    pub max_relative_error: f64,
}

impl Tally {
    /// Both together.
    pub fn add(&mut self, other: &Tally) {
        self.compared += other.compared;
        self.skipped += other.skipped;
        self.max_relative_error = self.max_relative_error.max(other.max_relative_error);
    }
}

/// An input on which the two sides differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The input, made as small as could be.
    pub inputs: Inputs,
    /// `n = 2, x = [1, 0], out[1]: the loop gives 3, the summary 4`.
    pub text: String,
}

/// How far elements of an array without a known extent may be from its start.
const REACH: u64 = 1 << 16;

/// The kernel's run on a case: the input, with arrays as large as the run needs, and what it leaves behind.
/// An [`Stop::OutOfBounds`] means that it left an extent that is known.
pub fn settle(
    program: &Program,
    spec: &Spec,
    case: &Case,
    how: &Comparison,
) -> Result<(Inputs, Outputs), Stop> {
    let mut inputs = case.inputs.clone();
    loop {
        let mut after = inputs.clone();
        let stop = match program.run(&mut after, how.limit_steps) {
            Ok(returned) => {
                return Ok((
                    inputs,
                    Outputs {
                        arrays: after.arrays,
                        returned,
                    },
                ));
            }
            Err(stop) => stop,
        };
        let Stop::OutOfBounds { array, index, .. } = &stop else {
            return Err(stop);
        };
        let known = spec.knows_extents();
        match inputs.arrays.get_mut(array) {
            Some(b) if index.unsigned_abs() < REACH && (how.may_leave_extents || !known) => {
                let elem = b.elem;
                grow(b, *index, |i| {
                    spec.element(case.palette, case.seed, array, elem, i)
                });
            }
            _ => return Err(stop),
        }
    }
}

/// Makes the buffer cover `index`, and as much again as it had before, so that few runs are needed.
fn grow(buffer: &mut Buffer, index: i64, mut element: impl FnMut(i64) -> Scalar) {
    let len = buffer.data.len() as i64;
    let (lo, hi) = (-buffer.origin, len - buffer.origin);
    let (new_lo, new_hi) = match len {
        0 => (index.min(0), index + 1),
        _ if index < lo => (index.min(lo - len), hi),
        _ => (lo, (index + 1).max(hi + len)),
    };
    let mut data: Vec<Scalar> = Vec::new();
    for i in new_lo..new_hi {
        data.push(buffer.get(i.into()).unwrap_or_else(|| element(i)));
    }
    *buffer = Buffer {
        elem: buffer.elem,
        origin: -new_lo,
        data,
    };
}

/// Runs the kernel and the other side on every case, up to the first difference.
pub fn compare(
    kernel: &Program,
    other: &mut Side<'_>,
    spec: &Spec,
    cases: impl IntoIterator<Item = Case>,
    how: &Comparison,
) -> Result<Tally, Box<Difference>> {
    let mut tally = Tally::default();
    for case in cases {
        if let Some((inputs, text)) = try_case(kernel, other, spec, &case, how, &mut tally) {
            let mut again = |inputs: &Inputs| {
                let case = Case {
                    inputs: inputs.clone(),
                    ..case
                };
                try_case(kernel, other, spec, &case, how, &mut Tally::default())
            };
            let (inputs, text) =
                shrink::shrink((inputs, text), kernel, spec, how.shrink_runs, &mut again);
            let text = format!("{}: {text}", describe(&inputs, spec));
            return Err(Box::new(Difference { inputs, text }));
        }
    }
    Ok(tally)
}

/// The settled input and what differs, if something does.
fn try_case(
    kernel: &Program,
    other: &mut Side<'_>,
    spec: &Spec,
    case: &Case,
    how: &Comparison,
    tally: &mut Tally,
) -> Option<(Inputs, String)> {
    let (inputs, expected) = match settle(kernel, spec, case, how) {
        Ok(run) => run,
        Err(stop @ Stop::OutOfBounds { .. }) if !how.may_leave_extents => {
            if spec.knows_extents() {
                return Some((case.inputs.clone(), format!("{} {stop}", how.names.0)));
            }
            tally.skipped += 1;
            return None;
        }
        // A call that can't be made is a mistake of ours; to skip it would hide it.
        Err(Stop::BadCall(why)) => return Some((case.inputs.clone(), why)),
        Err(_) => {
            tally.skipped += 1;
            return None;
        }
    };
    if !spec.admits_memory(&inputs) {
        tally.skipped += 1;
        return None;
    }
    let text = match other(&inputs) {
        Ok(found) => first_difference(&expected, &found, how, tally),
        Err(why) if how.other_may_fail || why.ends_with(tensir::TOO_MANY) => {
            tally.skipped += 1;
            return None;
        }
        Err(why) => Some(format!("{} has no result: {why}", how.names.1)),
    };
    match text {
        Some(text) => Some((inputs, text)),
        None => {
            tally.compared += 1;
            None
        }
    }
}

/// The first place of an array that nobody looks at after a call, if it is that of a vector which gets a length.
fn end_of(resized: &[Resized], array: &Sym, outputs: &Outputs) -> Option<i64> {
    let vector = resized.iter().find(|r| *r.array == **array)?;
    let size = outputs.arrays.get(vector.size.as_str())?.get(0)?;
    i64::try_from(size.as_int()).ok()?.checked_mul(vector.each)
}

/// Where two results differ, in words.
pub fn first_difference(
    expected: &Outputs,
    found: &Outputs,
    how: &Comparison,
    tally: &mut Tally,
) -> Option<String> {
    let (left, right) = how.names;
    let report =
        |place: &str, a: &str, b: &str| Some(format!("{place}: {left} gives {a}, {right} {b}"));
    match (expected.returned, found.returned) {
        (Some(a), Some(b)) if same(a, b, how.same, tally) => {}
        (None, None) => {}
        (a, b) => {
            let show = |v: Option<Scalar>| v.map_or("nothing".to_owned(), value_text);
            return report("the returned value", &show(a), &show(b));
        }
    }
    for (name, a) in &expected.arrays {
        let b = found.arrays.get(name);
        let end = end_of(&how.resized, name, expected);
        for (i, x) in (-a.origin..).zip(&a.data) {
            if end.is_some_and(|end| i >= end) {
                break;
            }
            match b.and_then(|b| b.get(i.into())) {
                Some(y) if same(*x, y, how.same, tally) => {}
                y => {
                    let y = y.map_or("nothing".to_owned(), value_text);
                    return report(&format!("{name}[{i}]"), &value_text(*x), &y);
                }
            }
        }
    }
    None
}

/// Where a result differs from what a summary gives at some places, or changes what the summary leaves as it was.
pub fn difference_at_places(
    summary: &tensir::Function,
    sampled: &Sampled,
    inputs: &Inputs,
    found: &Outputs,
    how: &Comparison,
    tally: &mut Tally,
) -> Option<String> {
    let (left, right) = how.names;
    let show = |v: Option<Scalar>| v.map_or("nothing".to_owned(), value_text);
    let report = |place: &str, a, b| {
        Some(format!(
            "{place}: {left} gives {}, {right} {}",
            show(a),
            show(b)
        ))
    };
    if let Some(a) = sampled.returned
        && !found.returned.is_some_and(|b| same(a, b, how.same, tally))
    {
        return report("the returned value", Some(a), found.returned);
    }
    let end = |name: &Sym| end_of(&how.resized, name, found).map_or(i128::MAX, i128::from);
    for (name, i, a) in &sampled.stored {
        if *i >= end(name) {
            continue;
        }
        let b = found.arrays.get(name).and_then(|b| b.get(*i));
        if !b.is_some_and(|b| same(*a, b, how.same, tally)) {
            return report(&format!("{name}[{i}]"), Some(*a), b);
        }
    }
    let covered = match tensir::covered(summary, inputs) {
        Ok(covered) => covered,
        Err(why) => return Some(why),
    };
    for (name, before) in &inputs.arrays {
        let after = found.arrays.get(name);
        let covered = covered.get(name);
        for (offset, a) in before.data.iter().enumerate() {
            let b = after.and_then(|b| b.data.get(offset)).copied();
            let stays = || !covered.is_some_and(|c| c[offset]);
            let i = offset as i64 - before.origin;
            if b.is_none_or(|b| !b.same(*a)) && stays() && i128::from(i) < end(name) {
                return report(&format!("{name}[{i}]"), Some(*a), b);
            }
        }
    }
    None
}

fn same(a: Scalar, b: Scalar, how: Same, tally: &mut Tally) -> bool {
    if a.same(b) {
        return true;
    }
    let Same::Within(tolerance) = how else {
        return false;
    };
    if a.ty != b.ty {
        return false;
    }
    if a.ty.is_int() {
        return a.as_int().abs_diff(b.as_int()) <= 1;
    }
    let (x, y) = (a.as_f64(), b.as_f64());
    if !x.is_finite() {
        return true;
    }
    let close = (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0);
    if close && x != 0.0 {
        tally.max_relative_error = tally.max_relative_error.max(((x - y) / x).abs());
    }
    close
}

/// The value without its type.
pub fn value_text(v: Scalar) -> String {
    let text = v.to_string();
    text.split_once(':')
        .map_or(text.clone(), |(value, _)| value.to_owned())
}

/// The input in words: `n = 2, x = [1, 0]`.
pub fn describe(inputs: &Inputs, spec: &Spec) -> String {
    let mut parts = Vec::new();
    for p in spec.params() {
        let name: &Sym = p.name();
        if let Some(v) = inputs.scalars.get(name) {
            parts.push(format!("{name} = {}", value_text(*v)));
        } else if let Some(b) = inputs.arrays.get(name).filter(|b| !b.data.is_empty()) {
            parts.push(array_text(name, b));
        }
    }
    if parts.is_empty() {
        "no arguments".into()
    } else {
        parts.join(", ")
    }
}

fn array_text(name: &str, b: &Buffer) -> String {
    const SHOWN: usize = 12;
    let mut text = match b.origin {
        0 => format!("{name} = ["),
        origin => format!("{name} from {} on = [", -origin),
    };
    for (i, v) in b.data.iter().take(SHOWN).enumerate() {
        let _ = write!(text, "{}{}", if i > 0 { ", " } else { "" }, value_text(*v));
    }
    if b.data.len() > SHOWN {
        let _ = write!(text, ", … {} elements", b.data.len());
    }
    text + "]"
}

#[cfg(test)]
mod tests;
