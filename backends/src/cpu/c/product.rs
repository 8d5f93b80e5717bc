//! Products of matrices: a call of the library before the loops that do the same.

use super::Printer;
use super::walk::{is_int, used_names};
use crate::cpu::contraction::{Contraction, Matrix};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType::I64;

/// What a file with products declares: `bool tensorize_scaled_gemm_T(rows, columns, depth, left, right, result, alpha,
/// beta)`, each matrix as its first element and the steps, in elements, to the next row and column. It returns false, having
/// touched nothing, where the loops shall run. `tensorize_rt` defines it.
pub(super) const DECLARATIONS: &str = "
/* Products of matrices by the library that the program is linked with. Without one the loops run. */
#if defined(__APPLE__)
#define TZ_MAYBE __attribute__((weak_import))
#else
#define TZ_MAYBE __attribute__((weak))
#endif
#if defined(__GNUC__) && !defined(_WIN32)
extern _Bool tensorize_scaled_gemm_f32(int64_t, int64_t, int64_t, const float *, int64_t, int64_t,
    const float *, int64_t, int64_t, float *, int64_t, int64_t, float, float) TZ_MAYBE;
extern _Bool tensorize_scaled_gemm_f64(int64_t, int64_t, int64_t, const double *, int64_t, int64_t,
    const double *, int64_t, int64_t, double *, int64_t, int64_t, double, double) TZ_MAYBE;
#define TZ_GEMM(type, ...) (tensorize_scaled_gemm_##type && tensorize_scaled_gemm_##type(__VA_ARGS__))
#else
#define TZ_GEMM(type, ...) 0
#endif
";

impl Printer<'_> {
    /// The product that the loop with this number is, if it is one.
    pub(super) fn product(&self, id: u32) -> Option<Contraction> {
        self.contractions.iter().find(|c| c.rows == id).cloned()
    }

    /// The call for `rows` rows, from row number `first` on.
    pub(super) fn product_call(&mut self, c: &Contraction, rows: &str, first: &Expr) -> String {
        let start = Expr::int(I64, 0);
        let (columns, depth) = (self.expr.print(&c.columns), self.expr.print(&c.depth));
        let (left, right) = (self.matrix(&c.left, first), self.matrix(&c.right, &start));
        let result = self.matrix(&c.result, first);
        let (alpha, beta) = (self.expr.print(&c.alpha), self.expr.print(&c.beta));
        let ty = c.elem.name();
        format!(
            "TZ_GEMM({ty}, {rows}, {columns}, {depth}, {left}, {right}, {result}, {alpha}, {beta})"
        )
    }

    fn matrix(&mut self, m: &Matrix, row: &Expr) -> String {
        let first = match (row, &m.first) {
            (row, first) if is_int(row, 0) => first.clone(),
            (row, first) => {
                let further = match is_int(&m.row, 1) {
                    true => row.clone(),
                    false => Expr::binary(BinOp::Multiply, row.clone(), m.row.clone()),
                };
                match is_int(first, 0) {
                    true => further,
                    false => Expr::binary(BinOp::Add, first.clone(), further),
                }
            }
        };
        let (first, row, column) = (
            self.expr.print(&first),
            self.expr.print(&m.row),
            self.expr.print(&m.column),
        );
        format!("&{}[{first}], {row}, {column}", self.expr.name(&m.array))
    }
}

/// What the call uses beside what the loops use.
pub(super) fn used_by(c: &Contraction) -> BTreeSet<Sym> {
    let mut exprs = vec![&c.columns, &c.depth, &c.alpha, &c.beta];
    for m in [&c.left, &c.right, &c.result] {
        exprs.extend([&m.first, &m.row, &m.column]);
    }
    let stmts: Vec<Stmt> = exprs
        .into_iter()
        .map(|e: &Expr| Stmt::Return(Some(e.clone())))
        .collect();
    used_names(&stmts)
}
