//! Python text in the making: statements, names, expressions with their precedence.

use crate::names::Names;
use std::collections::HashMap;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// How tightly an expression binds; Python's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Compare,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Unary,
    Atom,
}

/// An expression. It broadcasts to the shape that it stands for; if `full`, it has that shape.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub s: String,
    pub level: Level,
    pub full: bool,
}

impl Code {
    pub(crate) fn atom(s: impl Into<String>, full: bool) -> Code {
        Code {
            s: s.into(),
            level: Level::Atom,
            full,
        }
    }

    /// The text, in parentheses if it binds less tightly than `level`.
    pub(super) fn at(&self, level: Level) -> String {
        if self.level >= level {
            self.s.clone()
        } else {
            format!("({})", self.s)
        }
    }
}

/// Whether it is a variable, or a number.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The body of a function.
#[derive(Default)]
pub(crate) struct Body {
    pub lines: Vec<String>,
    pub depth: usize,
    pub names: Names,
    /// Expressions that stand in variables, for each open block.
    known: Vec<HashMap<String, String>>,
}

impl Body {
    pub(super) fn new(names: Names) -> Body {
        Body {
            names,
            ..Body::default()
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.lines
            .push(format!("{}{line}", "    ".repeat(self.depth + 1)));
    }

    /// A variable with this value: a new one, unless one has it already.
    pub(super) fn hold(&mut self, stem: &str, code: Code) -> Code {
        if code.level == Level::Atom && is_name(&code.s) {
            return code;
        }
        if let Some(name) = self.known.iter().find_map(|k| k.get(&code.s)) {
            return Code::atom(name.clone(), code.full);
        }
        let name = self.names.fresh(stem);
        self.line(&format!("{name} = {}", code.s));
        if self.known.is_empty() {
            self.known.push(HashMap::new());
        }
        if let Some(known) = self.known.last_mut() {
            known.insert(code.s, name.clone());
        }
        Code::atom(name, code.full)
    }

    /// Opens a loop.
    pub(super) fn open(&mut self, head: &str) {
        self.line(head);
        self.depth += 1;
        self.known.push(HashMap::new());
    }

    /// Closes it.
    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.known.pop();
    }
}

/// A literal without its type.
pub(super) fn digits(v: Scalar) -> String {
    if v.ty == ScalarType::I1 {
        return if v.is_true() { "True" } else { "False" }.into();
    }
    if v.ty.is_int() {
        return v.as_int().to_string();
    }
    let x = v.as_f64();
    if x.is_nan() {
        return "np.nan".into();
    }
    if x.is_infinite() {
        let sign = if x > 0.0 { "" } else { "-" };
        return format!("{sign}np.inf");
    }
    if v.ty == ScalarType::F32 {
        // Python reads a double, and rounds it to a float: only if that gives the same float.
        let short = format!("{:?}", v.as_f32());
        if short
            .parse::<f64>()
            .is_ok_and(|d| (d as f32).to_bits() == v.as_f32().to_bits())
        {
            return short;
        }
    }
    format!("{x:?}")
}

/// NumPy's name of a type.
pub(crate) fn numpy_dtype(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I1 => "np.bool_",
        ScalarType::I8 => "np.int8",
        ScalarType::I16 => "np.int16",
        ScalarType::I32 => "np.int32",
        ScalarType::I64 => "np.int64",
        ScalarType::U8 => "np.uint8",
        ScalarType::U16 => "np.uint16",
        ScalarType::U32 => "np.uint32",
        ScalarType::U64 => "np.uint64",
        ScalarType::F32 => "np.float32",
        ScalarType::F64 => "np.float64",
    }
}

/// A Python tuple.
pub(super) fn tuple(items: &[String]) -> String {
    match items {
        [one] => format!("({one},)"),
        _ => format!("({})", items.join(", ")),
    }
}

/// Words that a Python variable must not be called: keywords, and names that the modules use.
pub(super) const PYTHON_WORDS: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "np",
    "jax",
    "jnp",
    "lax",
    "torch",
    "tf",
    "mx",
    "da",
    "os",
    "warnings",
    "bridge",
    "hpu",
    "DEVICE",
    "EMULATED",
    "r",
    "max",
    "min",
    "int",
    "tuple",
    "range",
    "print",
    "slice",
    "zip",
    "sum",
    "len",
    "list",
    "enumerate",
    "isinstance",
];
