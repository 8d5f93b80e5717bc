//! Tables of pointers to rows, for calls of the original from flat arrays.

use super::{Adaptor, Around, I64, local};
use std::fmt::Write as _;
use tensorize_ir::signature::{Entry, Language, Shape};

impl Adaptor<'_> {
    /// A table of pointers to the rows that there are, or of such tables: where its entry 0 is, or null where there is to be none.
    pub(super) fn table(&self, shape: &Shape, around: &mut Around) -> Result<String, String> {
        let Shape::Rows {
            to,
            pitch,
            per_plane,
            given,
            ..
        } = shape
        else {
            return Err(format!("{shape} is no table of rows"));
        };
        around.count += 1;
        let (t, n) = (
            format!("tensorize_t{}", around.count),
            self.array_number(to),
        );
        writeln!(
            around.before,
            "    {I64} {t}_lo = extents[{a}], {t}_n = extents[{b}] > {t}_lo ? extents[{b}] - {t}_lo : 0;",
            a = 2 * n,
            b = 2 * n + 1,
        )
        .ok();
        let row = format!("{} + ({t}_lo + i) * {}", local(to), local(pitch));
        self.filled(&t, &row, around);
        let mut table = format!("{t} - {t}_lo");
        if let Some(rows) = per_plane {
            // There are no more planes than rows, on either side of the first ones.
            let p = format!("{t}_p");
            writeln!(
                around.before,
                "    {I64} {p}_lo = {t}_lo < 0 ? {t}_lo : 0, {p}_n = {t}_lo + {t}_n > {p}_lo ? {t}_lo + {t}_n - {p}_lo : 0;"
            )
            .ok();
            let plane = format!("{table} + ({p}_lo + i) * {}", local(rows));
            self.filled(&p, &plane, around);
            table = format!("{p} - {p}_lo");
        }
        Ok(match given {
            Some(g) => format!("({} ? (void *)({table}) : (void *)0)", local(g)),
            None => format!("(void *)({table})"),
        })
    }

    /// A variable `t` of `t_n` pointers, the `i`-th of which is this.
    fn filled(&self, t: &str, pointer: &str, around: &mut Around) {
        match self.language() {
            Language::C => {
                writeln!(
                    around.before,
                    "    void **{t} = (void **)__builtin_malloc(({t}_n + 1) * sizeof(void *));\n\
                     \x20   if (!{t}) __builtin_trap();"
                )
                .ok();
                writeln!(around.after, "    __builtin_free({t});").ok();
            }
            // The original may throw.
            Language::Cpp => {
                writeln!(
                    around.before,
                    "    std::vector<void *> {t}_kept({t}_n + 1);\n    void **{t} = {t}_kept.data();"
                )
                .ok();
            }
        }
        writeln!(
            around.before,
            "    for ({I64} i = 0; i < {t}_n; i++) {t}[i] = (void *)({pointer});"
        )
        .ok();
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
                Shape::Rows { .. } => self.table(shape, around)?,
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
