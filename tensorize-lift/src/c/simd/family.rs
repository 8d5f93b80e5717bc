//! The form of the tables: how a line becomes the intrinsics that it stands for.

use super::table::{Body, Intrinsic, Type};
use tensorize_ir::scalar::ScalarType;

/// Every line of a table, each family spelled out. A line that can't be read is left out; a test finds it.
pub(super) fn read(text: &str) -> Vec<Intrinsic> {
    lines(text).filter_map(|l| line(&l)).flatten().collect()
}

/// The lines, with their abbreviations written out.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> {
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
pub(super) fn line(text: &str) -> Option<Vec<Intrinsic>> {
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
            all.push(family.intrinsic(&name, &rest)?);
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
        let int = crate::c::types::integer;
        let unsigned = int(bits, false)?;
        let scaled = |bits| match e.is_float() {
            true => None,
            false => int(bits, e.is_signed()),
        };
        Some(match word {
            "T" => vector(e, width),
            "T2" | "T3" | "T4" => format!("{}x{}", vector(e, width), &word[1..]),
            "U" | "UT" => vector(unsigned, width),
            "I" => vector(int(bits, true)?, width),
            "D" => vector(e, 64),
            "Q" => vector(e, 128),
            "W" => vector(scaled(bits * 2)?, 128),
            "WT" => vector(scaled(bits * 2)?, width),
            "H" => vector(scaled(bits / 2)?, 64),
            "UH" => vector(int(bits / 2, false)?, 64),
            "HQ" => vector(scaled(bits / 2)?, 128),
            "UHQ" => vector(int(bits / 2, false)?, 128),
            "K" => format!("k{}", width as u64 / bits),
            "e" => e.to_string(),
            "u" => unsigned.to_string(),
            "s" => int(bits, true)?.to_string(),
            "w" => scaled(bits * 2)?.to_string(),
            "uw" => int(bits * 2, false)?.to_string(),
            "h" => scaled(bits / 2)?.to_string(),
            "uh" => int(bits / 2, false)?.to_string(),
            _ => return None,
        })
    }

    /// Replaces words, and what `$` begins.
    fn written_out(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (word, value) in self.numbers() {
            text = text.replace(word, &value.to_string());
        }
        words(&text, |word| {
            match (self.word(word), word.strip_prefix('u')) {
                (Some(meaning), _) => meaning,
                // LoopIR's name for it.
                (None, Some(bits)) if bits.starts_with(|c: char| c.is_ascii_digit()) => {
                    format!("ui{bits}")
                }
                (None, _) => word.to_string(),
            }
        })
    }

    /// The numbers that belong to the type of the lanes.
    fn numbers(&self) -> Vec<(&'static str, i128)> {
        let Some(e) = self.elem else {
            return vec![];
        };
        let bits = e.bits();
        let mut all = vec![
            ("$bits", bits.into()),
            ("$half", (bits / 2).into()),
            ("$top", (bits - 1).into()),
            ("$block", (128 / bits).into()),
        ];
        let int = |bits: u32, signed| crate::c::types::integer(bits.into(), signed);
        for (low, high, ty) in [
            ("$uhmin", "$uhmax", int(bits / 2, false)),
            ("$hmin", "$hmax", int(bits / 2, e.is_signed())),
            ("$min", "$max", e.is_int().then_some(e)),
        ] {
            if let Some(ty) = ty {
                all.extend([(low, ty.min_value()), (high, ty.max_value())]);
            }
        }
        all
    }

    fn intrinsic(&self, name: &str, rest: &str) -> Option<Intrinsic> {
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
        } else if let Some(body) = body.strip_prefix("all ") {
            let (op, lane) = body.split_once(' ')?;
            Body::Lane(over_all(op, lane, &params, result?)?)
        } else {
            Body::Lane(body)
        };
        Some(Intrinsic {
            neon: name.starts_with('v'),
            name,
            params,
            result,
            body,
            fused,
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
        let mut parts = text.split('x');
        let e: ScalarType = parts.next()?.parse().ok()?;
        let numbers: Vec<usize> = parts.map(|n| n.parse().ok()).collect::<Option<_>>()?;
        match numbers[..] {
            [] => Some(Type::Scalar(e)),
            [n] => Some(Type::Vector(e, n)),
            [n, k] => Some(Type::Registers(e, n, k)),
            _ => None,
        }
    }
}

/// `lane` of every lane of the last vector, put together by `op` from the left, as the result.
fn over_all(op: &str, lane: &str, params: &[(Type, String)], result: Type) -> Option<String> {
    let (n, Type::Scalar(to)) = (params.iter().rev().find_map(|(t, _)| lanes(*t))?, result) else {
        return None;
    };
    let each = (0..n).map(|i| {
        let i = i.to_string();
        let word = |w: &str| if w == "i" { i.clone() } else { w.to_string() };
        format!("({})", words(lane, word))
    });
    let infix = !op.starts_with(char::is_alphabetic);
    let all = each.reduce(|a, b| match infix {
        true => format!("({a} {op} {b})"),
        false => format!("{op}({a}, {b})"),
    })?;
    Some(format!("({to}){all}"))
}

fn lanes(t: Type) -> Option<usize> {
    match t {
        Type::Vector(_, n) => Some(n),
        _ => None,
    }
}

/// The text with each of its identifiers replaced; a number keeps its letters.
fn words(text: &str, meaning: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let end = match in_word(first) {
            true => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (part, after) = rest.split_at(end);
        if first.is_ascii_digit() || !in_word(first) {
            out.push_str(part);
        } else {
            out.push_str(&meaning(part));
        }
        rest = after;
    }
    out
}
