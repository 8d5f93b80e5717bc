//! Tables of pointers to rows, for calls of the original from flat arrays.

use super::{Adaptor, Around, I64, local};
use std::fmt::Write as _;

impl Adaptor<'_> {
    /// A table of pointers to the rows that there are; and the number of the first.
    pub(super) fn table(&self, to: &str, pitch: &str, around: &mut Around) -> (String, String) {
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
        let lo = format!("{t}_lo");
        (t, lo)
    }

    /// Lets the pointers that lie at a place point to the rows that there are.
    pub(super) fn fill_table(
        &self,
        place: &str,
        to: &str,
        pitch: &str,
        held: u64,
        around: &mut Around,
    ) {
        let (t, lo) = self.table(to, pitch, around);
        writeln!(
            around.before,
            "    for ({I64} i = 0; i < {t}_n; i++) if ({lo} + i >= 0 && {lo} + i < {held}) \
             __builtin_memcpy((char *)&{place} + ({lo} + i) * sizeof(void *), {t} + i, sizeof(void *));"
        )
        .ok();
    }
}
