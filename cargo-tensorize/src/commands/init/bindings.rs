//! The Rust side: without the bindings nothing is swapped in.

use super::build_script::{Made, before_first_item};
use super::edits::{self, Edit, Edits};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// What stands in for a name that is not written down.
const UNNAMED: &str = "NAME";

/// A build script and what it makes.
pub(super) struct Makes<'a> {
    /// Its file.
    pub(super) script: &'a str,
    pub(super) libraries: &'a [Made],
    /// Whether it makes them once the changes are written.
    pub(super) is_ready: bool,
}

/// Adds the module with the bindings of these libraries, if the script makes them once it is written; else it is told what to add,
/// since a crate that includes what nobody has made does not compile.
pub(super) fn add(
    dir: &Path,
    makes: &Makes,
    edits: &mut Edits,
    notes: &mut String,
) -> Result<(), String> {
    let file = dir.join("src/kernels.rs");
    let text = module(makes.libraries);
    let Some(root) = ["src/lib.rs", "src/main.rs"]
        .into_iter()
        .find(|f| dir.join(f).is_file())
    else {
        let _ = writeln!(
            notes,
            "\nin a module of your crate write\n\n{}",
            set_in(&text)
        );
        return Ok(());
    };
    let path = dir.join(root);
    let old = edits::read(&path)?.unwrap_or_default();
    let there = edits::read(&file)?;
    let includes = |text: &str| text.contains("include_kernels!");
    if includes(&old) || there.as_deref().is_some_and(includes) {
        return Ok(());
    }
    if there.is_some() {
        let _ = writeln!(
            notes,
            "\nsrc/kernels.rs is there already; in a module of your crate write\n\n{}",
            set_in(&text)
        );
        return Ok(());
    }
    let declaration = match root {
        "src/lib.rs" => "pub mod kernels;",
        _ => "mod kernels;",
    };
    if let Some(why) = not_yet(makes) {
        let _ = writeln!(
            notes,
            "\n{why} a file src/kernels.rs\n\n{}\nand in {root}\n\n    {declaration}",
            set_in(&text)
        );
        return Ok(());
    }
    match before_first_item(&old) {
        Some(at) => {
            edits.push(Edit::new(&file, None, text));
            edits.push(Edit::new(
                &path,
                Some(old.clone()),
                declared(&old, at, declaration),
            ));
        }
        None => {
            let _ = writeln!(
                notes,
                "\n{root} can't be read as Rust: write `{declaration}` there"
            );
        }
    }
    Ok(())
}

/// With a line at this place.
fn declared(old: &str, at: usize, line: &str) -> String {
    let (before, after) = old.split_at(at);
    // Where nothing follows, what is before may be a comment that has no end of its own.
    let start = match after.is_empty() && !before.is_empty() && !before.ends_with('\n') {
        true => "\n",
        false => "",
    };
    let end = if after.is_empty() { "" } else { "\n" };
    format!("{before}{start}{line}\n{end}{after}")
}

/// When the bindings are to be written, if that is not now.
fn not_yet(makes: &Makes) -> Option<String> {
    let (script, libraries) = (makes.script, makes.libraries);
    if !makes.is_ready {
        return Some(format!(
            "once {script} does so, and not before, `cargo tensorize init` adds the Rust side:"
        ));
    }
    if libraries.iter().any(|l| l.name.is_none()) {
        return Some(format!(
            "with what {script} calls the library in the place of {UNNAMED}, write"
        ));
    }
    let conditional = libraries.iter().find(|l| !l.always)?;
    let name = conditional.name.as_deref().unwrap_or(UNNAMED);
    Some(format!(
        "{script} may not compile `{name}` each time it runs. If there is a condition, write under the same one, as \
         `#[cfg(feature = \"…\")]`,"
    ))
}

/// `src/kernels.rs`. Of several libraries each has a module of its own.
fn module(libraries: &[Made]) -> String {
    let mut text = "//! The C kernels, as the build script made them callable.\n".to_owned();
    let name = |library: &Made| library.name.clone().unwrap_or_else(|| UNNAMED.into());
    if let [library] = libraries {
        let _ = writeln!(
            text,
            "\ntensorize_rt::include_kernels!({:?});",
            name(library)
        );
        return text;
    }
    let mut taken = BTreeSet::new();
    for library in libraries {
        let name = name(library);
        let plain = identifier(&name);
        // Another library's name may be the same but for its signs.
        let mut module = plain.clone();
        for n in 2.. {
            if taken.insert(module.clone()) {
                break;
            }
            module = format!("{plain}_{n}");
        }
        let _ = writeln!(
            text,
            "\n/// Those of `{name}`.\npub mod {module} {{\n    tensorize_rt::include_kernels!({name:?});\n}}"
        );
    }
    text
}

/// A library's name as a module's.
fn identifier(name: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '_',
    };
    let module: String = name.chars().map(plain).collect();
    match syn::parse_str::<syn::Ident>(&module) {
        Ok(_) => module,
        Err(_) => format!("lib_{module}"),
    }
}

/// As it is shown among words.
fn set_in(text: &str) -> String {
    text.lines()
        .map(|l| match l {
            "" => "\n".to_owned(),
            l => format!("    {l}\n"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_has_a_line_of_its_own() {
        let check = |old: &str, expected: &str| {
            let at = before_first_item(old).unwrap();
            assert_eq!(declared(old, at, "mod k;"), expected);
        };
        check("//! Only.", "//! Only.\nmod k;\n");
        check("//! Only.\n", "//! Only.\nmod k;\n");
        check("", "mod k;\n");
        check("//! One.\nfn f() {}\n", "//! One.\nmod k;\n\nfn f() {}\n");
    }

    #[test]
    fn each_library_has_a_module_of_its_own() {
        let made = |name: &str| Made {
            name: Some(name.into()),
            always: true,
        };
        let text = module(&["a-b", "a_b_2", "a_b"].map(made));
        let modules = text.lines().filter(|l| l.starts_with("pub mod "));
        let expected = ["pub mod a_b {", "pub mod a_b_2 {", "pub mod a_b_3 {"];
        assert_eq!(modules.collect::<Vec<_>>(), expected, "{text}");
        let text = module(&["a-b", "a_b"].map(made));
        assert!(text.contains("pub mod a_b_2 {"), "{text}");
    }
}
