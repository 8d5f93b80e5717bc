//! `for (x : elements)`, and references.

use super::super::codes;
use super::super::expr::select;
use super::super::ffi::Cursor;
use super::super::flatten::{is_struct, taken_apart};
use super::super::jump::{Leaves, leaves};
use super::super::lower::{Binding, ExitKind, Lower, Result, convert, operands, peeled, problem};
use super::super::place::Place;
use super::super::types::{self, Ty};
use super::class::Class;
use super::seq::int;
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

impl<'u> Lower<'u, '_> {
    /// A range-`for`. Whether its end can be reached, which it always can.
    pub fn range_for(&mut self, c: Cursor<'u>) -> Result<bool> {
        let unsupported = || {
            problem(
                codes::STATEMENT,
                "this form of a range-based 'for' is not supported",
                c,
            )
        };
        let children = c.children();
        let variable = children
            .iter()
            .copied()
            .find(|d| d.kind() == CXCursor_VarDecl || taken_apart(*d).is_some())
            .ok_or_else(unsupported)?;
        let [range, body] = operands(c)[..] else {
            return Err(unsupported());
        };
        if has_initialiser(c) {
            return Err(unsupported());
        }
        let seq = self.full_value(range, |s| s.seq(range))?;
        let seq = self.settled_seq(seq)?;
        let l = leaves(body);
        let exits = self.exits.len();
        self.open_exit(ExitKind::Break)?;
        let entry = self.pointers.clone();
        let (id, var) = (self.loops, self.fresh("k"));
        self.loops += 1;
        self.assign_var(var.clone(), int(0))?;
        let k = Expr::Var(var.clone(), ScalarType::I64);
        let mut opened = Vec::new();
        let (block, ()) = self.in_block(|s| {
            s.open_exit(ExitKind::Continue)?;
            if matches!(types::of(variable), Ty::Reference(_)) && l == Leaves::default() {
                opened.extend(s.open_each(range, variable, k.clone())?);
            }
            if opened.is_empty() {
                if l == Leaves::default() {
                    opened = s.open_rows(&[body])?;
                }
                s.loop_variable(variable, seq.at(k.clone()))?;
            }
            s.list(&[body])?;
            s.close_rows(&opened)?;
            let leaving = s.flags_of(Leaves {
                continues: false,
                ..l
            });
            s.unless_set(&leaving, |s| {
                s.assign_var(var, Expr::binary(BinOp::Add, k.clone(), int(1)))
            })
        })?;
        let leaving = self.flags_of(Leaves {
            continues: false,
            ..l
        });
        self.exits.truncate(exits);
        let mut cond = Expr::compare(CmpOp::Lt, k, seq.len);
        if let Some(stay) = self.none_set(&leaving) {
            cond = select(stay, cond, Expr::Const(Scalar::bool(false)));
        }
        self.check_loop_pointers(&entry, c)?;
        self.emit(Stmt::Loop(Loop {
            id,
            cond,
            test_first: true,
            body: block,
            mode: LoopMode::Sequential,
            line: c.extent().map_or(0, |e| e.0.line),
        }))?;
        self.rows_done(&opened)?;
        Ok(true)
    }

    fn loop_variable(&mut self, d: Cursor<'u>, element: Place) -> Result<()> {
        if taken_apart(d).is_some() {
            return self.take_element_apart(d, element);
        }
        let t = types::of(d);
        if let (Ty::Record(..) | Ty::Mixed(..), Place::Array(of)) = (t.clone().referred(), &element)
        {
            return self.element_parameter(d, of.clone());
        }
        if matches!(t, Ty::Reference(_)) {
            return self.bind_reference(d, element);
        }
        match (t, self.row_of(element.clone())) {
            (Ty::Scalar(ty), None) => {
                let value = self.load(element, d)?;
                let value = if ty == ScalarType::I1 {
                    super::super::expr::as_truth(value)
                } else {
                    convert(ty, value)
                };
                let name = self.fresh(d.spelling());
                self.assign_var(name.clone(), value)?;
                self.bind_scalar_named(d, name, ty, true)
            }
            (Ty::Class(Class::Vector(_) | Class::Array(..)), Some(row)) => self.borrow_copy(d, row),
            _ => Err(problem(
                codes::TYPE,
                "this type of loop variable is not supported",
                d,
            )),
        }
    }

    /// Lets a reference stand for a place.
    fn bind_reference(&mut self, d: Cursor<'u>, place: Place) -> Result<()> {
        if let Some(row) = self.row_of(place.clone()) {
            self.bindings.insert(d, Binding::Seq(row));
            return Ok(());
        }
        let (want, seen) = (types::of(d).referred(), super::lambda::place_type(&place));
        if want.as_scalar() != seen {
            // A reference to a converted copy.
            let value = self.load(place, d)?;
            return self.bind_copy(d, value);
        }
        self.bindings.insert(d, Binding::Alias(place));
        Ok(())
    }

    /// A reference to a value that nothing else names.
    fn bind_copy(&mut self, d: Cursor<'u>, value: Expr) -> Result<()> {
        let ty = super::super::lower::scalar_type(&types::of(d).referred(), d)?;
        let value = if ty == ScalarType::I1 {
            super::super::expr::as_truth(value)
        } else {
            convert(ty, value)
        };
        let name = self.fresh(d.spelling());
        self.assign_var(name.clone(), value)?;
        self.bind_scalar_named(d, name, ty, true)
    }

    /// `T &x = e;`
    pub fn reference_declaration(&mut self, d: Cursor<'u>, e: Cursor<'u>) -> Result<()> {
        match types::of(d).referred() {
            Ty::Record(..) | Ty::Mixed(..) if self.is_in_array(e) => {
                let of = self.full_value(e, |s| s.element(e))?;
                self.element_parameter(d, of)
            }
            Ty::Record(..) if self.is_temporary(e) => {
                let values = self.full_value(e, |s| s.struct_value(e))?;
                self.bind_struct(d, Some(values))
            }
            Ty::Record(..) => self.bind_record(d, e),
            Ty::Scalar(_) if self.is_place(e) => {
                let place = self.full_value(e, |s| s.place(e))?;
                let place = self.settled_place(place)?;
                self.bind_reference(d, place)
            }
            Ty::Scalar(_) if names_something(d, e) => {
                let message = format!("what '{}' refers to is not known", d.spelling());
                let mut p = problem(codes::TYPE, message, d);
                p.help = Some("take its value, or refer to one variable or element".into());
                Err(p)
            }
            Ty::Scalar(_) => {
                let value = self.full_value(e, |s| s.value(e))?;
                self.bind_copy(d, value)
            }
            t @ (Ty::Class(_) | Ty::Array(..)) if t.is_sequence() => {
                let seq = self.full_value(e, |s| s.seq(e))?;
                let seq = self.held_seq(seq)?;
                self.bindings.insert(d, Binding::Seq(seq));
                Ok(())
            }
            Ty::Class(Class::Lambda | Class::Functor(..)) => {
                let callable = self.callable(e)?;
                self.bindings.insert(d, Binding::Callable(callable));
                Ok(())
            }
            // One that is more than numbers of one type.
            Ty::Other(codes::RECORD, _) | Ty::Mixed(..)
                if is_struct(d.ty()) && !self.is_temporary(e) =>
            {
                self.bind_record(d, e)
            }
            _ => Err(problem(
                codes::TYPE,
                format!(
                    "a reference of type '{}' is not supported",
                    d.ty().spelling()
                ),
                d,
            )),
        }
    }
}

/// Whether a reference with this initialiser, which is no place, is another name for something nevertheless, and not one
/// for a value.
fn names_something(d: Cursor<'_>, e: Cursor<'_>) -> bool {
    let t = d.ty().canonical();
    if t.kind() == CXType_LValueReference && !t.pointee().is_const() {
        return true;
    }
    let inner = peeled(e);
    let chosen = match inner.kind() {
        CXCursor_ConditionalOperator => true,
        CXCursor_CallExpr => {
            let result = inner
                .referenced()
                .map(|f| f.ty().result().canonical().kind());
            matches!(
                result,
                Some(CXType_LValueReference | CXType_RValueReference)
            )
        }
        _ => false,
    };
    chosen && types::of(inner) == types::of(d).referred()
}

/// `for (init; x : elements)`; libclang does not show the first part.
fn has_initialiser(c: Cursor<'_>) -> bool {
    let mut depth = 0;
    for (_, text, _) in c.tokens() {
        match text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ":" if depth == 1 => return false,
            ";" if depth == 1 => return true,
            _ => {}
        }
        if depth < 0 {
            break;
        }
    }
    // Hidden in a macro.
    true
}
