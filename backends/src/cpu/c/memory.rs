//! Memory that a function asks for: a function around it gets it and gives it back.

use super::Printer;
use tensorize_ir::loopir::{Len, LocalArray};
use tensorize_ir::scalar::ScalarType;

/// What a file declares with functions that ask for memory. They have a parameter more: whether there was memory. If not,
/// nothing has been touched.
pub(super) const DECLARATIONS: &str = "
#include <stdlib.h>

/* Memory for that many elements of this size; NULL if there is none. */
static void *tz_memory(int64_t count, uint64_t size) {
    const uint64_t elements = count < 1 ? 1 : (uint64_t)count;
    return elements <= PTRDIFF_MAX / size ? malloc((size_t)(elements * size)) : NULL;
}
";

/// Whether the array's length is known at the call only.
pub(super) fn is_asked_for(array: &LocalArray) -> bool {
    matches!(array.len, Len::Of(_))
}

impl<'a> Printer<'a> {
    /// The arrays that memory is asked for.
    pub(super) fn memory(&self) -> impl Iterator<Item = &'a LocalArray> + use<'a> {
        self.function.arrays.iter().filter(|a| is_asked_for(a))
    }

    /// Such an array, as what is inside gets it.
    pub(super) fn memory_param(&self, array: &LocalArray) -> String {
        let restrict = self.style.dialect.restrict;
        let (ty, name) = (array.elem.c_name(), self.expr.name(&array.name));
        format!("{ty} *{restrict}{name}")
    }

    /// If it asks for memory: what the function itself is to be called, and the one around it that has its name.
    pub(super) fn asks_for_memory(&mut self, linkage: &str) -> Option<(String, String)> {
        self.memory().next()?;
        let inner = self.names.fresh(&format!("{}_within", self.function.name));
        let ret = self.function.ret.map_or("void", ScalarType::c_name);
        let own = self.function.params.iter();
        let mut params: Vec<String> = own.clone().map(|p| self.param(p)).collect();
        params.push("_Bool *tz_there_was".into());
        let mut args: Vec<String> = own.map(|p| self.expr.name(p.name())).collect();
        let (mut asks, mut gives_back, mut all) = (String::new(), String::new(), Vec::new());
        for array in self.memory() {
            let Len::Of(len) = &array.len else { continue };
            let (ty, name) = (array.elem.c_name(), self.expr.name(&array.name));
            let len = self.expr.print_index(len);
            asks += &format!("    {ty} *{name} = tz_memory({len}, sizeof *{name});\n");
            gives_back += &format!("    free({name});\n");
            all.push(name.clone());
            args.push(name);
        }
        let (result, into, out) = match self.function.ret {
            None => (String::new(), "", ""),
            Some(_) => (
                format!("    {ret} tz_result = 0;\n"),
                "tz_result = ",
                "    return tz_result;\n",
            ),
        };
        let text = format!(
            "\n{linkage}{ret} {}({}) {{\n{asks}{result}    *tz_there_was = {};\n    \
             if (*tz_there_was) {{\n        {into}{inner}({});\n    }}\n{gives_back}{out}}}\n",
            self.function.name,
            params.join(", "),
            all.join(" && "),
            args.join(", ")
        );
        Some((inner, text))
    }
}
