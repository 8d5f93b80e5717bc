//! The tables of intrinsics, and the C header that declares them.
//!
//! `x86.txt` and `neon.txt` say what each intrinsic means. Everything else follows: the prototypes that libclang
//! parses a kernel against, the lowering, and the programs by which tests compare the meaning with a
//! processor's.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;
use tensorize_ir::scalar::ScalarType;

/// The type of a parameter or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Lanes of this type, and how many.
    Vector(ScalarType, usize),
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
        let seen = |t: Type| match t {
            Type::Vector(e, n) if by_bits && e.is_int() => match (&self.name, e.bits()) {
                (name, 32) if name.ends_with("_ps") => Type::Vector(ScalarType::F32, n),
                (name, 64) if name.ends_with("_pd") => Type::Vector(ScalarType::F64, n),
                _ => t,
            },
            t => t,
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
        let x86 = read(include_str!("x86.txt"), false);
        let neon = read(include_str!("neon.txt"), true);
        let planted = read(PLANTED, false);
        x86.into_iter()
            .chain(neon)
            .chain(planted)
            .map(|i| (i.name.clone(), i))
            .collect()
    })
}

/// Every line of a table, each family spelled out. A line that can't be read is left out; a test finds it.
fn read(text: &str, neon: bool) -> Vec<Intrinsic> {
    lines(text)
        .filter_map(|l| line(&l, neon))
        .flatten()
        .collect()
}

/// The lines, with their abbreviations written out.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<(String, String)> = Vec::new();
    text.lines()
        .filter_map(move |l| {
            let l = l.split_once('#').map_or(l, |(before, _)| before).trim();
            let mut l = l.to_string();
            for (word, meaning) in words.iter().rev() {
                l = l.replace(&format!("${word}"), meaning);
            }
            if let Some((word, meaning)) = l.strip_prefix('$').and_then(|l| l.split_once(" = ")) {
                words.push((word.to_string(), meaning.to_string()));
                return None;
            }
            (!l.is_empty()).then_some(l)
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// The intrinsics that one line stands for.
fn line(text: &str, neon: bool) -> Option<Vec<Intrinsic>> {
    let (text, widths) = match text
        .rsplit_once(" | ")
        .filter(|(_, w)| w.split(' ').all(|w| w.parse::<usize>().is_ok()))
    {
        Some((text, widths)) => (
            text,
            widths.split(' ').filter_map(|w| w.parse().ok()).collect(),
        ),
        None => (text, vec![128, 256, 512]),
    };
    let widths: Vec<usize> = if text.contains('@') {
        widths
    } else {
        vec![128]
    };
    let mut all = Vec::new();
    for width in widths {
        for (name, rest, family) in families(text) {
            let number = if width == 128 {
                String::new()
            } else {
                width.to_string()
            };
            let name = name.replacen("_mm@", &format!("_mm{number}"), 1);
            let family = Family { width, ..family };
            all.push(family.intrinsic(&name, &rest, neon)?);
        }
    }
    Some(all)
}

/// What the words of a family mean for one of its members.
#[derive(Clone, Copy, Default)]
struct Family {
    /// Of the registers, in bits.
    width: usize,
    /// What `{q}` says, if it stands there.
    quad: Option<bool>,
    /// The lanes that a word such as `epi8` says.
    elem: Option<ScalarType>,
}

/// Splits off the name and writes out its `{…}`.
fn families(text: &str) -> Vec<(String, String, Family)> {
    let Some((name, rest)) = text.split_once('(') else {
        return vec![];
    };
    let mut all = vec![(name.to_string(), Family::default())];
    while let Some((before, choice)) = all[0].0.split_once('{') {
        let Some((words, _)) = choice.split_once('}') else {
            return vec![];
        };
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        let group = format!("{{{}}}", words.join(" "));
        let _ = before;
        let quads = words == ["q"];
        let words = if quads {
            vec![String::new(), "q".into()]
        } else {
            words
        };
        let typed = !quads && words.iter().all(|w| lane_type(w).is_some());
        all = all
            .iter()
            .flat_map(|(name, family)| {
                let group = &group;
                words.iter().map(move |w| {
                    let mut family = *family;
                    if quads {
                        family.quad = Some(w == "q");
                    }
                    if typed {
                        family.elem = lane_type(w);
                    }
                    (name.replacen(group.as_str(), w, 1), family)
                })
            })
            .collect();
    }
    all.into_iter()
        .map(|(n, f)| (n, rest.to_string(), f))
        .collect()
}

/// What the lanes of `epi8`, `ps`, `u16`, … are.
fn lane_type(word: &str) -> Option<ScalarType> {
    Some(match word {
        "ps" | "ss" => ScalarType::F32,
        "pd" | "sd" => ScalarType::F64,
        _ => {
            let (kind, bits) = match word.find(|c: char| c.is_ascii_digit()) {
                Some(at) => word.split_at(at),
                None => return None,
            };
            let bits: u64 = bits.parse().ok()?;
            match kind {
                "epi" | "s" => crate::c::types::integer(bits, true)?,
                "epu" | "u" => crate::c::types::integer(bits, false)?,
                "f" if bits == 32 => ScalarType::F32,
                "f" if bits == 64 => ScalarType::F64,
                _ => return None,
            }
        }
    })
}

impl Family {
    /// The whole identifier `word`, replaced by what it means here.
    fn word(&self, word: &str) -> Option<String> {
        let width = match self.quad {
            Some(true) => 128,
            Some(false) => 64,
            None => self.width,
        };
        let vector = |e: ScalarType, width: usize| format!("{e}x{}", width / e.bits() as usize);
        if self.quad.is_some() {
            let elem = match word {
                "F" => Some(ScalarType::F32),
                "UF" => Some(ScalarType::U32),
                _ => word
                    .strip_prefix('I')
                    .map(|b| (b, true))
                    .or_else(|| word.strip_prefix('U').map(|b| (b, false)))
                    .and_then(|(b, signed)| crate::c::types::integer(b.parse().ok()?, signed)),
            };
            if let Some(e) = elem {
                return Some(vector(e, width));
            }
        }
        let e = self.elem?;
        let bits = u64::from(e.bits());
        let int = |bits, signed| crate::c::types::integer(bits, signed);
        let unsigned = int(bits, false)?;
        let scaled = |bits| {
            if e.is_float() {
                None
            } else {
                int(bits, e.is_signed())
            }
        };
        Some(match word {
            "T" => vector(e, width),
            "U" | "UT" => vector(unsigned, width),
            "I" => vector(int(bits, true)?, width),
            "D" => vector(e, 64),
            "Q" => vector(e, 128),
            "W" => vector(scaled(bits * 2)?, 128),
            "H" => vector(scaled(bits / 2)?, 64),
            "e" => e.to_string(),
            "u" => unsigned.to_string(),
            "s" => int(bits, true)?.to_string(),
            "w" => scaled(bits * 2)?.to_string(),
            "uw" => int(bits * 2, false)?.to_string(),
            "h" => scaled(bits / 2)?.to_string(),
            _ => return None,
        })
    }

    /// Replaces words, `$bits`, `$top` and `@`.
    fn written_out(&self, text: &str) -> String {
        let bits = self.elem.map_or(0, |e| e.bits());
        let text = text
            .replace("$bits", &bits.to_string())
            .replace("$top", &bits.saturating_sub(1).to_string());
        let mut out = String::new();
        let mut rest = text.as_str();
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        while let Some(first) = rest.chars().next() {
            if first.is_ascii_alphabetic() || first == '_' {
                let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                match (self.word(word), word.strip_prefix('u')) {
                    (Some(meaning), _) => out.push_str(&meaning),
                    // LoopIR's name for it.
                    (None, Some(bits)) if bits.starts_with(|c: char| c.is_ascii_digit()) => {
                        out.push_str("ui");
                        out.push_str(bits);
                    }
                    (None, _) => out.push_str(word),
                }
                rest = after;
            } else {
                // A number keeps its letters.
                let end = if first.is_ascii_digit() {
                    rest.find(|c| !in_word(c)).unwrap_or(rest.len())
                } else {
                    first.len_utf8()
                };
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
        out
    }

    fn intrinsic(&self, name: &str, rest: &str, neon: bool) -> Option<Intrinsic> {
        let name = name.replace('@', &self.width.to_string());
        let (params, rest) = rest.split_once(')')?;
        let ty = |t: &str| self.ty(&self.written_out(t));
        let params = params
            .split(", ")
            .filter(|p| !p.is_empty())
            .map(|p| {
                let (t, name) = p.rsplit_once(' ')?;
                Some((ty(t)?, name.to_string()))
            })
            .collect::<Option<Vec<_>>>()?;
        let (result, body) = match rest.split_once(" => ") {
            Some((_, body)) => (None, body),
            None => {
                let (result, body) = rest.strip_prefix(" -> ")?.split_once(" = ")?;
                (Some(ty(result)?), body)
            }
        };
        let (fused, body) = match body.strip_prefix("fused ") {
            Some(body) => (true, body),
            None => (false, body),
        };
        let body = self.written_out(body);
        let body = if body == "nothing" {
            Body::Nothing
        } else if result.is_none() {
            let (place, value) = body.split_once(" = ")?;
            let (value, only_if) = match value.split_once(" if ") {
                Some((v, c)) => (v, Some(c.to_string())),
                None => (value, None),
            };
            let (count, place) = match place.split_once(": ") {
                Some((n, p)) => (Some(n.to_string()), p),
                None => (None, place),
            };
            let (pointer, index) = place.strip_suffix(']')?.split_once('[')?;
            Body::Store {
                count,
                pointer: pointer.to_string(),
                index: index.to_string(),
                value: value.to_string(),
                only_if,
            }
        } else if let Some(list) = body.strip_prefix('{').and_then(|b| b.strip_suffix('}')) {
            Body::List(list.split(", ").map(String::from).collect())
        } else if let Some(param) = body.strip_prefix("cast ") {
            Body::Cast(param.to_string())
        } else {
            Body::Lane(body)
        };
        Some(Intrinsic {
            name,
            params,
            result,
            body,
            fused,
            neon,
        })
    }

    fn ty(&self, text: &str) -> Option<Type> {
        if text == "imm" {
            return Some(Type::Constant);
        }
        if let Some(pointee) = text.strip_prefix('*') {
            return match self.ty(pointee)? {
                Type::Scalar(s) => Some(Type::Pointer(s)),
                Type::Bits(n) => Some(Type::PointerToBits(n)),
                _ => None,
            };
        }
        if let Some(width) = text.strip_prefix('m') {
            return Some(Type::Bits(match width {
                "@" => self.width,
                w => w.parse().ok()?,
            }));
        }
        if let Some(lanes) = text.strip_prefix('k') {
            return Some(Type::Mask(lanes.parse().ok()?));
        }
        if let Some(elem) = text.strip_suffix('@') {
            let e: ScalarType = elem.parse().ok()?;
            return Some(Type::Vector(e, self.width / e.bits() as usize));
        }
        match text.split_once('x') {
            Some((e, n)) => Some(Type::Vector(e.parse().ok()?, n.parse().ok()?)),
            None => Some(Type::Scalar(text.parse().ok()?)),
        }
    }
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
    match t {
        Type::Vector(e, n) if neon => {
            let kind = match e {
                e if e.is_float() => "float",
                e if e.is_signed() => "int",
                _ => "uint",
            };
            format!("{kind}{}x{n}_t", e.bits())
        }
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
        Type::Pointer(s) => format!("{constant}{} *", scalar(s)),
        Type::PointerToBits(_) => format!("{constant}void *"),
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

    #[test]
    fn every_line_is_read() {
        for (text, neon) in [
            (include_str!("x86.txt"), false),
            (include_str!("neon.txt"), true),
            (PLANTED, false),
        ] {
            for l in lines(text) {
                let found = line(&l, neon);
                assert!(found.is_some_and(|f| !f.is_empty()), "{l}");
            }
        }
        assert!(intrinsics().len() > 1000, "{}", intrinsics().len());
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
