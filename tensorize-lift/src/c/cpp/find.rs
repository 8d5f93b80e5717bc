//! Algorithms that give an iterator: the greatest element, the first one that is so.

use super::super::call::Arg;
use super::super::codes;
use super::super::expr::{as_truth, negation, select};
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert, offset_op, operands, peeled, problem};
use super::super::place::Pointer;
use super::super::types::{self, Ty};
use super::call::{Call, better};
use super::lambda::Callable;
use super::seq::int;
use super::walk::Range;
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Which one of the elements that are least or greatest.
#[derive(Clone, Copy)]
enum Extreme {
    FirstLeast,
    FirstGreatest,
    LastGreatest,
}

impl Extreme {
    /// What an algorithm that gives one element looks for.
    fn of(call: &Call<'_>) -> Extreme {
        match call.name.as_str() {
            "max_element" | "max" => Extreme::FirstGreatest,
            _ => Extreme::FirstLeast,
        }
    }
}

impl<'u> Lower<'u, '_> {
    /// Whether `b` is to be taken rather than `a`, the best so far.
    fn is_better(
        &mut self,
        call: &Call<'u>,
        wanted: Extreme,
        compare: &Option<Callable<'u>>,
        a: Expr,
        b: Expr,
    ) -> Result<Expr> {
        let (l, r) = match wanted {
            Extreme::FirstGreatest => (a, b),
            Extreme::FirstLeast | Extreme::LastGreatest => (b, a),
        };
        let less = match compare {
            None => Expr::compare(CmpOp::Lt, l, r),
            Some(f) => {
                let args = vec![Arg::Value(l), Arg::Value(r)];
                let result = self.apply(f, args, call.at.referenced(), call.at)?;
                as_truth(result.ok_or_else(|| call.unsupported())?)
            }
        };
        Ok(match wanted {
            Extreme::LastGreatest => negation(less),
            _ => less,
        })
    }

    /// `*std::max_element(first, last)`: the value itself.
    pub(super) fn extreme_value(&mut self, e: Cursor<'u>) -> Result<Option<Expr>> {
        let e = peeled(e);
        if e.kind() != CXCursor_CallExpr {
            return Ok(None);
        }
        let Some(call) = Call::of(e) else {
            return Ok(None);
        };
        if !matches!(call.name.as_str(), "max_element" | "min_element")
            || !(2..=3).contains(&call.args.len())
        {
            return Ok(None);
        }
        self.extreme_element(&call).map(Some)
    }

    /// The greatest or least element, the first one of them.
    pub(super) fn extreme_element(&mut self, call: &Call<'u>) -> Result<Expr> {
        let e = call.at;
        let range = self.range(call, 0)?;
        if !range.walk.is_of_numbers() {
            return Err(call.unsupported());
        }
        let compare = call.args.get(2).map(|&f| self.callable(f)).transpose()?;
        let first = self.load(range.at(int(0)), e)?;
        let var = self.fresh("best");
        let ty = first.ty();
        self.assign_var(var.clone(), first)?;
        let best = Expr::Var(var.clone(), ty);
        let rest = offset_op(BinOp::Subtract, range.len.clone(), int(1));
        let result = best.clone();
        self.count_to(rest, e, move |s, k| {
            let element = s.load(range.at(offset_op(BinOp::Add, k, int(1))), e)?;
            let value = match &compare {
                None => better(&call.name, best, element),
                Some(_) => {
                    let (best_so_far, next) = (best.clone(), element.clone());
                    let wins = s.is_better(call, Extreme::of(call), &compare, best_so_far, next)?;
                    select(wins, element, best)
                }
            };
            s.assign_var(var, value)
        })?;
        Ok(result)
    }

    /// The iterator that an algorithm returns.
    pub(super) fn found(&mut self, call: &Call<'u>) -> Result<Option<Pointer>> {
        match (call.name.as_str(), call.args.len()) {
            ("max_element" | "min_element", 2 | 3) => {
                let range = self.range(call, 0)?;
                let start = self.start_of(&range, call)?;
                let compare = call.args.get(2).map(|&f| self.callable(f)).transpose()?;
                let position = self.extreme_position(call, Extreme::of(call), &range, compare)?;
                Ok(Some(start.moved(position)))
            }
            ("find" | "find_if" | "find_if_not", 3) => {
                let range = self.range(call, 0)?;
                let start = self.start_of(&range, call)?;
                let position = self.search(call, &range)?;
                Ok(Some(start.moved(position)))
            }
            _ => match self.keeping(call)? {
                Some(end) => end.ok_or_else(|| call.unsupported()).map(Some),
                None => Ok(None),
            },
        }
    }

    /// The position of an extreme element; of no elements, 0.
    fn extreme_position(
        &mut self,
        call: &Call<'u>,
        wanted: Extreme,
        range: &Range,
        compare: Option<Callable<'u>>,
    ) -> Result<Expr> {
        let (at, c) = (self.fresh("best.at"), call.at);
        let best = self.fresh("best");
        let first = self.load(range.at(int(0)), c)?;
        let ty = first.ty();
        self.assign_var(best.clone(), first)?;
        self.assign_var(at.clone(), int(0))?;
        let position = Expr::Var(at.clone(), ScalarType::I64);
        let rest = offset_op(BinOp::Subtract, range.len.clone(), int(1));
        self.count_to(rest, c, |s, k| {
            let k = offset_op(BinOp::Add, k, int(1));
            let element = s.load(range.at(k.clone()), c)?;
            let so_far = Expr::Var(best.clone(), ty);
            let cond = s.is_better(call, wanted, &compare, so_far, element.clone())?;
            s.emit(Stmt::If {
                cond,
                then: vec![
                    Stmt::Assign {
                        var: best,
                        ty,
                        value: element,
                    },
                    Stmt::Assign {
                        var: at,
                        ty: ScalarType::I64,
                        value: k,
                    },
                ],
                otherwise: vec![],
            })
        })?;
        Ok(position)
    }

    /// The two iterators of `std::minmax_element`, if that is what is called or what a variable has been made of: to the first
    /// of the least elements, and to the last of the greatest.
    pub(in super::super) fn found_pair(&mut self, e: Cursor<'u>) -> Result<Option<[Pointer; 2]>> {
        let e = peeled(e);
        match e.kind() {
            CXCursor_DeclRefExpr => {
                let pair = e.referenced().and_then(|d| self.cpp.pairs.get(&d));
                return Ok(pair.cloned());
            }
            CXCursor_CallExpr => {}
            _ => return Ok(None),
        }
        let call = Call::of(e).filter(|call| call.name == "minmax_element");
        let Some(call) = call.filter(|call| (2..=3).contains(&call.args.len())) else {
            return Ok(None);
        };
        let range = self.range(&call, 0)?;
        let compare = call.args.get(2).map(|&f| self.callable(f)).transpose()?;
        // Libraries look at two elements at a time. What they give is open where elements have no order, as NaN has none, and
        // where that of a function object is none.
        let ordered = match &compare {
            None => true,
            Some(Callable::Functor(name, _)) => matches!(name.as_str(), "less" | "greater"),
            Some(_) => false,
        };
        if !range.walk.is_of_numbers() || !range.walk.view().is_int() || !ordered {
            let message = format!(
                "'std::{}' of other elements than integers, or by an order of its own, is not supported",
                call.name
            );
            let mut p = problem(codes::UNKNOWN_CALL, message, e);
            p.help = Some("use std::min_element and std::max_element".into());
            return Err(p);
        }
        let start = self.start_of(&range, &call)?;
        let least = self.extreme_position(&call, Extreme::FirstLeast, &range, compare.clone())?;
        let greatest = self.extreme_position(&call, Extreme::LastGreatest, &range, compare)?;
        Ok(Some([start.clone().moved(least), start.moved(greatest)]))
    }

    /// `auto found = std::minmax_element(…);`
    pub(in super::super) fn declare_found(&mut self, d: Cursor<'u>, e: Cursor<'u>) -> Result<bool> {
        if matches!(types::of(d), Ty::Reference(_)) || peeled(e).kind() != CXCursor_CallExpr {
            return Ok(false);
        }
        let Some(pair) = self.full_value(e, |s| s.found_pair(e))? else {
            return Ok(false);
        };
        self.cpp.pairs.insert(d, pair);
        Ok(true)
    }

    /// `found.second`
    pub(in super::super) fn found_member(&mut self, c: Cursor<'u>) -> Result<Option<Pointer>> {
        let [object] = operands(c)[..] else {
            return Ok(None);
        };
        let Some([least, greatest]) = self.found_pair(object)? else {
            return Ok(None);
        };
        Ok(match c.spelling().as_str() {
            "first" | "min" => Some(least),
            "second" | "max" => Some(greatest),
            _ => None,
        })
    }

    /// Where a range starts of which an element is found. (The iterator to one of those that are walked back would be a reverse
    /// one.)
    pub(super) fn start_of(&self, range: &Range, call: &Call<'u>) -> Result<Pointer> {
        let start = range.walk.start().cloned();
        start.ok_or_else(|| call.unsupported())
    }

    /// The position of the first element that a search stops at, or the length.
    pub(super) fn search(&mut self, call: &Call<'u>, range: &Range) -> Result<Expr> {
        let c = call.at;
        let wanted = call.arg(2)?;
        enum Test<'u> {
            Equal(Expr),
            Holds(Callable<'u>, bool),
        }
        let test = if call.name == "find" {
            let v = self.value(wanted)?;
            Test::Equal(self.settled("wanted", v)?)
        } else {
            Test::Holds(
                self.callable(wanted)?,
                !matches!(call.name.as_str(), "find_if_not" | "all_of"),
            )
        };
        self.first_where(range.len.clone(), c, |s, k| {
            let element = range.at(k);
            match test {
                Test::Equal(v) => {
                    let element = s.load(element, c)?;
                    let ty = types::usual(element.ty(), v.ty());
                    Ok(Expr::compare(
                        CmpOp::Eq,
                        convert(ty, element),
                        convert(ty, v),
                    ))
                }
                Test::Holds(f, sense) => {
                    let v = match range.walk.is_of_numbers() {
                        true => {
                            let element = s.load(element, c)?;
                            let v = s.apply(&f, vec![Arg::Value(element)], c.referenced(), c)?;
                            v.ok_or_else(|| call.unsupported())?
                        }
                        // An element that is a struct.
                        false => s.called(&f, vec![element], call)?,
                    };
                    let v = as_truth(v);
                    Ok(if sense { v } else { negation(v) })
                }
            }
        })
    }

    /// The first number below `len` of which something is true, or `len`. Nothing after it is looked at.
    pub(super) fn first_where(
        &mut self,
        len: Expr,
        c: Cursor<'u>,
        test: impl FnOnce(&mut Self, Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        let at = self.fresh("at");
        let found = self.fresh("found");
        let flag = |v: bool| Expr::Const(Scalar::bool(v));
        self.assign_var(at.clone(), int(0))?;
        self.assign_var(found.clone(), flag(false))?;
        let position = Expr::Var(at.clone(), ScalarType::I64);
        let is_found = Expr::Var(found.clone(), ScalarType::I1);
        let id = self.loops;
        self.loops += 1;
        let (body, ()) = self.in_block(|s| {
            let stops = test(s, position.clone())?;
            s.emit(Stmt::If {
                cond: stops,
                then: vec![Stmt::Assign {
                    var: found,
                    ty: ScalarType::I1,
                    value: flag(true),
                }],
                otherwise: vec![Stmt::Assign {
                    var: at,
                    ty: ScalarType::I64,
                    value: Expr::binary(BinOp::Add, position.clone(), int(1)),
                }],
            })
        })?;
        let inside = Expr::compare(CmpOp::Lt, position.clone(), len);
        self.emit(Stmt::Loop(tensorize_ir::loopir::Loop {
            id,
            cond: select(negation(is_found), inside, flag(false)),
            test_first: true,
            body,
            mode: tensorize_ir::loopir::LoopMode::Sequential,
            line: c.extent().map_or(0, |e| e.0.line),
        }))?;
        Ok(position)
    }
}
