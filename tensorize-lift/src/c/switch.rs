//! The cases of a `switch`. One that runs into the next has the next one's statements, too.

use super::codes;
use super::expr::select;
use super::ffi::{Constant, Cursor};
use super::jump::always_jumps;
use super::lower::{Result, operands, problem};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// One or more labels and what they lead to.
pub(super) struct Case<'u> {
    values: Vec<Scalar>,
    pub is_default: bool,
    pub body: Vec<Cursor<'u>>,
}

impl Case<'_> {
    /// `i1`: the value is one of the labels.
    pub fn matches(&self, value: &Expr) -> Expr {
        let mut tests = self
            .values
            .iter()
            .map(|v| Expr::compare(CmpOp::Eq, value.clone(), Expr::Const(*v)));
        let yes = || Expr::Const(Scalar::bool(true));
        match tests.next() {
            Some(first) => tests.fold(first, |a, b| select(a, yes(), b)),
            None => Expr::Const(Scalar::bool(false)),
        }
    }
}

/// Splits the body of a `switch` over values of type `ty`.
pub(super) fn cases<'u>(body: Cursor<'u>, ty: ScalarType) -> Result<Vec<Case<'u>>> {
    if body.kind() != CXCursor_CompoundStmt {
        return Err(problem(
            codes::SWITCH,
            "a switch without braces is not supported",
            body,
        ));
    }
    let mut cases: Vec<Case<'u>> = Vec::new();
    for stmt in operands(body) {
        let mut labelled = stmt;
        let mut new: Option<Case<'u>> = None;
        while matches!(labelled.kind(), CXCursor_CaseStmt | CXCursor_DefaultStmt) {
            let parts = operands(labelled);
            let case = new.get_or_insert(Case {
                values: vec![],
                is_default: false,
                body: vec![],
            });
            match (labelled.kind(), &parts[..]) {
                (CXCursor_DefaultStmt, [inner]) => {
                    case.is_default = true;
                    labelled = *inner;
                }
                (CXCursor_CaseStmt, [value, inner]) => {
                    let Some(Constant::Int(v)) = value.evaluate() else {
                        return Err(problem(
                            codes::SWITCH,
                            "this case label is not supported",
                            *value,
                        ));
                    };
                    case.values.push(Scalar::int(ty, v));
                    labelled = *inner;
                }
                _ => {
                    return Err(problem(
                        codes::SWITCH,
                        "this case label is not supported",
                        labelled,
                    ));
                }
            }
        }
        match new {
            Some(mut case) => {
                case.body.push(labelled);
                cases.push(case);
            }
            None => match cases.last_mut() {
                Some(case) => case.body.push(stmt),
                None => {
                    let message = "a statement of this switch stands before all cases";
                    return Err(problem(codes::SWITCH, message, stmt));
                }
            },
        }
    }
    for i in (1..cases.len()).rev() {
        if !cases[i - 1].body.iter().any(|&s| always_jumps(s)) {
            let next = cases[i].body.clone();
            cases[i - 1].body.extend(next);
        }
    }
    Ok(cases)
}
