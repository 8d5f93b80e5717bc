//! Polynomials and guards as Rust that can't overflow: an overflow is `None`, which counts as a guard that
//! fails.

mod memory;

use tensorize_ir::guard::{Extent, Guard};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::scalar::ScalarType;

pub use memory::{MOST_STEPS, depth};

/// What the parameters are called in Rust.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// An integer parameter, an `i64`.
    pub integer: &'a dyn Fn(&str) -> Option<String>,
    /// A parameter that is a float, of its own type.
    pub float: &'a dyn Fn(&str) -> Option<String>,
    /// A pointer to the first element of an array.
    pub pointer: &'a dyn Fn(&str) -> Option<String>,
}

/// An expression of type `i64`, for a body that returns an `Option`.
pub fn polynomial(idx: &Idx, names: &Names<'_>) -> Result<String, String> {
    if let Some(n) = idx.nested() {
        let [quotient, divisor, rest] =
            [&n.quotient, &n.divisor, &n.rest].map(|part| polynomial(part, names));
        return Ok(format!(
            "{}.checked_mul({})?.checked_add({})?",
            quotient?, divisor?, rest?
        ));
    }
    // The terms in the order in which the text form has them.
    let mut terms: Vec<_> = idx.terms().collect();
    terms.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let mut sum = String::new();
    for (atoms, coefficient) in terms {
        let mut product = String::new();
        for atom in atoms {
            let factor = self::atom(atom, names)?;
            product = if product.is_empty() {
                factor
            } else {
                format!("{product}.checked_mul({factor})?")
            };
        }
        let magnitude = i64::try_from(coefficient.unsigned_abs())
            .map_err(|_| format!("{coefficient} is too large"))?;
        if product.is_empty() {
            product = format!("{magnitude}i64");
        } else if magnitude != 1 {
            product = format!("{product}.checked_mul({magnitude})?");
        }
        sum = match (sum.is_empty(), coefficient < 0) {
            (true, false) => product,
            (true, true) => format!("0i64.checked_sub({product})?"),
            (false, false) => format!("{sum}.checked_add({product})?"),
            (false, true) => format!("{sum}.checked_sub({product})?"),
        };
    }
    Ok(if sum.is_empty() { "0i64".into() } else { sum })
}

fn atom(atom: &Atom, names: &Names<'_>) -> Result<String, String> {
    let two = |a: &Idx, b: &Idx| Ok::<_, String>((polynomial(a, names)?, polynomial(b, names)?));
    match atom {
        Atom::Sym(s) => (names.integer)(s).ok_or_else(|| format!("`{s}` is no integer parameter")),
        Atom::FloorDiv(a, b) => two(a, b).map(|(a, b)| format!("rt::floor_div({a}, {b})?")),
        Atom::Mod(a, b) => two(a, b).map(|(a, b)| format!("rt::modulo({a}, {b})?")),
        Atom::Max(a, b) => two(a, b).map(|(a, b)| format!("{a}.max({b})")),
        Atom::Min(a, b) => two(a, b).map(|(a, b)| format!("{a}.min({b})")),
        // The proof is about the number. One that is no `i64` must not count as another: where a row ends there, it would have
        // no elements.
        Atom::Value(e) if e.ty() == ScalarType::U64 => {
            let value = memory::value(e, names)?;
            Ok(format!("i64::try_from({value}).ok()?"))
        }
        Atom::Value(e) => Ok(format!("(({}) as i64)", memory::value(e, names)?)),
    }
}

/// The integer parameters that a polynomial speaks of.
pub fn symbols(idx: &Idx, into: &mut Vec<String>) {
    idx.for_each_sym(&mut |s| {
        if !into.iter().any(|known| **known == **s) {
            into.push(s.to_string());
        }
    });
}

/// A guard over sizes alone as an expression of type `bool`; `None` for the others.
pub fn size_guard(guard: &Guard, names: &Names<'_>) -> Option<Result<String, String>> {
    let (idx, test) = match guard {
        Guard::NonNegative(idx) => (idx, " >= 0".to_string()),
        Guard::Fits(idx, ty) => {
            let test = match ty {
                ScalarType::I64 => " >= i64::MIN".to_string(),
                ScalarType::U64 => " >= 0".to_string(),
                ScalarType::F32 | ScalarType::F64 => {
                    return Some(Err(format!("`{guard}` is about a float")));
                }
                ty => format!(" >= {} && EXPR <= {}", ty.min_value(), ty.max_value()),
            };
            (idx, test)
        }
        Guard::Disjoint(..) => return None,
    };
    Some(
        polynomial(idx, names).map(|e| match test.split_once("EXPR") {
            Some((low, high)) => format!("{{ let value = {e}; value{low}value{high} }}"),
            None => format!("{e}{test}"),
        }),
    )
}

/// The extent's ends as Rust.
pub fn extent(extent: &Extent, names: &Names<'_>) -> Result<(String, String), String> {
    Ok((
        polynomial(&extent.lo, names)?,
        polynomial(&extent.hi, names)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Result<String, String> {
        let names = Names {
            integer: &|n| (n != "p").then(|| n.to_string()),
            float: &|_| None,
            pointer: &|n| (n == "p").then(|| n.to_string()),
        };
        polynomial(&text.parse().unwrap(), &names)
    }

    #[test]
    fn polynomials_are_checked() {
        assert_eq!(
            rust("rows*cols - 1").unwrap(),
            "cols.checked_mul(rows)?.checked_sub(1i64)?"
        );
        assert_eq!(
            rust("-2*n").unwrap(),
            "0i64.checked_sub(n.checked_mul(2)?)?"
        );
        assert_eq!(rust("0").unwrap(), "0i64");
        assert_eq!(rust("floordiv(n, 2)").unwrap(), "rt::floor_div(n, 2i64)?");
        assert!(rust("p + 1").is_err());
        assert!(rust("9223372036854775808").is_err());
    }

    #[test]
    fn what_is_in_memory_is_a_fold() {
        let params = [
            tensorize_ir::loopir::Param::Array {
                name: "idx".into(),
                elem: ScalarType::I32,
                is_const: true,
                restrict: false,
            },
            tensorize_ir::loopir::Param::Scalar {
                name: "scale".into(),
                ty: ScalarType::F32,
            },
        ];
        let names = Names {
            integer: &|n| Some(n.into()),
            float: &|n| (n == "scale").then(|| "scale".into()),
            pointer: &|n| (n == "idx").then(|| "idx".into()),
        };
        let rust = |text: &str| {
            let idx = tensorize_ir::text::parse_idx(text, &params).unwrap();
            polynomial(&idx, &names)
        };
        assert_eq!(
            rust("value(fold(far'1 = -1:i64, k'1 < n, maximum(far'1, index(i64, value(idx[k'1]))))) + 1").unwrap(),
            "(({\nlet mut __far_1 = (-1i64);\nfor __k_1 in 0..n {\n__far_1 = __far_1.max(\
             (((unsafe { idx.cast::<i32>().wrapping_offset(__k_1 as isize).read() }) as i64) as i64));\n}\n\
             __far_1\n}) as i64).checked_add(1i64)?"
        );
        let scaled = rust("value(convert(i32, multiply(convert(f32, idx[0]), scale)))").unwrap();
        assert!(
            scaled
                .contains(".read() }) as f32) * scale)) as f64, -2147483648, 2147483647)? as i32)"),
            "{scaled}"
        );
        let sum = |ty: &str| {
            let index = format!("value(add(convert({ty}, idx[0]), 1:{ty}))");
            rust(&index).unwrap()
        };
        assert!(sum("i32").contains(".checked_add(1i32)?"), "{}", sum("i32"));
        assert!(sum("ui8").contains(".wrapping_add(1u8)"), "{}", sum("ui8"));
        let divided = rust("value(fold(a = 0:i32, k < n, divide(a, idx[k])))").unwrap();
        assert!(divided.contains(".checked_div("), "{divided}");
        let shifted = rust("value(shift_left(1:i32, idx[0]))").unwrap();
        assert!(shifted.contains(".checked_shl(by)"), "{shifted}");
        let halved = rust("value(shift_right_arithmetic(idx[0], 1:i32))").unwrap();
        assert!(halved.contains(".checked_shr("), "{halved}");
        assert!(rust("value(shift_right_logical(idx[0], 1:i32))").is_err());
        let of = |text: &str| {
            depth(
                &tensorize_ir::text::parse_idx(text, &params).unwrap(),
                &|_| None,
            )
        };
        assert_eq!((of("n + 1"), of("value(idx[0])")), (0, 1));
        // What refers to itself ends.
        let itself = tensorize_ir::text::parse_idx("value(idx[0])", &params).unwrap();
        let again = |_: &str| Some((Idx::default(), itself.clone()));
        assert_eq!(depth(&itself, &again), MOST_STEPS);
    }

    #[test]
    fn a_number_that_is_no_i64_is_none() {
        let params = [tensorize_ir::loopir::Param::Array {
            name: "end".into(),
            elem: ScalarType::U64,
            is_const: true,
            restrict: false,
        }];
        let names = Names {
            integer: &|_| None,
            float: &|_| None,
            pointer: &|n| (n == "end").then(|| "end".into()),
        };
        let idx = tensorize_ir::text::parse_idx("value(end[0]) - 1", &params).unwrap();
        assert_eq!(
            polynomial(&idx, &names).unwrap(),
            "i64::try_from(unsafe { end.cast::<u64>().wrapping_offset(0i64 as isize).read() }).ok()?.checked_sub(1i64)?"
        );
    }

    #[test]
    fn guards_are_conditions() {
        let names = Names {
            integer: &|n| Some(n.into()),
            float: &|_| None,
            pointer: &|_| None,
        };
        let guard = |text: &str| size_guard(&text.parse().unwrap(), &names);
        assert_eq!(guard("n >= 0").unwrap().unwrap(), "n >= 0");
        assert_eq!(
            guard("n + 1 fits i8").unwrap().unwrap(),
            "{ let value = n.checked_add(1i64)?; value >= -128 && value <= 127 }"
        );
        assert!(guard("a[0 .. n] disjoint b[0 .. n]").is_none());
    }
}
