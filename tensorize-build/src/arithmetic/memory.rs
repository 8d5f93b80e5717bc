//! What an index in memory says, as Rust: folds over the elements that the original reads anyway.

use super::{Names, polynomial};
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::ended;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// An integer or truth value as an expression of its own Rust type.
pub(super) fn value(e: &ElemRef, names: &Names<'_>) -> Result<String, String> {
    let no = |what: &str| {
        Err(format!(
            "it depends on {what}, which can't be computed before"
        ))
    };
    let ty = e.ty();
    Ok(match &**e {
        Elem::Const(v) => literal(*v),
        Elem::OfIdx(ty, idx) if ty.is_int() => {
            format!("({} as {})", polynomial(idx, names)?, ty.rust_name())
        }
        Elem::Read { array, ty, index } => {
            let pointer =
                (names.pointer)(array).ok_or_else(|| format!("`{array}` is no array parameter"))?;
            let at = polynomial(index, names)?;
            format!(
                "unsafe {{ {pointer}.cast::<{}>().wrapping_offset({at} as isize).read() }}",
                ty.rust_name()
            )
        }
        Elem::Acc(name, _) => variable(name),
        Elem::Param(name, _) if ty.is_float() => {
            (names.float)(name).ok_or_else(|| format!("`{name}` is no float parameter"))?
        }
        Elem::Unary(UnOp::Negate, a) if ty.is_float() => format!("(-{})", value(a, names)?),
        // As in C without contraction, each operation is rounded by itself.
        Elem::Binary(op, a, b) if ty.is_float() => {
            let sign = match op {
                BinOp::Add => "+",
                BinOp::Subtract => "-",
                BinOp::Multiply => "*",
                BinOp::Divide => "/",
                other => return no(&format!("`{other}`")),
            };
            format!("({} {sign} {})", value(a, names)?, value(b, names)?)
        }
        Elem::Convert(to, a) if to.is_float() && a.ty() != ScalarType::I1 => {
            format!("(({}) as {})", value(a, names)?, to.rust_name())
        }
        Elem::Unary(UnOp::Negate, a) if ty.is_int() => arithmetic(ty, "neg", &value(a, names)?, ""),
        Elem::Unary(UnOp::Not, a) => format!("!{}", value(a, names)?),
        Elem::Binary(op, a, b) if ty.is_int() => {
            let (a, b) = (value(a, names)?, value(b, names)?);
            match op {
                // What stands on the right is read only where the left side holds.
                BinOp::And if ty == ScalarType::I1 => format!("({a} && {b})"),
                BinOp::Or if ty == ScalarType::I1 => format!("({a} || {b})"),
                BinOp::And => format!("({a} & {b})"),
                BinOp::Or => format!("({a} | {b})"),
                BinOp::Xor => format!("({a} ^ {b})"),
                BinOp::Add => arithmetic(ty, "add", &a, &b),
                BinOp::Subtract => arithmetic(ty, "sub", &a, &b),
                BinOp::Multiply => arithmetic(ty, "mul", &a, &b),
                BinOp::Maximum => format!("{a}.max({b})"),
                BinOp::Minimum => format!("{a}.min({b})"),
                BinOp::Divide => format!("{a}.checked_div({b})?"),
                // What does not fit is undefined, or left to the original.
                BinOp::ShiftLeft => format!(
                    "{{ let (x, by) = ({a}, u32::try_from({b}).ok()?); x.checked_shl(by).filter(|y| y >> by == x)? }}"
                ),
                BinOp::ShiftRightArithmetic if ty.is_signed() => shifted_right(&a, &b),
                BinOp::ShiftRightLogical if !ty.is_signed() => shifted_right(&a, &b),
                other => return no(&format!("`{other}`")),
            }
        }
        Elem::Compare(op, a, b) => {
            format!(
                "({} {} {})",
                value(a, names)?,
                symbol(*op),
                value(b, names)?
            )
        }
        Elem::IndexCompare(op, a, b) => {
            let (a, b) = (polynomial(a, names)?, polynomial(b, names)?);
            format!("({a} {} {b})", symbol(*op))
        }
        Elem::Convert(ScalarType::I1, a) if a.ty().is_int() => {
            format!("(({}) as i128 != 0)", value(a, names)?)
        }
        Elem::Convert(to, a) if to.is_int() && *to != ScalarType::I1 => {
            let from = value(a, names)?;
            match a.ty().is_float() {
                true => format!(
                    "(rt::convertible(({from}) as f64, {}, {})? as {})",
                    to.min_value(),
                    to.max_value(),
                    to.rust_name()
                ),
                false => format!("(({from}) as {})", to.rust_name()),
            }
        }
        Elem::Select(c, t, f) => format!(
            "if {} {{ {} }} else {{ {} }}",
            value(c, names)?,
            value(t, names)?,
            value(f, names)?
        ),
        Elem::Fold(f) if f.others.is_empty() && ty.is_int() => {
            let (acc, counter) = (variable(&f.acc), variable(&f.var));
            let integer = |name: &str| match *name == *f.var {
                true => Some(counter.clone()),
                false => (names.integer)(name),
            };
            let inner = Names {
                integer: &integer,
                ..*names
            };
            // Once it stays as it is, no round is left that matters: a sentinel may stand long before the size that is given.
            let (ended, step) = match ended(f) {
                Some((ended, step)) => {
                    let ended = value(ended, &inner)?;
                    (format!("if {ended} {{ break; }}\n"), step)
                }
                None => (String::new(), &f.step),
            };
            format!(
                "{{\nlet mut {acc} = {};\nfor {counter} in 0..{} {{\n{ended}{acc} = {};\n}}\n{acc}\n}}",
                value(&f.init, names)?,
                polynomial(&f.extent, names)?,
                value(step, &inner)?
            )
        }
        _ => return no(&format!("`{e}`")),
    })
}

/// What overflows has no value where C gives it none: what a compiler makes of it may lead anywhere.
fn arithmetic(ty: ScalarType, op: &str, a: &str, b: &str) -> String {
    match ty.is_signed() {
        true => format!("{a}.checked_{op}({b})?"),
        false => format!("{a}.wrapping_{op}({b})"),
    }
}

/// By a count that C defines; with copies of the sign, if the type has one.
fn shifted_right(a: &str, by: &str) -> String {
    format!("{a}.checked_shr(u32::try_from({by}).ok()?)?")
}

fn literal(v: Scalar) -> String {
    match v.ty {
        ScalarType::I1 => v.is_true().to_string(),
        ScalarType::F32 => format!("f32::from_bits({:#x})", v.bits),
        ScalarType::F64 => format!("f64::from_bits({:#x})", v.bits),
        ty if v.as_int() < 0 => format!("({}{})", v.as_int(), ty.rust_name()),
        ty => format!("{}{}", v.as_int(), ty.rust_name()),
    }
}

fn symbol(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    }
}

/// A bound name as a Rust one that no parameter has.
fn variable(name: &Sym) -> String {
    format!("__{}", name.replace(|c: char| !c.is_alphanumeric(), "_"))
}

/// How often the data leads on: 0 for what the sizes say alone, 1 for what an array says whose own extent the
/// sizes say, and so on. What is further can be looked at only where the extents before it are checked.
pub fn depth(idx: &Idx, extent_of: &dyn Fn(&str) -> Option<(Idx, Idx)>) -> usize {
    fn of(idx: &Idx, extent_of: &dyn Fn(&str) -> Option<(Idx, Idx)>, left: usize) -> usize {
        let mut deepest = 0;
        idx.for_each_value(&mut |e| {
            e.visit(&mut |x| {
                if let (Elem::Read { array, .. }, true) = (&**x, left > 0) {
                    let ends = extent_of(array);
                    let inner = ends.map_or(0, |(lo, hi)| {
                        of(&lo, extent_of, left - 1).max(of(&hi, extent_of, left - 1))
                    });
                    deepest = deepest.max(1 + inner);
                }
            })
        });
        deepest
    }
    // Nothing real is that deep; what refers to itself ends here.
    of(idx, extent_of, MOST_STEPS)
}

/// No data leads on more often.
pub const MOST_STEPS: usize = 8;
