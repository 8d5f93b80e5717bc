//! Code between a source function and its flat form, by [`tensorize_ir::signature`]: the *shim*, which has
//! the original's signature and takes the arguments apart, and the *thunk*, which has the flat parameters
//! and calls the original. Both are C or C++, as the original is, and stand in a file that includes it.

mod cpp;
mod cpp_shim;
mod member;
mod shim;
mod table;
mod thunk;

use std::fmt::Write as _;
use std::path::Path;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{Language, Shape, Source};

/// A LoopIR parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flat {
    /// Its name.
    pub name: String,
    /// Its type, or that of its elements.
    pub scalar: ScalarType,
    /// An array.
    pub array: bool,
    /// An array that is not written.
    pub is_const: bool,
}

/// A function and its flat form.
#[derive(Clone, Copy, Debug)]
pub struct Adaptor<'a> {
    /// How the parameters belong together.
    pub source: &'a Source,
    /// The flat parameters, in order.
    pub flat: &'a [Flat],
    /// The flat form's result.
    pub ret: Option<ScalarType>,
}

/// What is written around a call with arguments that are built for it.
#[derive(Default)]
struct Around {
    before: String,
    after: String,
    /// How many names of its own there are.
    count: usize,
}

/// An `int64_t` in code that includes nothing.
const I64: &str = "__INT64_TYPE__";

/// A spelling that needs no header.
pub fn c_type(ty: ScalarType, language: Language) -> &'static str {
    match ty {
        ScalarType::I1 if language == Language::Cpp => "bool",
        ScalarType::I1 => "_Bool",
        ScalarType::I8 => "__INT8_TYPE__",
        ScalarType::I16 => "__INT16_TYPE__",
        ScalarType::I32 => "__INT32_TYPE__",
        ScalarType::I64 => I64,
        ScalarType::U8 => "__UINT8_TYPE__",
        ScalarType::U16 => "__UINT16_TYPE__",
        ScalarType::U32 => "__UINT32_TYPE__",
        ScalarType::U64 => "__UINT64_TYPE__",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
    }
}

/// The language of a file, by its name.
pub fn language_of(file: &Path) -> Language {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    match extension.as_ref() {
        "cpp" | "cc" | "cxx" | "c++" | "C" | "CPP" | "cp" => Language::Cpp,
        _ => Language::C,
    }
}

/// What code in the file needs once, before the first shim or thunk.
pub fn prelude(language: Language) -> &'static str {
    match language {
        Language::C => C_PRELUDE,
        Language::Cpp => cpp::PRELUDE,
    }
}

const C_PRELUDE: &str = "\
/* tensorize: a call, as the dispatcher gets it from a shim. */
struct tensorize_call {
    void *const *arguments;
    const void *const *fixed;
    __SIZE_TYPE__ fixed_count;
    const char *refused;
    void *allocate;
    void *settle;
    const void *const *moved;
    __SIZE_TYPE__ moved_count;
};
";

impl Adaptor<'_> {
    fn language(&self) -> Language {
        self.source.language
    }

    fn find(&self, name: &str) -> Result<&Flat, String> {
        let found = self.flat.iter().find(|f| f.name == name);
        found.ok_or_else(|| format!("`{name}` is no flat parameter"))
    }

    fn type_of(&self, name: &str) -> Result<&'static str, String> {
        Ok(c_type(self.find(name)?.scalar, self.language()))
    }

    /// `const float *m, __INT64_TYPE__ m_pitch`, each after a comma.
    fn flat_params(&self) -> String {
        let mut out = String::new();
        for f in self.flat {
            let ty = c_type(f.scalar, self.language());
            // Constness is a matter of the flat form alone; nothing here is called by its type.
            write!(
                out,
                ", {ty} {}{}",
                if f.array { "*" } else { "" },
                local(&f.name)
            )
            .ok();
        }
        out
    }

    /// Names for the variables of the file, which no parameter hides, and what reaches private members.
    pub fn globals(&self) -> String {
        let globals = self.source.globals.iter().enumerate();
        let lines = globals.map(|(i, g)| {
            format!(
                "static __typeof__({0}) *const {1} = &{0};\n",
                g.name,
                self.global_name(i)
            )
        });
        lines.chain(self.reaching()).collect()
    }

    fn global_name(&self, i: usize) -> String {
        format!("tensorize_{}_global_{i}", self.source.symbol)
    }

    /// The variable of this number, as an expression.
    fn global(&self, i: usize) -> String {
        format!("(*{})", self.global_name(i))
    }

    fn ret(&self) -> &'static str {
        self.ret.map_or("void", |ty| c_type(ty, self.language()))
    }

    /// The number of an array among the arrays.
    fn array_number(&self, name: &str) -> usize {
        self.flat
            .iter()
            .filter(|f| f.array)
            .position(|f| f.name == name)
            .unwrap_or(0)
    }

    /// A source parameter's type in a definition.
    fn param_type(&self, i: usize) -> String {
        let p = &self.source.params[i];
        if self.language() == Language::Cpp {
            return format!("tensorize::same<{}>", p.ty);
        }
        match &p.shape {
            Shape::Scalar { to } => self.type_of(to).unwrap_or("int").to_string(),
            Shape::Struct {
                pointer: false, ty, ..
            } => ty.clone(),
            Shape::Unused if !p.ty.contains('*') => p.ty.clone(),
            // Pointers of all types are passed alike.
            _ => "void *".into(),
        }
    }
}

/// A flat parameter's name in generated code, where the original's macros can't get at it, and which no name of
/// our own is.
fn local(name: &str) -> String {
    format!("tensorize_of_{name}")
}

#[cfg(test)]
mod tests;
