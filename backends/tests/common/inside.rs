//! Operators inside of an expression: what a store would hide (upper bits, another type of the same width) decides there.

use super::cases::{self, number};
use super::conversions;
use super::corpus::Item;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

/// Each on its own.
pub fn apart() -> Vec<Item> {
    let of = |ty| {
        nodes(ty)
            .into_iter()
            .map(move |text| item(ty, "inside", &[text]))
    };
    let insides = ScalarType::ALL.into_iter().flat_map(of);
    insides.chain(conversions::all()).collect()
}

/// A function for each type of those that somebody takes.
pub fn together(takes: &dyn Fn(&Function) -> bool) -> Vec<Item> {
    let of = |ty| {
        let mut texts = nodes(ty);
        texts.retain(|t| takes(&function(ty, std::slice::from_ref(t))));
        (!texts.is_empty()).then(|| item(ty, "inside", &texts))
    };
    ScalarType::ALL.into_iter().filter_map(of).collect()
}

/// Integers of floats that may not fit, which C leaves undefined: only for who promises what TensIR says.
pub fn saturating() -> Item {
    let there_and_back =
        |to: &str| format!("%c = convert %a : tensor<n x {to}>\n%r = convert %c : tensor<n x f32>");
    let texts: Vec<String> = ["i32", "ui8", "i16"].map(there_and_back).into();
    item(ScalarType::F32, "saturating", &texts)
}

/// Nodes over `%a` and `%b` of the type that end in `%r`.
fn nodes(ty: ScalarType) -> Vec<String> {
    let t = ty.name();
    let one = |ty: ScalarType| match ty.is_float() {
        true => "1.0".to_owned(),
        false => "1".to_owned(),
    };
    let mut all: Vec<String> = Vec::new();
    // Where a truth value is a number, too.
    let counted = |nodes: &str| {
        format!(
            "{nodes}\n%i = convert %t : tensor<n x {t}>\n%e = compare LT, %i, %a\n%r = select %e, %b, %i"
        )
    };
    for op in CmpOp::ALL {
        all.push(format!("%c = compare {op}, %a, %b\n%r = select %c, %b, %a"));
        all.push(counted(&format!("%t = compare {op}, %a, %b")));
    }
    all.push(counted("%c = compare LT, %a, %b\n%t = not %c"));
    for op in ["and", "or", "xor"] {
        all.push(counted(&format!(
            "%c = compare LE, %a, %b\n%d = compare GE, %a, %b\n%t = {op} %c, %d"
        )));
    }
    if ty == ScalarType::I1 {
        return all;
    }
    all.push(format!(
        "%c = convert %a : tensor<n x i1>\n%r = convert %c : tensor<n x {t}>"
    ));
    let kept = |nodes: &str| format!("{nodes}\n%c = compare LT, %s, %a\n%r = select %c, %s, %b");
    for op in ["maximum", "minimum"] {
        all.push(format!("%r = {op} %a, %b"));
    }
    for op in ["add", "subtract", "multiply", "maximum", "minimum"] {
        all.push(kept(&format!("%s = {op} %a, %b")));
    }
    all.push(kept("%s = negate %a"));
    if ty.is_int() {
        for op in ["and", "or", "xor"] {
            all.push(kept(&format!("%s = {op} %a, %b")));
        }
        for op in ["not", "abs"] {
            all.push(kept(&format!("%s = {op} %a")));
        }
        let constant = |value: i128| {
            format!(
                "%k = constant {value}:{t}\n%w = broadcast_in_dim %k, dimensions = [] : tensor<n x {t}>\n"
            )
        };
        let last = i128::from(ty.bits()) - 1;
        for op in [
            "shift_left",
            "shift_right_logical",
            "shift_right_arithmetic",
        ] {
            for count in [1, last] {
                all.push(format!("{}%r = {op} %a, %w", constant(count)));
                all.push(kept(&format!("{}%s = {op} %a, %w", constant(count))));
            }
        }
        for op in ["divide", "remainder"] {
            for by in [3, 100] {
                all.push(format!("{}%r = {op} %a, %w", constant(by)));
                all.push(kept(&format!("{}%s = {op} %a, %w", constant(by))));
            }
            all.push(kept(&format!("%s = {op} %a, %b")));
        }
    }
    // Sums of another type, of operands that were this one.
    for to in ScalarType::ALL {
        if to == ty || to == ScalarType::I1 || (ty.is_float() && to.is_int()) {
            continue;
        }
        let v = one(to);
        let there = format!(
            "%x = convert %a : tensor<n x {0}>\n%k = constant {v}:{0}\n\
             %w = broadcast_in_dim %k, dimensions = [] : tensor<n x {0}>\n%y = add %x, %w\n%z = convert %b : tensor<n x {0}>\n\
             %c = compare LT, %y, %z",
            to.name()
        );
        all.push(format!("{there}\n%r = select %c, %a, %b"));
    }
    for to in ScalarType::ALL {
        if to == ty || to.bits() != ty.bits() || to == ScalarType::I1 {
            continue;
        }
        let there = format!("%x = bitcast_convert %a : tensor<n x {to}>\n%y = negate %x");
        let back = format!("%r = bitcast_convert %y : tensor<n x {t}>");
        // What a NaN's bits are is nobody's business.
        if !ty.is_float() && !to.is_float() {
            all.push(format!("{there}\n{back}"));
        }
        let twice = format!(
            "%x = bitcast_convert %a : tensor<n x {to}>\n%y = bitcast_convert %x : tensor<n x {t}>"
        );
        all.push(format!(
            "{twice}\n%c = compare LT, %y, %b\n%r = select %c, %y, %b"
        ));
    }
    all
}

fn item(ty: ScalarType, name: &str, texts: &[String]) -> Item {
    let function = function(ty, texts);
    let mut calls = vec![cases::inputs(&function, ty, Tier::Exact)];
    // Pairs that chance would have to find, behind the halves.
    for (i, (a, b)) in pairs(ty).into_iter().enumerate() {
        for (name, v) in [("a", a), ("b", b)] {
            let array = calls[0].arrays.get_mut(name).expect("an operand");
            array.data[12 + i] = v;
        }
    }
    let shown = texts.first().filter(|_| texts.len() == 1);
    let shown = shown.map_or(String::new(), |t| t.replace('\n', "; "));
    Item::new(format!("{name} {ty} {shown}"), function, calls)
}

/// Zeros of both signs, the quotient that overflows.
fn pairs(ty: ScalarType) -> Vec<(Scalar, Scalar)> {
    if ty.is_float() {
        let zeros = [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)];
        return zeros.map(|(a, b)| (number(ty, a), number(ty, b))).into();
    }
    let int = |v| Scalar::int(ty, v);
    vec![
        (int(ty.min_value()), int(-1)),
        (int(-1), int(0)),
        (int(-1), int(1)),
    ]
}

fn function(ty: ScalarType, texts: &[String]) -> Function {
    let t = ty.name();
    let (mut params, mut body) = (String::new(), String::new());
    for (i, text) in texts.iter().enumerate() {
        params += &format!("o{i}: ptr<{t}>, ");
        // Names of their own, but for the operands.
        for line in text.lines() {
            let words = line.split_inclusive([' ', ',', '\n']).map(|word| {
                let name = word.trim_end_matches([' ', ',', '\n']);
                match name.starts_with('%') && !["%a", "%b"].contains(&name) {
                    true => word.replacen(name, &format!("{name}{i}"), 1),
                    false => word.to_owned(),
                }
            });
            body += &format!("  {}\n", words.collect::<String>());
        }
        body += &format!("  store o{i}[#0] = %r{i}\n");
    }
    let text = format!(
        "func @f(n: i32, a: const ptr<{t}>, b: const ptr<{t}>, {}) {{\n  %a = view a[#0] : tensor<n x {t}>\n  \
         %b = view b[#0] : tensor<n x {t}>\n{body}}}",
        params.trim_end_matches(", ")
    );
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}
