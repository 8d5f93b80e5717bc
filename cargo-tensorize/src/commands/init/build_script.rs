//! What a build script compiles with `cc`, and the same with `tensorize_build`.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Lit};
use tensorize_build::Settings;
use tensorize_build::config::relative_to;

/// A call of `Build`, to be written.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) files: Vec<String>,
    include: Vec<String>,
    define: Vec<String>,
}

impl Chain {
    /// Takes over the folders and macros that a file is compiled with.
    pub(super) fn add_flags(&mut self, settings: &Settings, dir: &Path) {
        let mut flags = settings.flags.iter();
        while let Some(flag) = flags.next() {
            let mut value = |option: &str| {
                let rest = flag.strip_prefix(option)?;
                if rest.is_empty() {
                    flags.next().cloned()
                } else {
                    Some(rest.to_owned())
                }
            };
            if let Some(folder) = value("-I") {
                let path = crate::sources::absolute(&settings.dir.join(folder));
                add(&mut self.include, relative_to(dir, &path));
            } else if let Some(define) = value("-D") {
                add(&mut self.define, define);
            }
        }
    }

    /// As Rust, from `tensorize_build` to the parenthesis after `compile(…`.
    pub(super) fn text(&self, name: &str, indent: usize) -> String {
        let mut text = "tensorize_build::Build::new()".to_owned();
        let mut call = |arguments: String| {
            let _ = write!(text, "\n{:1$}.{arguments}", "", indent + 4);
        };
        self.files.iter().for_each(|f| call(format!("file({f:?})")));
        self.include
            .iter()
            .for_each(|i| call(format!("include({i:?})")));
        for define in &self.define {
            call(match define.split_once('=') {
                Some((name, value)) => format!("define({name:?}, {value:?})"),
                None => format!("define({define:?}, None)"),
            });
        }
        call(format!("compile({name:?})"));
        text
    }
}

fn add(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// A build script that is there.
pub(super) struct Script {
    text: String,
    /// `cc::Build::new()….compile(…)`, each with what to write in its place, or the method that we lack.
    calls: Vec<(Range<usize>, Result<String, String>)>,
    library: Option<String>,
}

impl Script {
    /// Reads it; an `Err` is one that is no Rust.
    pub(super) fn read(text: &str) -> Result<Script, String> {
        let file = syn::parse_file(text).map_err(|e| e.to_string())?;
        let mut found = Calls {
            text,
            calls: Vec::new(),
            library: None,
        };
        found.visit_file(&file);
        Ok(Script {
            text: text.to_owned(),
            calls: found.calls,
            library: found.library,
        })
    }

    /// Whether it calls us already.
    pub(super) fn uses_us(&self) -> bool {
        self.text.contains("tensorize_build")
    }

    /// Whether it has to do with `cc`.
    pub(super) fn mentions_cc(&self) -> bool {
        self.text.contains("cc::")
    }

    /// The name of the library that it compiles.
    pub(super) fn library(&self) -> Option<String> {
        self.library.clone()
    }

    /// With ours in the place of each call of `cc`; `None` if there is none, or one that we can't take over.
    pub(super) fn rewritten(&self) -> Option<String> {
        let mut text = self.text.clone();
        // From the end, so that places before stay where they are.
        for (range, new) in self.calls.iter().rev() {
            text.replace_range(range.clone(), new.as_ref().ok()?);
        }
        (!self.calls.is_empty()).then_some(text)
    }

    /// Why it can't be rewritten.
    pub(super) fn why_not(&self) -> String {
        match self.calls.iter().find_map(|(_, new)| new.as_ref().err()) {
            Some(method) => format!("calls `{method}` of `cc::Build`, which has no counterpart"),
            None if self.mentions_cc() => "calls `cc` in a way that init can't read".into(),
            None => "does not call `cc::Build`".into(),
        }
    }
}

struct Calls<'a> {
    text: &'a str,
    calls: Vec<(Range<usize>, Result<String, String>)>,
    library: Option<String>,
}

impl Calls<'_> {
    fn text(&self, of: &impl Spanned) -> &str {
        self.text.get(of.span().byte_range()).unwrap_or_default()
    }

    /// The calls of a chain that begins with `cc::Build::new()`, first to last.
    fn chain(last: &ExprMethodCall) -> Option<Vec<&ExprMethodCall>> {
        let mut calls = vec![last];
        let mut receiver = &*last.receiver;
        loop {
            match receiver {
                Expr::MethodCall(call) => {
                    calls.push(call);
                    receiver = &call.receiver;
                }
                Expr::Call(call) => {
                    let Expr::Path(path) = &*call.func else {
                        return None;
                    };
                    let segments = path.path.segments.iter().map(|s| s.ident.to_string());
                    let is_ours = segments.eq(["cc", "Build", "new"].map(String::from));
                    calls.reverse();
                    return is_ours.then_some(calls);
                }
                _ => return None,
            }
        }
    }

    /// The same with `tensorize_build`; an `Err` is the method that it lacks.
    fn translated(&self, calls: &[&ExprMethodCall], indent: usize) -> Result<String, String> {
        let mut text = "tensorize_build::Build::new()".to_owned();
        for call in calls {
            let arguments: Vec<&str> = call.args.iter().map(|a| self.text(a)).collect();
            let arguments = arguments.join(", ");
            let method = call.method.to_string();
            let line = match method.as_str() {
                "file" | "files" | "include" | "define" | "flag" | "compile" => {
                    format!("{method}({arguments})")
                }
                "std" => match literal(call) {
                    Some(standard) => format!("flag(\"-std={standard}\")"),
                    None => return Err(method),
                },
                // The language goes by the file's name, warnings are the original's business, and how much is optimised goes
                // by the profile: 2, or what a release build has.
                "cpp" | "warnings" | "extra_warnings" | "opt_level" | "opt_level_str" => continue,
                _ => return Err(method),
            };
            let _ = write!(text, "\n{:1$}.{line}", "", indent + 4);
        }
        let _ = write!(text, "\n{:1$}.unwrap()", "", indent + 4);
        Ok(text)
    }
}

/// The string that is a call's only argument.
fn literal(call: &ExprMethodCall) -> Option<String> {
    match call.args.first()? {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(s) => Some(s.value()),
            _ => None,
        },
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let chain = Self::chain(call).filter(|_| call.method == "compile");
        let Some(chain) = chain else {
            visit::visit_expr_method_call(self, call);
            return;
        };
        let range = call.span().byte_range();
        let before = &self.text[..range.start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let new = self.translated(&chain, indent);
        self.library = self.library.take().or_else(|| literal(call));
        self.calls.push((range, new));
    }
}

/// Where the first item of a file begins; its end if there is none. `None` if it is no Rust.
pub(super) fn before_first_item(text: &str) -> Option<usize> {
    let file = syn::parse_file(text).ok()?;
    Some(match file.items.first() {
        Some(item) => item.span().byte_range().start,
        None => text.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_rewritten_and_the_rest_stays() {
        let text = "fn main() {\n    // kept\n    cc::Build::new().file(\"a.c\") .include(dir())\n        \
                    .define(\"N\", Some(\"3\")).std(\"c11\").warnings(false).compile(\"fast\");\n    println!(\"x\");\n}\n";
        let script = Script::read(text).unwrap();
        assert_eq!(script.library().as_deref(), Some("fast"));
        let expected = "fn main() {\n    // kept\n    tensorize_build::Build::new()\n        .file(\"a.c\")\n        \
                        .include(dir())\n        .define(\"N\", Some(\"3\"))\n        .flag(\"-std=c11\")\n        \
                        .compile(\"fast\")\n        .unwrap();\n    println!(\"x\");\n}\n";
        assert_eq!(script.rewritten().unwrap(), expected);
    }

    #[test]
    fn what_we_lack_is_not_rewritten_but_named() {
        let lacking =
            "fn main() { cc::Build::new().file(\"a.c\").shared_flag(true).compile(\"x\"); }";
        let script = Script::read(lacking).unwrap();
        assert_eq!(script.rewritten(), None);
        assert!(
            script.why_not().contains("`shared_flag`"),
            "{}",
            script.why_not()
        );
        let by_name =
            "fn main() { let mut b = cc::Build::new(); b.file(\"a.c\"); b.compile(\"x\"); }";
        let script = Script::read(by_name).unwrap();
        assert_eq!(script.rewritten(), None);
        assert!(script.why_not().contains("can't read"));
        assert!(Script::read("fn main( {").is_err());
    }

    #[test]
    fn a_module_goes_after_what_is_about_the_file() {
        let text = "//! About.\n#![allow(x)]\n\n/// One.\nfn f() {}\n";
        let at = before_first_item(text).unwrap();
        assert_eq!(&text[at..], "/// One.\nfn f() {}\n");
        assert_eq!(before_first_item("//! Only.\n"), Some(10));
    }
}
