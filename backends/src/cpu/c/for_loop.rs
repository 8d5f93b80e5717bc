//! Loops, and OpenMP's pragmas before them.

use super::helper::Helper;
use super::scope::{Node, Place};
use super::walk::{calls_library, counted, has_loop, is_int, is_var, kept_by_comparing};
use super::{Printer, Text};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, LoopMode, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

impl Printer<'_> {
    pub(super) fn for_loop(&mut self, node: &Node, number: usize, out: &mut Text) {
        let Node::For { looped, body, .. } = node else {
            return;
        };
        let counted = counted(node);
        match (&looped.mode, &counted) {
            _ if !self.style.dialect.openmp => {}
            (LoopMode::Parallel, Some(bound)) if self.separable(node, number, None) => {
                return self.parallel(node, bound, out);
            }
            (LoopMode::Simd { reductions }, Some(bound)) if !has_loop(body) => {
                if let Some(pragma) = self.simd(reductions, &looped.body) {
                    if let [reduction] = reductions.as_slice()
                        && !self.in_worker
                        && self.separable(node, number, Some(&reduction.1))
                    {
                        return self.parallel_sum(node, bound, reduction, &pragma, out);
                    }
                    out.line(&format!("TZ_PRAGMA({pragma})"));
                }
            }
            _ => {}
        }
        self.head_and_body(node, number, None, out);
    }

    /// The loop itself; with `range`, over these rounds.
    pub(super) fn head_and_body(
        &mut self,
        node: &Node,
        number: usize,
        range: Option<(&str, &str)>,
        out: &mut Text,
    ) {
        let Node::For {
            var, looped, body, ..
        } = node
        else {
            return;
        };
        // The counter is nobody's business afterwards if it is declared here.
        let declared = self.places.get(*var) == Some(&Place::At(number));
        let product = self.product(looped.id).filter(|_| declared);
        if let Some(product) = &product {
            let call = match (range, counted(node)) {
                (Some((begin, end)), _) => {
                    let first = Expr::var(begin, ScalarType::I64);
                    Some(self.product_call(product, &format!("{end} - {begin}"), &first))
                }
                (None, Some(rows)) => {
                    let rows = self.expr.print(rows);
                    Some(self.product_call(product, &rows, &Expr::int(ScalarType::I64, 0)))
                }
                (None, None) => None,
            };
            if let Some(call) = call {
                out.line(&format!("if (!{call})"));
            }
        }
        let head = self.head(node, number, range);
        out.line(&head);
        self.nested(body, out);
        out.line("}");
    }

    /// A loop's first line.
    pub(super) fn head(
        &mut self,
        node: &Node,
        number: usize,
        range: Option<(&str, &str)>,
    ) -> String {
        let Node::For {
            var,
            ty,
            start,
            step,
            looped,
            ..
        } = node
        else {
            return String::new();
        };
        let name = self.expr.name(var);
        let ty = match self.places.get(*var) == Some(&Place::At(number)) {
            true => format!("{} ", ty.c_name()),
            false => String::new(),
        };
        let mut from = self.expr.print_index(start);
        let mut cond = self.expr.print_index(&looped.cond);
        if let Some((begin, end)) = range {
            (from, cond) = (begin.into(), format!("{name} < {end}"));
        }
        let step = match step {
            Expr::Binary(BinOp::Add, a, b) if is_var(a, var) && is_int(b, 1) => format!("{name}++"),
            Expr::Binary(BinOp::Subtract, a, b) if is_var(a, var) && is_int(b, 1) => {
                format!("{name}--")
            }
            Expr::Binary(BinOp::Add, a, b) if is_var(a, var) && a.ty().bits() >= 32 => {
                format!("{name} += {}", self.expr.print_index(b))
            }
            _ => format!("{name} = {}", self.expr.print_index(step)),
        };
        format!("for ({ty}{name} = {from}; {cond}; {step}) {{")
    }

    /// The OpenMP pragma, if there is one for these reductions of a loop with this body.
    fn simd(&mut self, reductions: &[(BinOp, Sym)], body: &[Stmt]) -> Option<String> {
        let clauses = self.reduction_clauses(reductions, body)?;
        let length = self.vector_length(reductions, body);
        Some(format!("omp simd{clauses}{length}"))
    }

    pub(super) fn reduction_clauses(
        &mut self,
        reductions: &[(BinOp, Sym)],
        body: &[Stmt],
    ) -> Option<String> {
        let mut clauses = String::new();
        for (op, var) in reductions {
            let float = self.types.get(var).is_none_or(|t| t.is_float());
            let sign = match op {
                BinOp::Add => "+".into(),
                BinOp::Multiply => "*".into(),
                BinOp::And => "&".into(),
                BinOp::Or => "|".into(),
                BinOp::Xor => "^".into(),
                BinOp::Maximum if !float => "max".into(),
                BinOp::Minimum if !float => "min".into(),
                BinOp::Maximum | BinOp::Minimum if kept_by_comparing(body, var) => {
                    let helper = Helper::Kept(*op);
                    self.expr.helpers.insert(helper);
                    helper.name()
                }
                _ => return None,
            };
            clauses += &format!(" reduction({sign}:{})", self.expr.name(var));
        }
        Some(clauses)
    }

    /// How long vectors are to be, where it is not left to the compiler.
    pub(super) fn vector_length(&self, reductions: &[(BinOp, Sym)], body: &[Stmt]) -> String {
        // Rows may be short: what is left over of wide vectors is added one by one. Rows side by side hide that narrow ones
        // take more rounds.
        let mut floats =
            (reductions.iter()).map(|(_, acc)| self.types.get(acc).filter(|t| t.is_float()));
        if let Some(ty) = floats.next_back().flatten()
            && self.in_worker
            && !calls_library(body)
        {
            return format!(" simdlen({})", 256 / ty.bits());
        }
        String::new()
    }
}
