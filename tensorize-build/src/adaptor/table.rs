//! Tables of pointers to rows, for calls of the original from flat arrays.

use super::{Adaptor, Around, I64, local};
use std::fmt::Write as _;
use tensorize_ir::signature::{Entry, Shape};

impl Adaptor<'_> {
    /// A table of pointers to the rows that there are, as an expression for where its row 0 is; with `per_plane` rows each, a table
    /// of such tables.
    pub(super) fn table(
        &self,
        to: &str,
        pitch: &str,
        per_plane: Option<&str>,
        around: &mut Around,
    ) -> String {
        around.count += 1;
        let (t, n) = (
            format!("tensorize_t{}", around.count),
            self.array_number(to),
        );
        write!(
            around.before,
            "    {I64} {t}_lo = extents[{a}], {t}_n = extents[{b}] > {t}_lo ? extents[{b}] - {t}_lo : 0;\n\
             \x20   void **{t} = (void **)__builtin_malloc(({t}_n + 1) * sizeof(void *));\n\
             \x20   if (!{t}) __builtin_trap();\n\
             \x20   for ({I64} i = 0; i < {t}_n; i++) {t}[i] = (void *)({to} + ({t}_lo + i) * {pitch});\n",
            a = 2 * n,
            b = 2 * n + 1,
            to = local(to),
            pitch = local(pitch),
        )
        .ok();
        writeln!(around.after, "    __builtin_free({t});").ok();
        let Some(rows) = per_plane else {
            return format!("({t} - {t}_lo)");
        };
        // There are no more planes than rows, on either side of the first ones.
        write!(
            around.before,
            "    {I64} {t}_p_lo = {t}_lo < 0 ? {t}_lo : 0, {t}_p_n = {t}_lo + {t}_n > {t}_p_lo ? {t}_lo + {t}_n - {t}_p_lo : 0;\n\
             \x20   void **{t}_p = (void **)__builtin_malloc(({t}_p_n + 1) * sizeof(void *));\n\
             \x20   if (!{t}_p) __builtin_trap();\n\
             \x20   for ({I64} i = 0; i < {t}_p_n; i++) {t}_p[i] = (void *)({t} - {t}_lo + ({t}_p_lo + i) * {rows});\n",
            rows = local(rows),
        )
        .ok();
        writeln!(around.after, "    __builtin_free({t}_p);").ok();
        format!("({t}_p - {t}_p_lo)")
    }

    /// A table of pointers; those that nobody reads are null.
    pub(super) fn pointers(&self, at: &[Entry], around: &mut Around) -> Result<String, String> {
        let last = at.last().ok_or("no pointer in a table")?;
        around.count += 1;
        let t = format!("tensorize_t{}", around.count);
        let mut fill = String::new();
        for Entry { index, shape } in at {
            let value = match shape {
                Shape::Pointer { to, .. } => local(to),
                Shape::Rows { to, pitch, .. } => self.table(to, pitch, None, around),
                other => return Err(format!("a pointer to {other} in a table can't be built")),
            };
            write!(fill, " {t}[{index}] = (void *)({value});").ok();
        }
        let count = last.index + 1;
        writeln!(around.before, "    void *{t}[{count}] = {{0}};{fill}").ok();
        Ok(t)
    }

    /// Lets those of the pointers at a place that stand for rows that there are point to them.
    pub(super) fn fill_table(
        &self,
        place: &str,
        to: &str,
        pitch: &str,
        held: u64,
        around: &mut Around,
    ) {
        let n = self.array_number(to);
        writeln!(
            around.before,
            "    for ({I64} i = extents[{a}] > 0 ? extents[{a}] : 0; i < extents[{b}] && i < {held}; i++) {{ \
             void *row = (void *)({to} + i * {pitch}); \
             __builtin_memcpy((char *)&{place} + i * sizeof row, &row, sizeof row); }}",
            a = 2 * n,
            b = 2 * n + 1,
            to = local(to),
            pitch = local(pitch),
        )
        .ok();
    }
}
