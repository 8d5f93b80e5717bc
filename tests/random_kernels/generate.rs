//! Writes random C kernels in the language that the front end reads.
//!
//! A *guarded* kernel is defined for all inputs: intervals of all integer expressions are kept, and signed arithmetic
//! that could overflow is done in the unsigned type. The others are written as people write, and runs that are
//! undefined don't count.

mod expr;
mod stmt;

use crate::tree::{Kernel, Stmt};
use crate::types::{Typed, spelled};
use tensorize_ir::inputs::Rng;
use tensorize_ir::scalar::ScalarType::{self, *};

/// Elements of every array.
pub const LEN: i128 = 48;
/// The largest size that a kernel is called with.
pub const MAX_SIZE: i128 = 6;

/// Helpers that a kernel may call, and what they are made of.
pub const PRELUDE: &str = "\
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static const int16_t WEIGHTS[8] = {3, -1, 4, 1, -5, 9, 2, -6};
static inline int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }
static uint8_t saturate(int v) { if (v < 0) return 0; if (v > 255) return 255; return v; }
static float square(float x) { return x * x; }
static unsigned mix(unsigned a, unsigned b) { a ^= b << 3; return a * 2654435761u + (b >> 5); }
";

pub const ALL_TYPES: [ScalarType; 10] = [I8, I16, I32, I64, U8, U16, U32, U64, F32, F64];

/// A scalar that is in scope.
#[derive(Clone)]
struct Var {
    name: String,
    ty: ScalarType,
    lo: i128,
    hi: i128,
    /// Counters and sizes are not assigned to.
    assignable: bool,
    counter: bool,
}

#[derive(Clone)]
struct Array {
    name: String,
    elem: ScalarType,
    /// The type as it was declared: `long` and `long long` may not alias, though they are one type to us.
    spelled: &'static str,
    writable: bool,
    len: i128,
}

/// One kernel being written.
struct Gen {
    rng: Rng,
    guarded: bool,
    /// Signed arithmetic wraps in this file.
    wraps: bool,
    /// Loops over arrays as people write them, few jumps.
    tidy: bool,
    returns: Option<ScalarType>,
    vars: Vec<Var>,
    arrays: Vec<Array>,
    names: usize,
    /// Statements that may still be written.
    budget: usize,
    loops: usize,
}

/// The kernel of a seed; the same for the same seed.
pub fn kernel(seed: u64, name: &str, wraps: bool) -> Kernel {
    let mut rng = Rng::new(seed);
    let guarded = wraps || rng.below(2) == 0;
    let tidy = rng.below(5) < 3;
    let negative_sizes = rng.below(5) == 0;
    let mut g = Gen {
        rng,
        guarded,
        wraps,
        tidy,
        returns: None,
        vars: vec![],
        arrays: vec![],
        names: 0,
        budget: if tidy { 7 } else { 14 },
        loops: 0,
    };
    g.write(name, negative_sizes)
}

impl Gen {
    fn write(&mut self, name: &str, negative_sizes: bool) -> Kernel {
        let mut params = vec![];
        // Few element types a kernel, as in real code.
        let palette: Vec<ScalarType> = (0..2).map(|_| *self.rng.pick(&ALL_TYPES)).collect();
        for (i, name) in ["a", "b", "c", "d"].iter().enumerate() {
            if i > 1 && self.rng.below(2) == 0 {
                continue;
            }
            let writable = i == 1 || self.rng.below(3) == 0;
            let elem = *self.rng.pick(&palette);
            let qualifier = if writable { "" } else { "const " };
            let restrict = if self.rng.below(3) == 0 {
                "restrict "
            } else {
                ""
            };
            let ty = spelled(elem, &mut self.rng);
            params.push(match self.rng.below(6) {
                0 => format!("{qualifier}{ty} {name}[]"),
                _ => format!("{qualifier}{ty} *{restrict}{name}"),
            });
            self.arrays.push(Array {
                name: (*name).into(),
                elem,
                spelled: ty,
                writable,
                len: LEN,
            });
        }
        let sizes: &[&str] = if self.chance(2) { &["n"] } else { &["n", "m"] };
        let lo = if negative_sizes { -1 } else { 0 };
        for size in sizes {
            let ty = match lo {
                0 => *self.rng.pick(&[I32, I32, I32, U64, U32, I64, U16]),
                _ => *self.rng.pick(&[I32, I32, I64, I16]),
            };
            params.push(format!("{} {size}", spelled(ty, &mut self.rng)));
            self.vars.push(Var {
                name: (*size).into(),
                ty,
                lo,
                hi: MAX_SIZE,
                assignable: false,
                counter: false,
            });
        }
        for name in ["x", "y"] {
            if self.rng.below(3) == 0 {
                let ty = *self.rng.pick(&[palette[0], palette[1], I32, F32]);
                params.push(format!("{} {name}", spelled(ty, &mut self.rng)));
                let assignable = self.rng.below(2) == 0;
                self.declare(name.into(), ty, assignable);
            }
        }
        if self.rng.below(4) == 0 {
            self.arrays.push(Array {
                name: "WEIGHTS".into(),
                elem: I16,
                spelled: "int16_t",
                writable: false,
                len: 8,
            });
        }
        self.returns = match self.rng.below(3) {
            0 => Some(*self.rng.pick(&[palette[0], palette[1], I32, I32, I64])),
            _ => None,
        };
        let mut body = if self.tidy {
            self.tidy_body()
        } else {
            self.block(2)
        };
        if let Some(ty) = self.returns {
            let value = self.value_of(ty, 2);
            body.push(Stmt::new("return {};", vec![value]));
        }
        Kernel {
            name: name.into(),
            returns: self.returns.map_or("void", |ty| spelled(ty, &mut self.rng)),
            params,
            body,
            guarded: self.guarded,
            negative_sizes,
        }
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    /// A variable with any value of its type.
    fn declare(&mut self, name: String, ty: ScalarType, assignable: bool) {
        let Typed { lo, hi, .. } = Typed::any(crate::tree::Ex::leaf(""), ty);
        self.vars.push(Var {
            name,
            ty,
            lo,
            hi,
            assignable,
            counter: false,
        });
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }
}
