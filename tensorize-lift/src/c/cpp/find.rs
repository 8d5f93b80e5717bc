//! Algorithms that give an iterator: the greatest element, the first one that is so.

use super::super::call::Arg;
use super::super::expr::{as_truth, negation, select};
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert, offset_op, peeled};
use super::super::place::Pointer;
use super::call::{Call, better};
use super::lambda::Callable;
use super::seq::{Seq, int};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

impl<'u> Lower<'u, '_> {
    /// The elements between two iterators that are a call's arguments, or those of a range.
    pub(super) fn range(&mut self, call: &Call<'u>, first: usize) -> Result<Seq> {
        if call.is_range(first) {
            let all = self.seq(call.arg(first)?)?;
            return Ok(Seq {
                start: self.settled_pointer(all.start)?,
                len: self.settled("n", all.len)?,
                size: None,
                rows: None,
            });
        }
        let (a, b) = (
            self.pointer(call.arg(first)?)?,
            self.pointer(call.arg(first + 1)?)?,
        );
        let len = self.distance(&a, &b, call.at)?;
        let len = self.settled("n", len)?;
        let start = self.settled_pointer(a)?;
        Ok(Seq {
            start,
            len,
            size: None,
            rows: None,
        })
    }

    /// Whether `b` is to be taken rather than `a`, the best so far.
    fn is_better(
        &mut self,
        call: &Call<'u>,
        compare: &Option<Callable<'u>>,
        a: Expr,
        b: Expr,
    ) -> Result<Expr> {
        let max = matches!(call.name.as_str(), "max_element" | "max");
        let (l, r) = if max { (a, b) } else { (b, a) };
        match compare {
            None => Ok(Expr::compare(CmpOp::Lt, l, r)),
            Some(f) => {
                let args = vec![Arg::Value(l), Arg::Value(r)];
                let result = self.apply(f, args, call.at.referenced(), call.at)?;
                Ok(as_truth(result.ok_or_else(|| call.unsupported())?))
            }
        }
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
        if !range.start.dims.is_empty() {
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
                    let wins = s.is_better(call, &compare, best.clone(), element.clone())?;
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
                let compare = call.args.get(2).map(|&f| self.callable(f)).transpose()?;
                let (at, c) = (self.fresh("best.at"), call.at);
                let best = self.fresh("best");
                let first = self.load(range.at(int(0)), c)?;
                let ty = first.ty();
                self.assign_var(best.clone(), first)?;
                self.assign_var(at.clone(), int(0))?;
                let position = Expr::Var(at.clone(), ScalarType::I64);
                let rest = offset_op(BinOp::Subtract, range.len.clone(), int(1));
                let start = range.start.clone();
                self.count_to(rest, c, |s, k| {
                    let k = offset_op(BinOp::Add, k, int(1));
                    let element = s.load(range.at(k.clone()), c)?;
                    let cond =
                        s.is_better(call, &compare, Expr::Var(best.clone(), ty), element.clone())?;
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
                Ok(Some(start.moved(position)))
            }
            ("find" | "find_if" | "find_if_not", 3) => {
                let range = self.range(call, 0)?;
                let position = self.search(call, &range)?;
                Ok(Some(range.start.moved(position)))
            }
            _ => Ok(None),
        }
    }

    /// The position of the first element that a search stops at, or the length.
    pub(super) fn search(&mut self, call: &Call<'u>, range: &Seq) -> Result<Expr> {
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
            let element = s.load(range.at(k), c)?;
            match test {
                Test::Equal(v) => {
                    let ty = types::usual(element.ty(), v.ty());
                    Ok(Expr::compare(
                        CmpOp::Eq,
                        convert(ty, element),
                        convert(ty, v),
                    ))
                }
                Test::Holds(f, sense) => {
                    let v = s.apply(&f, vec![Arg::Value(element)], c.referenced(), c)?;
                    let v = as_truth(v.ok_or_else(|| call.unsupported())?);
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
        let going = self.fresh("going");
        let flag = |v: bool| Expr::Const(Scalar::bool(v));
        self.assign_var(at.clone(), int(0))?;
        self.assign_var(going.clone(), flag(true))?;
        let position = Expr::Var(at.clone(), ScalarType::I64);
        let goes = Expr::Var(going.clone(), ScalarType::I1);
        let id = self.loops;
        self.loops += 1;
        let (body, ()) = self.in_block(|s| {
            let stops = test(s, position.clone())?;
            s.emit(Stmt::If {
                cond: stops,
                then: vec![Stmt::Assign {
                    var: going,
                    ty: ScalarType::I1,
                    value: flag(false),
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
            cond: select(goes, inside, flag(false)),
            test_first: true,
            body,
            mode: tensorize_ir::loopir::LoopMode::Sequential,
            line: c.extent().map_or(0, |e| e.0.line),
        }))?;
        Ok(position)
    }
}

use super::super::types;
