//! The tables of intrinsics, and the C header that declares them.
//!
//! `x86.txt` and `neon.txt` say what each intrinsic means. Everything else follows: the prototypes that libclang
//! parses a kernel against, the lowering, and the programs by which tests compare the meaning with a
//! processor's.

use super::family;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;
use tensorize_ir::scalar::ScalarType;

/// The type of a parameter or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Lanes of this type, and how many.
    Vector(ScalarType, usize),
    /// So many vectors with such lanes, in a struct: a vector of all these lanes.
    Registers(ScalarType, usize, usize),
    /// A register of this many bits, of integers of any type.
    Bits(usize),
    /// As many bits, one a lane.
    Mask(usize),
    /// One number.
    Scalar(ScalarType),
    /// A pointer to numbers.
    Pointer(ScalarType),
    /// A pointer to a register of this many bits.
    PointerToBits(usize),
    /// A constant.
    Constant,
}

/// What an intrinsic does. Texts are LoopIR expressions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// Lane `i` of the result, or the result.
    Lane(String),
    /// All lanes.
    List(Vec<String>),
    /// The bits of this parameter.
    Cast(String),
    /// `pointer[index] = value` for each lane for which `only_if` holds.
    Store {
        /// How many lanes; all of them if it isn't said.
        count: Option<String>,
        /// A parameter.
        pointer: String,
        /// In elements.
        index: String,
        /// What is stored.
        value: String,
        /// A condition.
        only_if: Option<String>,
    },
    /// No effect that a kernel could see.
    Nothing,
}

/// One intrinsic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intrinsic {
    /// C's name.
    pub name: String,
    /// Types and names.
    pub params: Vec<(Type, String)>,
    /// `None` for `void`.
    pub result: Option<Type>,
    /// What it does.
    pub body: Body,
    /// `a * b + c` is rounded once, or sums have an order of their own.
    pub fused: bool,
    /// Of NEON, not of x86.
    pub neon: bool,
}

impl Intrinsic {
    /// With the types that C gives it: the table computes with the bits of some floats as integers.
    pub fn declared(&self) -> Intrinsic {
        let ints = ["cvt", "castsi", "maskload", "maskstore", "permutevar"];
        let by_bits = !self.neon && !ints.iter().any(|w| self.name.contains(w));
        let float = match self.name.rsplit('_').next() {
            Some("ps" | "ss" | "pi") if by_bits => Some(ScalarType::F32),
            Some("pd" | "sd") if by_bits => Some(ScalarType::F64),
            _ => None,
        };
        let seen = |t: Type| match (t, float) {
            (Type::Vector(e, n), Some(f)) if e.is_int() && e.bits() == f.bits() => {
                Type::Vector(f, n)
            }
            (Type::Bits(width), Some(f)) => Type::Vector(f, width / f.bits() as usize),
            _ => t,
        };
        Intrinsic {
            params: self
                .params
                .iter()
                .map(|(t, n)| (seen(*t), n.clone()))
                .collect(),
            result: self.result.map(seen),
            ..self.clone()
        }
    }
}

const X86: &str = include_str!("x86.txt");
const NEON: &str = include_str!("neon.txt");

/// Lines that are wrong on purpose, for the test that is to find them.
const PLANTED: &str = if cfg!(test) {
    include_str!("planted.txt")
} else {
    ""
};

/// The tables, by name.
pub fn intrinsics() -> &'static HashMap<String, Intrinsic> {
    static TABLE: OnceLock<HashMap<String, Intrinsic>> = OnceLock::new();
    TABLE.get_or_init(|| {
        [X86, NEON, PLANTED]
            .into_iter()
            .flat_map(family::read)
            .map(|i| (i.name.clone(), i))
            .collect()
    })
}

/// The spelling of a type in C.
pub fn c_type(t: Type, neon: bool, written: bool) -> String {
    let scalar = |s: ScalarType| match s {
        ScalarType::F32 => "float".to_string(),
        ScalarType::F64 => "double".to_string(),
        s if s.is_signed() => format!("__INT{}_TYPE__", s.bits()),
        s => format!("__UINT{}_TYPE__", s.bits()),
    };
    let constant = if written { "" } else { "const " };
    let lanes = |e: ScalarType, n: usize| {
        let kind = match e {
            e if e.is_float() => "float",
            e if e.is_signed() => "int",
            _ => "uint",
        };
        format!("{kind}{}x{n}", e.bits())
    };
    match t {
        Type::Registers(e, n, k) => format!("{}x{k}_t", lanes(e, n)),
        Type::Vector(e, n) if neon => format!("{}_t", lanes(e, n)),
        Type::Vector(e, n) => {
            let suffix = match e {
                ScalarType::F32 => "",
                ScalarType::F64 => "d",
                _ => "i",
            };
            format!("__m{}{suffix}", n * e.bits() as usize)
        }
        Type::Bits(n) => format!("__m{n}i"),
        Type::Mask(n) => format!("__mmask{}", n.max(8)),
        Type::Scalar(s) => scalar(s),
        // Those of x86 take integers of either sign.
        Type::Pointer(s) if s.is_float() || neon => format!("{constant}{} *", scalar(s)),
        Type::Pointer(_) | Type::PointerToBits(_) => format!("{constant}void *"),
        Type::Constant => "int".to_string(),
    }
}

/// The headers that kernels include, each with the same text.
pub const HEADERS: &[&str] = &[
    "immintrin.h",
    "x86intrin.h",
    "xmmintrin.h",
    "emmintrin.h",
    "pmmintrin.h",
    "tmmintrin.h",
    "smmintrin.h",
    "nmmintrin.h",
    "wmmintrin.h",
    "avxintrin.h",
    "avx2intrin.h",
    "arm_neon.h",
];

/// Their text: the types and prototypes, without any body.
pub fn header() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = include_str!("header.h").to_string();
        let mut vectors = ["float32x2", "float32x4", "float64x1", "float64x2"]
            .map(String::from)
            .to_vec();
        for lanes in [
            "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        ] {
            let bits: usize = lanes
                .trim_start_matches(char::is_alphabetic)
                .parse()
                .unwrap_or(8);
            let base = format!("__{}_TYPE__", lanes.to_uppercase());
            for width in [64, 128] {
                let n = width / bits;
                let _ = writeln!(
                    text,
                    "typedef {base} {lanes}x{n}_t __attribute__((__vector_size__({})));",
                    width / 8
                );
                vectors.push(format!("{lanes}x{n}"));
            }
        }
        for v in vectors {
            for k in 2..=4 {
                let _ = writeln!(
                    text,
                    "typedef struct {v}x{k}_t {{ {v}_t val[{k}]; }} {v}x{k}_t;"
                );
            }
        }
        let mut all: Vec<&Intrinsic> = intrinsics().values().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        for i in all.into_iter().map(Intrinsic::declared) {
            let written = i.result.is_none();
            let result = i.result.map_or("void".into(), |t| c_type(t, i.neon, false));
            let params: Vec<String> = i
                .params
                .iter()
                .map(|(t, _)| c_type(*t, i.neon, written))
                .collect();
            let params = if params.is_empty() {
                "void".into()
            } else {
                params.join(", ")
            };
            let _ = writeln!(text, "{result} {}({params});", i.name);
        }
        text.push_str("#ifdef __cplusplus\n}\n#endif\n#endif\n");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_line_is_read() {
        let mut names = HashSet::new();
        for text in [X86, NEON, PLANTED] {
            for l in family::lines(text) {
                let found = family::line(&l).unwrap_or_default();
                assert!(!found.is_empty(), "{l}");
                for i in found {
                    assert!(names.insert(i.name.clone()), "{} stands twice", i.name);
                }
            }
        }
        assert!(names.len() > 2500, "{}", names.len());
    }

    #[test]
    fn families_are_spelled_out() {
        let all = intrinsics();
        let i = &all["_mm256_add_epi16"];
        assert_eq!(i.result, Some(Type::Vector(ScalarType::U16, 16)));
        assert_eq!(i.body, Body::Lane("a[i] + b[i]".into()));
        let i = &all["vmull_s16"];
        assert_eq!(i.result, Some(Type::Vector(ScalarType::I32, 4)));
        assert_eq!(i.params[0].0, Type::Vector(ScalarType::I16, 4));
        assert!(
            matches!(&all["_mm_storeu_si128"].body, Body::Store { pointer, .. } if pointer == "p")
        );
    }
}
