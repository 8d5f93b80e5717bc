//! What a build script that compiles C says of how, as far as it is written down in it.

use super::compile_commands::meaning;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Lit};
use tensorize_build::guarded;

/// The folders, macros and other flags that decide what C means, of all calls of `cc::Build`, or of ours, with literals for
/// arguments. The script is not run, so what it chooses among is all there; good enough for a look.
pub fn flags(package: &Path, script: &Path) -> Vec<String> {
    let text = guarded::text(script, guarded::SMALL).unwrap_or_default();
    let Ok(file) = syn::parse_file(&text) else {
        return vec![];
    };
    if !["cc::", "tensorize_build::"]
        .iter()
        .any(|c| text.contains(c))
    {
        return vec![];
    }
    let mut calls = Calls {
        package,
        flags: vec![],
    };
    calls.visit_file(&file);
    meaning(&calls.flags)
}

struct Calls<'a> {
    package: &'a Path,
    flags: Vec<String>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        // What is called before it stands inside of it.
        visit::visit_expr_method_call(self, call);
        let arguments: Vec<&Expr> = call.args.iter().collect();
        let method = call.method.to_string();
        let include = |folder: String| format!("-I{}", self.package.join(folder).display());
        let flag = match (method.as_str(), &arguments[..]) {
            ("includes", [folders]) => {
                let folders = strings(folders).into_iter().map(include);
                return self.flags.extend(folders);
            }
            ("flags", [flags]) => return self.flags.extend(strings(flags)),
            ("include", [folder]) => string(folder).map(include),
            ("define", [name, value]) => string(name).and_then(|name| match value {
                Expr::Path(none) if none.path.is_ident("None") => Some(format!("-D{name}")),
                Expr::Call(some) => string(some.args.first()?).map(|v| format!("-D{name}={v}")),
                value => string(value).map(|v| format!("-D{name}={v}")),
            }),
            ("flag" | "flag_if_supported", [flag]) => string(flag),
            ("std", [standard]) => string(standard).map(|s| format!("-std={s}")),
            _ => None,
        };
        self.flags.extend(flag);
    }
}

/// A string literal.
pub fn string(e: &Expr) -> Option<String> {
    match e {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(s) => Some(s.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The string literals of an array.
fn strings(e: &Expr) -> Vec<String> {
    match e {
        Expr::Reference(r) => strings(&r.expr),
        Expr::Array(array) => array.elems.iter().filter_map(string).collect(),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_in_their_order_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let script = r#"fn main() {
            cc::Build::new().include("inc").define("N", "3").define("FAST", None).std("c99").flag("-Wall").compile("a");
            let mut b = cc::Build::new();
            b.include(folder()).define("M", Some("4"));
            b.flag("-fwrapv").flags(["-DA", "-DB=1"]).includes(&["inc", "inc"]);
        }"#;
        let file = dir.path().join("build.rs");
        let flags_of = |script: &str| {
            std::fs::write(&file, script).unwrap();
            flags(dir.path(), &file)
        };
        let folder = format!("-I{}", dir.path().join("inc").display());
        let expected = [
            &folder, "-DN=3", "-DFAST", "-std=c99", "-DM=4", "-fwrapv", "-DA", "-DB=1", &folder,
            &folder,
        ];
        assert_eq!(flags_of(script), expected);
        assert!(flags_of("fn main() { other().include(\"x\"); }").is_empty());
        assert!(flags_of("fn main( { cc::").is_empty());
        std::fs::remove_file(&file).unwrap();
        assert!(flags(dir.path(), &file).is_empty());
    }
}
