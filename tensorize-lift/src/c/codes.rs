//! The front end's codes: one for each construct that is refused.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $title:literal, $text:literal;)*) => {
        $(pub(crate) const $name: &str = $code;)*

        /// Every code of the front end: code, title, and what to do.
        pub const CODES: &[(&str, &str, &str)] = &[$(($code, $title, $text),)*];
    };
}

codes! {
    NO_LIBCLANG = "TZ0201", "libclang is missing or too old",
        "The front end reads C with libclang 14 or later, loaded at run time. `cargo xtask setup` installs one.";
    UNREADABLE = "TZ0202", "a C file could not be read",
        "The file is missing, too large, nested too deeply, or takes too long to expand, or libclang gave up on it.";
    SYNTAX = "TZ0203", "the C does not parse",
        "The compiler's own message says why. Check include paths and definitions (`-I`, `-D`).";
    RECURSION = "TZ0204", "recursion",
        "Helper functions are inlined, so a function may not call itself. Write a loop.";
    GOTO = "TZ0205", "goto",
        "A goto may skip to a label that follows, in a block around it. For anything else use loops, `break`, `continue` and `return`.";
    VOLATILE = "TZ0206", "volatile or atomic data",
        "Every access to such data is an effect of its own, which a summary cannot keep.";
    UNKNOWN_CALL = "TZ0207", "a call to a function that is not defined in this file",
        "Functions of <math.h> and functions defined in the same file (or its headers) can be called.";
    IO = "TZ0208", "input or output",
        "A kernel computes from its arguments and does nothing else. Print outside of it.";
    FUNCTION_POINTER = "TZ0209", "a function pointer",
        "Call the function by its name.";
    SETJMP = "TZ0210", "setjmp or longjmp",
        "Such jumps have no structured form.";
    INLINE_ASM = "TZ0211", "inline assembly",
        "Write it in C.";
    VARIADIC = "TZ0212", "a variadic function",
        "Give the function a fixed number of parameters.";
    RECORD = "TZ0213", "a use of a struct or union that is not supported",
        "Structs can be parameters, by value or by pointer, and variables, with numbers, pointers, tables of rows, arrays and structs in them, and so can arrays of structs, of which members that are numbers can be read and written. Pass anything else as parameters of its own.";
    VLA = "TZ0214", "a local array of variable length",
        "Give it a constant length, or pass it in.";
    GLOBAL = "TZ0215", "a global or static variable",
        "Numbers, arrays, pointers that stay what they are, and structs at file scope can be used; anything else must be a parameter.";
    STRING = "TZ0216", "a string literal",
        "Use plain characters, or a constant array of numbers.";
    TYPE = "TZ0217", "a type without a counterpart",
        "Integer types of up to 64 bits, `_Bool`, `float`, `double`, complex numbers of these two, pointers to them and arrays of them are supported.";
    POINTER_BASE = "TZ0218", "a pointer that may point into more than one array",
        "Use one pointer for each array.";
    POINTER_CAST = "TZ0219", "a pointer cast that changes the element type",
        "Convert the elements, not the pointer.";
    POINTER_USE = "TZ0220", "a use of a pointer that has no counterpart",
        "Pointers can be indexed, moved, compared and subtracted within one array.";
    ORDER = "TZ0221", "an expression whose evaluation order C leaves open",
        "Split the expression into statements.";
    OPERATOR = "TZ0222", "an operator that libclang did not name",
        "libclang 17 and later name all operators; older ones do not, inside of macros. `cargo tensorize doctor` names the command that installs one.";
    STATEMENT = "TZ0223", "an unsupported statement", "Rewrite it with plain loops and branches.";
    EXPRESSION = "TZ0224", "an unsupported expression", "Rewrite it with plain arithmetic.";
    CONVERSION = "TZ0225", "a conversion that the front end and clang see differently",
        "This is a limit or a bug of the front end. Please report it with the source line.";
    SWITCH = "TZ0226", "a switch with labels inside of its statements",
        "Put each `case` into the switch itself, not into a loop or branch of it (Duff's device).";
    INITIALIZER = "TZ0227", "an unsupported initialiser",
        "Use a list of which it can be seen what it sets (no ranges in macros, nothing that is set twice with effects), or assign the elements.";
    FLOAT_ENV = "TZ0228", "the floating-point environment",
        "Rounding modes, exception flags and errno are not kept.";
    ALLOCATION = "TZ0230", "memory allocation",
        "Memory for numbers that is allocated into a local pointer and freed again is fine. Allocate anything else outside of the kernel and pass it in.";
    UNINITIALISED = "TZ0231", "a pointer that is used before it points anywhere",
        "Initialise it.";
    MISSING_RETURN = "TZ0232", "a path without a return value",
        "Return a value on every path.";
    TOO_LARGE = "TZ0233", "a function that is too large",
        "Split it up.";
    OPENMP = "TZ0234", "OpenMP",
        "Compile the file without the flag for OpenMP (-fopenmp): then its pragmas are ignored, and the generated code for `cpu` uses all cores by itself.";
    TRAPS = "TZ0235", "signed overflow that ends the program",
        "Under -ftrapv a signed overflow ends the program, and generated code would go on. Compile the kernels' files without it, with -fwrapv where overflow shall have a meaning.";
    VECTOR = "TZ0240", "a use of vector registers that is not known",
        "Intrinsics are supported whose meaning stands in the tables `x86.txt` and `neon.txt` of the front end. Write others as plain loops, or call those under an `#if` that keeps the plain code.";
}

/// What to do about a code.
pub(super) fn help(code: &str) -> &'static str {
    CODES.iter().find(|c| c.0 == code).map_or("", |c| c.2)
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(super::CODES.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
