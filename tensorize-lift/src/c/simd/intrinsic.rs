//! Calls of intrinsics: the formula that the table has for one, with the arguments put in.

use super::fold;
use super::lower::cut;
use super::table::{self, Body, Intrinsic, Type};
use super::value::{Vector, same_bits};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, convert, offset_op, problem};
use crate::c::place::Pointer;
use crate::c::types;
use clang_sys::*;
use std::collections::HashMap;
use tensorize_ir::loopir::{Expr, Function, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What an intrinsic gives.
pub(in crate::c) enum Outcome {
    Vector(Vector),
    Scalar(Expr),
    Nothing,
}

/// An argument of an intrinsic.
enum Arg {
    Vector(Vector),
    Scalar(Expr),
    Pointer(Pointer),
}

pub(super) fn intrinsic(call: Cursor<'_>) -> Option<&'static Intrinsic> {
    let callee = call.referenced()?;
    if callee.kind() != CXCursor_FunctionDecl || callee.definition().is_some() {
        return None;
    }
    table::intrinsics().get(&callee.spelling())
}

/// Whether a call is an intrinsic whose result is a mask.
pub(in crate::c) fn gives_mask(call: Cursor<'_>) -> bool {
    intrinsic(call).is_some_and(|i| matches!(i.result, Some(Type::Mask(_))))
}

/// Whether a call is an intrinsic, and if so, whether it writes memory.
pub(in crate::c) fn writes_memory(call: Cursor<'_>) -> Option<bool> {
    intrinsic(call).map(|i| matches!(i.body, Body::Store { .. }))
}

impl<'u> Lower<'u, '_> {
    /// A call of an intrinsic.
    pub fn intrinsic_call(&mut self, c: Cursor<'u>) -> Result<Option<Outcome>> {
        intrinsic(c).map(|i| self.intrinsic(c, i)).transpose()
    }

    pub(super) fn intrinsic(&mut self, c: Cursor<'u>, i: &'static Intrinsic) -> Result<Outcome> {
        if i.body == Body::Nothing {
            return Ok(Outcome::Nothing);
        }
        let bad = |what: &str| {
            let message = format!("'{}': {what}", i.name);
            problem(codes::VECTOR, message, c)
        };
        let written = c.arguments();
        if written.len() != i.params.len() {
            return Err(bad("the wrong number of arguments"));
        }
        let mut args: HashMap<&str, Arg> = HashMap::new();
        // What registers of integers are taken for.
        let mut any = None;
        for (a, (ty, name)) in written.into_iter().zip(&i.params) {
            let arg = match ty {
                Type::Vector(e, _) | Type::Registers(e, ..) => {
                    let v = self.vector(a)?;
                    Arg::Vector(v.seen_as(*e).ok_or_else(|| cut(a))?)
                }
                Type::Bits(_) | Type::Mask(_) => Arg::Vector(self.vector(a)?),
                Type::Scalar(s) => {
                    let v = self.value(a)?;
                    Arg::Scalar(self.light(convert(*s, v))?)
                }
                Type::Constant => match self.value(a)? {
                    Expr::Const(v) => Arg::Scalar(Expr::int(ScalarType::I64, v.as_int())),
                    _ => return Err(bad("an argument that has to be a constant is not")),
                },
                Type::Pointer(e) => {
                    let p = self.pointer(a)?;
                    if p.target.elem.bits() != e.bits() {
                        let message = format!(
                            "'{}' reads or writes {} elements as {e}",
                            i.name, p.target.elem
                        );
                        return Err(problem(codes::POINTER_CAST, message, a));
                    }
                    Arg::Pointer(p)
                }
                Type::PointerToBits(width) => {
                    let p = self.pointer(a)?;
                    if p.target.elem.bits() as usize > *width {
                        let of = p.target.elem;
                        let message = format!("'{}' reads or writes a part of one {of}", i.name);
                        return Err(problem(codes::POINTER_CAST, message, a));
                    }
                    any = Some(p.target.elem);
                    Arg::Pointer(p)
                }
            };
            if let (Arg::Vector(v), Type::Bits(_), None) = (&arg, ty, any) {
                let e = v.elem();
                any = Some(match e.is_int() {
                    true => e,
                    false => types::integer(e.bits().into(), false).unwrap_or(e),
                });
            }
            args.insert(name, arg);
        }
        let any = any.unwrap_or(ScalarType::I32);
        if !matches!(i.body, Body::Cast(_)) {
            for (ty, name) in &i.params {
                if let (Type::Bits(_), Some(Arg::Vector(v))) = (ty, args.get_mut(name.as_str())) {
                    *v = v.seen_as(any).ok_or_else(|| bad("an odd register"))?;
                }
            }
        }
        if i.fused {
            self.fused = true;
        }
        meaning(i, &args, any)
            .ok_or_else(|| bad("these arguments are not supported"))?
            .map_or(Ok(Outcome::Nothing), |outcome| match outcome {
                Applied::Vector(v) => self.held(v).map(Outcome::Vector),
                Applied::Scalar(e) => self.light(e).map(Outcome::Scalar),
                Applied::Stores(p, stores) => {
                    self.written.insert(p.target.array.clone());
                    for (index, value, only_if) in stores {
                        let store = Stmt::Store {
                            array: p.target.array.clone(),
                            index: offset_op(BinOp::Add, p.offset.clone(), index),
                            value: same_bits(p.target.elem, value),
                        };
                        match only_if {
                            Some(Expr::Const(v)) if !v.is_true() => {}
                            Some(cond) if !matches!(cond, Expr::Const(_)) => {
                                self.emit(Stmt::If {
                                    cond,
                                    then: vec![store],
                                    otherwise: vec![],
                                })?;
                            }
                            _ => self.emit(store)?,
                        }
                    }
                    Ok(Outcome::Nothing)
                }
            })
    }
}

/// What the table says, for these arguments.
fn meaning(
    i: &'static Intrinsic,
    args: &HashMap<&str, Arg>,
    any: ScalarType,
) -> Option<Option<Applied>> {
    let (elem, n) = match i.result {
        Some(Type::Vector(e, n)) => (e, n),
        Some(Type::Registers(e, n, k)) => (e, n * k),
        Some(Type::Bits(width)) => (any, width / any.bits() as usize),
        Some(Type::Mask(n)) => (ScalarType::I1, n),
        Some(Type::Scalar(e)) => (e, 1),
        _ => (any, 0),
    };
    let formula = |text: &str, ty: ScalarType| formula(i, text, ty, any);
    let lane = |e: &Expr, number: usize, n: usize| substitute(e, &Lanes { args, number, n });
    Some(Some(match &i.body {
        Body::Lane(text) => {
            let e = formula(text, elem)?;
            match i.result? {
                Type::Scalar(_) => Applied::Scalar(lane(&e, 0, 1)?),
                // C's type for a mask of fewer bits has 8, and the others are 0.
                Type::Mask(n) => {
                    let mut lanes = (0..n).map(|k| lane(&e, k, n)).collect::<Option<Vec<_>>>()?;
                    lanes.resize(n.max(8), Expr::Const(Scalar::bool(false)));
                    Applied::Vector(Vector { lanes })
                }
                _ => Applied::Vector(Vector {
                    lanes: (0..n).map(|k| lane(&e, k, n)).collect::<Option<_>>()?,
                }),
            }
        }
        Body::List(texts) => Applied::Vector(Vector {
            lanes: texts
                .iter()
                .map(|t| lane(&formula(t, elem)?, 0, n))
                .collect::<Option<_>>()?,
        }),
        Body::Cast(param) => match args.get(param.as_str())? {
            Arg::Vector(v) => Applied::Vector(match i.result? {
                Type::Vector(e, _) => v.seen_as(e)?,
                _ => v.clone(),
            }),
            _ => return None,
        },
        Body::Store {
            count,
            pointer,
            index,
            value,
            only_if,
        } => {
            let Some(Arg::Pointer(p)) = args.get(pointer.as_str()) else {
                return None;
            };
            let (to, n) = i.params.iter().rev().find_map(|(t, _)| match t {
                Type::Vector(e, n) => Some((*e, *n)),
                Type::Registers(e, n, k) => Some((*e, n * k)),
                Type::Bits(width) => Some((any, width / any.bits() as usize)),
                _ => None,
            })?;
            let index = formula(index, ScalarType::I64)?;
            let value = formula(value, to)?;
            let only_if = match only_if {
                Some(c) => Some(formula(c, ScalarType::I1)?),
                None => None,
            };
            let count = match count {
                Some(c) => match lane(&formula(c, ScalarType::I64)?, 0, n)? {
                    Expr::Const(v) => v.as_int() as usize,
                    _ => return None,
                },
                None => n,
            };
            let mut stores = Vec::new();
            for k in 0..count {
                let cond = match &only_if {
                    Some(c) => Some(lane(c, k, n)?),
                    None => None,
                };
                stores.push((lane(&index, k, n)?, lane(&value, k, n)?, cond));
            }
            Applied::Stores(p.clone(), stores)
        }
        Body::Nothing => return Some(None),
    }))
}

/// A result that is not yet held.
enum Applied {
    Vector(Vector),
    Scalar(Expr),
    /// Index, value, condition.
    Stores(Pointer, Vec<(Expr, Expr, Option<Expr>)>),
}

/// Parses a formula of the table.
fn formula(i: &Intrinsic, text: &str, ty: ScalarType, any: ScalarType) -> Option<Expr> {
    let mut params = String::from("i64 i, i64 n");
    for (t, name) in &i.params {
        let declared = match t {
            Type::Vector(e, _) | Type::Registers(e, ..) | Type::Pointer(e) => {
                format!("const {e} *{name}")
            }
            Type::Bits(_) | Type::PointerToBits(_) => format!("const {any} *{name}"),
            Type::Mask(_) => format!("const i1 *{name}"),
            Type::Scalar(s) => format!("{s} {name}"),
            Type::Constant => format!("i64 {name}"),
        };
        params.push_str(", ");
        params.push_str(&declared);
    }
    let text = format!("{ty} lane({params}) {{ return {text}; }}");
    let function: Function = text.parse().ok()?;
    match function.body.into_iter().next()? {
        Stmt::Return(e) => e,
        _ => None,
    }
}

/// What a formula is about.
struct Lanes<'a> {
    args: &'a HashMap<&'a str, Arg>,
    number: usize,
    n: usize,
}

/// The formula with its arguments put in; conditions on numbers of lanes and on constants are decided.
fn substitute(e: &Expr, on: &Lanes<'_>) -> Option<Expr> {
    let int = |v: usize| Some(Expr::int(ScalarType::I64, v as i128));
    match e {
        Expr::Const(_) => Some(e.clone()),
        Expr::Var(name, _) => match &**name {
            "i" => int(on.number),
            "n" => int(on.n),
            name => match on.args.get(name)? {
                Arg::Scalar(v) => Some(v.clone()),
                _ => None,
            },
        },
        Expr::Load { array, index, elem } => {
            let Expr::Const(at) = substitute(index, on)? else {
                return None;
            };
            match on.args.get(&**array)? {
                Arg::Vector(v) => v.lanes.get(usize::try_from(at.as_int()).ok()?).cloned(),
                Arg::Pointer(p) => Some(same_bits(*elem, lane_of(p, at.as_int()))),
                Arg::Scalar(_) => None,
            }
        }
        Expr::Unary(op, a) => Some(fold::unary(*op, substitute(a, on)?)),
        Expr::Binary(op, a, b) => Some(fold::binary(*op, substitute(a, on)?, substitute(b, on)?)),
        Expr::Compare(op, a, b) => Some(fold::compare(*op, substitute(a, on)?, substitute(b, on)?)),
        Expr::Convert(to, a) => Some(fold::convert(*to, substitute(a, on)?)),
        Expr::Bitcast(to, a) => Some(fold::bitcast(*to, substitute(a, on)?)),
        Expr::Select(c, t, f) => match substitute(c, on)? {
            // The other side may name a lane that isn't there.
            Expr::Const(v) if v.is_true() => substitute(t, on),
            Expr::Const(_) => substitute(f, on),
            c => Some(fold::select(c, substitute(t, on)?, substitute(f, on)?)),
        },
    }
}

/// Element `i` behind a pointer.
pub(super) fn lane_of(p: &Pointer, i: i128) -> Expr {
    let index = offset_op(BinOp::Add, p.offset.clone(), Expr::int(ScalarType::I64, i));
    Expr::load(p.target.array.clone(), p.target.elem, index)
}
