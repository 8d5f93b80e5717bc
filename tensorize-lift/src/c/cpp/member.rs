//! Calls that change an object: a vector that grows, an iterator that moves, two numbers that are swapped.

use super::super::codes;
use super::super::expr::as_truth;
use super::super::ffi::Cursor;
use super::super::flatten::is_zero_at_first;
use super::super::lower::{Lower, Result, convert, offset_op, problem};
use super::super::types::{self, Ty};
use super::call::Call;
use super::class::Class;
use super::scan;
use super::seq::{Seq, index_of, int};
use clang_sys::CXCursor_VarDecl;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// Whether a call of the library changes something besides what an algorithm writes.
pub(super) fn changes(name: &str) -> bool {
    matches!(
        name,
        "push_back"
            | "emplace_back"
            | "pop_back"
            | "resize"
            | "clear"
            | "assign"
            | "insert"
            | "erase"
            | "erase_if"
            | "emplace"
            | "reset"
            | "fill"
            | "swap"
            | "operator="
            | "operator+="
            | "operator-="
            | "operator*="
            | "operator/="
            | "operator++"
            | "operator--"
            | "advance"
    )
}

impl<'u> Lower<'u, '_> {
    /// `None` if the call is not of this kind.
    pub(super) fn changing_call(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let c = call.at;
        let class = call.class();
        let on_vector = matches!(class, Some(Class::Vector(_)));
        let on_text = matches!(class, Some(Class::Text(_)));
        match (call.name.as_str(), call.args.len()) {
            ("push_back", 2) if on_vector => {
                let dest = self.seq(call.arg(0)?)?;
                self.push(&dest, call.arg(1)?, c)?;
            }
            ("emplace_back", n) if on_vector && n >= 1 => {
                let dest = self.seq(call.arg(0)?)?;
                self.emplace(&dest, &call.args[1..], call)?;
            }
            ("pop_back", 1) if on_vector => {
                let dest = self.reached(call.arg(0)?)?;
                if dest.rows.is_some() {
                    return Err(call.unsupported());
                }
                let less = offset_op(BinOp::Subtract, dest.len.clone(), int(1));
                self.set_len(&dest, less, c)?;
            }
            ("clear", 1) if on_vector => {
                let dest = self.seq(call.arg(0)?)?;
                self.set_len(&dest, int(0), c)?;
            }
            ("reserve", 2) | ("shrink_to_fit", 1) if on_vector => {
                // Its caller may go by how many elements have room. One that grows here has room for these.
                let variable = scan::named(call.arg(0)?);
                let own = variable.is_some_and(|d| {
                    d.kind() == CXCursor_VarDecl && !matches!(types::of(d), Ty::Reference(_))
                });
                if !own && self.seq(call.arg(0)?)?.size.is_none() {
                    let message = "how much room a vector has is changed, which has to stay";
                    let mut p = problem(codes::ALLOCATION, message, c);
                    p.help = Some("reserve where the vector grows".into());
                    return Err(p);
                }
            }
            ("resize", 2 | 3) if on_vector => {
                let dest = self.seq(call.arg(0)?)?;
                self.resize(&dest, call.arg(1)?, call.args.get(2).copied(), call)?;
            }
            ("assign", 2 | 3) if on_vector => {
                let made = self.made_from(&call.args[1..], c)?;
                let dest = self.seq(call.arg(0)?)?;
                let dest = self.assigned(dest, &made, c)?;
                self.assign_vector(&dest, c, |s, new| s.construct_from(new, &call.args[1..], c))?;
            }
            ("insert", 4) if on_vector => self.append(call)?,
            ("erase" | "erase_if", _) if on_vector => return self.erased(call),
            ("fill", 2) => {
                let dest = self.seq(call.arg(0)?)?;
                let value = self.value(call.arg(1)?)?;
                let (value, len) = (convert(dest.start.view, value), dest.len.clone());
                self.fill(&dest, int(0), len, value, c)?;
            }
            ("swap", 2)
                if !call.points && matches!(types::of(call.arg(0)?).referred(), Ty::Pointer(_)) =>
            {
                self.exchange_pointers(call.arg(0)?, call.arg(1)?)?;
            }
            ("swap", 2) if on_vector => {
                let (a, b) = (self.seq(call.arg(0)?)?, self.seq(call.arg(1)?)?);
                self.exchange_vectors(&a, &b, c)?;
            }
            ("swap", 2) => {
                let (a, b) = (call.arg(0)?, call.arg(1)?);
                if !self.is_place(a) || !self.is_place(b) {
                    return Err(problem(codes::TYPE, "objects that are swapped", c));
                }
                let (a, b) = (self.place(a)?, self.place(b)?);
                let (a, b) = (self.settled_place(a)?, self.settled_place(b)?);
                self.exchange(a, b, c)?;
            }
            ("operator=", 2) => {
                let (l, r) = (call.arg(0)?, call.arg(1)?);
                match types::of(l).referred() {
                    Ty::Class(Class::Vector(_) | Class::Array(..)) => {
                        let mut dest = self.seq(l)?;
                        if on_vector {
                            let made = self.made(r)?;
                            self.pass_moved(&dest, r)?;
                            dest = self.assigned(dest, &made, c)?;
                        }
                        self.assign_vector(&dest, c, |s, new| s.construct(new, r))?;
                    }
                    Ty::Pointer(_) => self.pointer(c).map(|_| ())?,
                    _ => {
                        let mut p = problem(
                            codes::TYPE,
                            "an object is assigned whose place is not known",
                            c,
                        );
                        p.help = Some("use a new variable for each span".into());
                        return Err(p);
                    }
                }
            }
            ("operator++" | "operator--", 1 | 2) => {
                let by = if call.name == "operator++" { 1 } else { -1 };
                let v = self.pointer_named(call.arg(0)?)?;
                let old = self.pointer_of(&v)?;
                self.set_pointer(&v, old.moved(int(by)), false)?;
            }
            ("operator+=", 2) if on_text => {
                let message = "a string grows here, which is not supported";
                return Err(problem(codes::ALLOCATION, message, c));
            }
            ("operator+=" | "operator-=", 2) => self.pointer(c).map(|_| ())?,
            ("advance", 2) => {
                let v = self.pointer_named(call.arg(0)?)?;
                let by = index_of(self.value(call.arg(1)?)?);
                let old = self.pointer_of(&v)?;
                self.set_pointer(&v, old.moved(by), false)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(None))
    }

    /// `emplace_back(…)`: the arguments are those of a constructor.
    fn emplace(&mut self, dest: &Seq, args: &[Cursor<'u>], call: &Call<'u>) -> Result<()> {
        if self.emplace_complex(dest, args, call)? {
            return Ok(());
        }
        match args {
            [one] if dest.rows.is_none() || scan::named(*one).is_some() => {
                if dest.rows.is_some() || !dest.start.dims.is_empty() {
                    return self.push(dest, *one, call.at);
                }
                let v = self.value(*one)?;
                self.push_value(dest, v, call.at)
            }
            [] if dest.rows.is_none() => {
                let zero = self.zero_of(dest);
                self.push_value(dest, zero, call.at)
            }
            _ => {
                let Some(rows) = dest.rows.clone() else {
                    return Err(call.unsupported());
                };
                let row = self.row_in_place(dest, "row", call.at)?;
                self.construct_from(&row, args, call.at)?;
                self.row_length(&rows, row.len)?;
                let more = offset_op(BinOp::Add, dest.len.clone(), int(1));
                self.set_len(dest, more, call.at)
            }
        }
    }

    /// Appends a number, converted to the type of the elements.
    pub(super) fn push_value(&mut self, dest: &Seq, value: Expr, at: Cursor<'u>) -> Result<()> {
        let Some(size) = dest.size.clone() else {
            return Err(problem(
                codes::ALLOCATION,
                "a vector grows here whose storage is not the function's to choose",
                at,
            ));
        };
        let end = Expr::Var(size.clone(), ScalarType::I64);
        let ty = dest.start.view;
        let value = if ty == ScalarType::I1 {
            as_truth(value)
        } else {
            convert(ty, value)
        };
        self.write(dest.at(end.clone()), value, at)?;
        self.assign_var(size, Expr::binary(BinOp::Add, end, int(1)))
    }

    /// New elements are zeros, or copies of `value`.
    fn resize(
        &mut self,
        dest: &Seq,
        len: Cursor<'u>,
        value: Option<Cursor<'u>>,
        call: &Call<'u>,
    ) -> Result<()> {
        if dest.rows.is_some() && value.is_none() && dest.size.is_some() {
            let len = index_of(self.value(len)?);
            let len = self.settled("n", len)?;
            self.require_length(&len)?;
            self.require(Expr::compare(CmpOp::Eq, dest.len.clone(), int(0)))?;
            return self.without_rows(dest, len, call.at);
        }
        let constant = |d: &Expr| matches!(d, Expr::Const(_));
        let of_rows = !dest.start.dims.iter().all(constant);
        if dest.rows.is_some() || of_rows {
            // Rows that are there keep their length: only a table without any can be made anew.
            let mut p = problem(codes::ALLOCATION, "a vector of vectors is resized", call.at);
            p.help = Some(
                "make it with its size: std::vector<std::vector<T>> v(rows, std::vector<T>(cols))"
                    .into(),
            );
            return Err(p);
        }
        let whole = dest.start.dims.is_empty();
        if !whole && value.is_some() || !is_zero_at_first(call.arg(0)?.ty()) {
            return Err(call.unsupported());
        }
        let len = index_of(self.value(len)?);
        let value = match value {
            // It may be computed from the length until now.
            Some(v) => {
                let value = self.value(v)?;
                self.settled("value", value)?
            }
            None => self.zero_of(dest),
        };
        let len = self.settled("n", len)?;
        self.require_length(&len)?;
        let old = self.settled("old", dest.len.clone())?;
        let more = offset_op(BinOp::Subtract, len.clone(), old.clone());
        // It may become shorter.
        let more = match more {
            Expr::Const(_) => more,
            more => Expr::binary(BinOp::Maximum, more, int(0)),
        };
        self.set_len(dest, len, call.at)?;
        self.fill(dest, old, more, value, call.at)
    }

    /// `v.insert(v.end(), first, last)`
    fn append(&mut self, call: &Call<'u>) -> Result<()> {
        let dest = self.seq(call.arg(0)?)?;
        if dest.rows.is_some() {
            return Err(call.unsupported());
        }
        let position = self.pointer(call.arg(1)?)?;
        let end = dest.start.clone().moved(dest.len.clone());
        if position.target != end.target || position.offset != end.offset {
            let mut p = problem(
                codes::ALLOCATION,
                "elements are inserted in the middle",
                call.at,
            );
            p.help = Some("insert at end()".into());
            return Err(p);
        }
        let (first, last) = (self.pointer(call.arg(2)?)?, self.pointer(call.arg(3)?)?);
        let len = self.distance(&first, &last, call.at)?;
        let len = self.settled("n", len)?;
        let source = Seq {
            start: first,
            len: len.clone(),
            size: None,
            rows: None,
        };
        if source.start.target == dest.start.target {
            return Err(problem(
                codes::TYPE,
                "a vector is copied onto itself",
                call.at,
            ));
        }
        let from = dest.len.clone();
        let from = self.settled("old", from)?;
        self.copy(&dest, from.clone(), &source, call.at)?;
        self.set_len(&dest, offset_op(BinOp::Add, from, len), call.at)
    }
}
