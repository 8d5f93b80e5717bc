//! Is a function well-formed? Everything else may take it for granted.

use super::{Expr, Function, Len, LoopMode, Param, Stmt};
use crate::index::Sym;
use crate::scalar::ScalarType;
use std::collections::{BTreeMap, BTreeSet};

impl Function {
    /// Checks names and types: operands of one type that the operator accepts, conditions of type
    /// `i1`, indices of type `i64`, variables with one type each, no store into a constant table,
    /// loops with numbers of their own. The error says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        let mut v = Validator {
            function: self,
            vars: BTreeMap::new(),
            arrays: BTreeMap::new(),
            loops: BTreeSet::new(),
        };
        let mut names = BTreeSet::new();
        let owned = self.arrays.iter().map(|a| &a.name);
        for name in self.params.iter().map(Param::name).chain(owned) {
            if !names.insert(name) {
                return Err(format!("two parameters or arrays are called '{name}'"));
            }
        }
        for p in &self.params {
            match p {
                Param::Scalar { name, ty } => {
                    v.vars.insert(name, *ty);
                }
                Param::Array {
                    name,
                    elem,
                    is_const,
                    ..
                } => {
                    v.arrays.insert(name, (*elem, !is_const));
                }
            }
        }
        for name in self.apart.iter().flat_map(|(a, b)| [a, b]) {
            if !v.arrays.contains_key(name) {
                return Err(format!(
                    "'{name}', which is said to be apart, is no array parameter"
                ));
            }
        }
        for a in &self.arrays {
            if let Some(init) = &a.init
                && (Some(init.len()) != a.len.fixed() || init.iter().any(|s| s.ty != a.elem))
            {
                return Err(format!(
                    "the table '{}' is not {} values of type {}",
                    a.name,
                    a.len.fixed().unwrap_or(0),
                    a.elem
                ));
            }
            if let Len::Of(len) = &a.len {
                v.expr(len)?;
                expect(ScalarType::I64, len, || {
                    format!("the length of '{}'", a.name)
                })?;
                let mut by_params = true;
                len.visit(&mut |e| {
                    let param = |n: &Sym| self.params.iter().any(|p| p.name() == n);
                    by_params &= match e {
                        Expr::Var(name, _) => param(name),
                        Expr::Load { .. } => false,
                        _ => true,
                    };
                });
                if !by_params {
                    return Err(format!("the length of '{}' is '{len}'", a.name));
                }
            }
            v.arrays.insert(&a.name, (a.elem, a.init.is_none()));
        }
        v.block(&self.body)
    }
}

struct Validator<'a> {
    function: &'a Function,
    vars: BTreeMap<&'a Sym, ScalarType>,
    /// Element type, and whether it may be written.
    arrays: BTreeMap<&'a Sym, (ScalarType, bool)>,
    loops: BTreeSet<u32>,
}

impl<'a> Validator<'a> {
    fn block(&mut self, stmts: &'a [Stmt]) -> Result<(), String> {
        stmts.iter().try_for_each(|s| self.statement(s))
    }

    fn statement(&mut self, stmt: &'a Stmt) -> Result<(), String> {
        match stmt {
            Stmt::Assign { var, ty, value } => {
                self.expr(value)?;
                self.variable(var, *ty)?;
                expect(*ty, value, || format!("the value of '{var}'"))
            }
            Stmt::Store {
                array,
                index,
                value,
            } => {
                self.index(array, index)?;
                self.expr(value)?;
                let (elem, writable) = self.arrays[array];
                if !writable {
                    return Err(format!("'{array}' is const and is written to"));
                }
                expect(elem, value, || format!("what is stored in '{array}'"))
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.condition(cond)?;
                self.block(then)?;
                self.block(otherwise)
            }
            Stmt::Loop(l) => {
                if !self.loops.insert(l.id) {
                    return Err(format!("two loops have the number {}", l.id));
                }
                self.condition(&l.cond)?;
                self.block(&l.body)?;
                if let LoopMode::Simd { reductions } = &l.mode {
                    for (op, name) in reductions {
                        if !self.vars.get(name).is_some_and(|ty| op.accepts(*ty)) {
                            return Err(format!("{op} can't accumulate in '{name}'"));
                        }
                    }
                }
                Ok(())
            }
            Stmt::Trap => Ok(()),
            Stmt::Return(value) => match (value, self.function.ret) {
                (None, None) => Ok(()),
                (Some(value), Some(ty)) => {
                    self.expr(value)?;
                    expect(ty, value, || "the returned value".into())
                }
                (None, Some(_)) => Err("a return lacks its value".into()),
                (Some(_), None) => Err("a void function returns a value".into()),
            },
        }
    }

    fn condition(&mut self, cond: &'a Expr) -> Result<(), String> {
        self.expr(cond)?;
        expect(ScalarType::I1, cond, || format!("the condition '{cond}'"))
    }

    fn variable(&mut self, name: &'a Sym, ty: ScalarType) -> Result<(), String> {
        let known = *self.vars.entry(name).or_insert(ty);
        if known != ty {
            return Err(format!("'{name}' has the types {known} and {ty}"));
        }
        if self.arrays.contains_key(name) {
            return Err(format!("'{name}' is an array and a variable"));
        }
        Ok(())
    }

    fn index(&mut self, array: &'a Sym, index: &'a Expr) -> Result<(), String> {
        if !self.arrays.contains_key(array) {
            return Err(format!("there is no array '{array}'"));
        }
        self.expr(index)?;
        expect(ScalarType::I64, index, || format!("the index of '{array}'"))
    }

    fn expr(&mut self, e: &'a Expr) -> Result<(), String> {
        match e {
            Expr::Const(v) => {
                let spare = v.bits.checked_shr(v.ty.bits()).unwrap_or(0);
                if spare != 0 {
                    Err(format!("a literal of type {} is too wide", v.ty))
                } else {
                    Ok(())
                }
            }
            Expr::Var(name, ty) => self.variable(name, *ty),
            Expr::Load { array, elem, index } => {
                self.index(array, index)?;
                match self.arrays[array].0 {
                    known if known == *elem => Ok(()),
                    known => Err(format!(
                        "'{array}' has elements of the types {known} and {elem}"
                    )),
                }
            }
            Expr::Unary(op, a) => {
                self.expr(a)?;
                if op.accepts(a.ty()) {
                    Ok(())
                } else {
                    Err(format!("{op} of {} in '{e}'", a.ty()))
                }
            }
            Expr::Binary(op, a, b) => {
                self.expr(a)?;
                self.expr(b)?;
                if a.ty() == b.ty() && op.accepts(a.ty()) {
                    Ok(())
                } else {
                    Err(format!("{op} of {} and {} in '{e}'", a.ty(), b.ty()))
                }
            }
            Expr::Compare(op, a, b) => {
                self.expr(a)?;
                self.expr(b)?;
                if a.ty() == b.ty() {
                    Ok(())
                } else {
                    Err(format!(
                        "{} compared ({op}) with {} in '{e}'",
                        a.ty(),
                        b.ty()
                    ))
                }
            }
            Expr::Convert(_, a) => self.expr(a),
            Expr::Bitcast(ty, a) => {
                self.expr(a)?;
                if a.ty().bits() == ty.bits() {
                    Ok(())
                } else {
                    Err(format!("bitcast of {} to {ty} in '{e}'", a.ty()))
                }
            }
            Expr::Select(c, t, f) => {
                self.condition(c)?;
                self.expr(t)?;
                self.expr(f)?;
                if t.ty() == f.ty() {
                    Ok(())
                } else {
                    Err(format!("branches of {} and {} in '{e}'", t.ty(), f.ty()))
                }
            }
        }
    }
}

fn expect(ty: ScalarType, e: &Expr, what: impl FnOnce() -> String) -> Result<(), String> {
    if e.ty() == ty {
        Ok(())
    } else {
        Err(format!("{} is {}, not {ty}", what(), e.ty()))
    }
}
