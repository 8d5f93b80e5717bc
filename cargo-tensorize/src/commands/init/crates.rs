//! Which names in a build script stand for `cc`, for our crate, and for the builder of either.

use std::collections::BTreeMap;
use syn::UseTree;
use syn::visit::{self, Visit};

/// Whose a builder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Cc,
    Ours,
}

/// The names of both crates in a build script, comments and strings left aside.
#[derive(Debug)]
pub(super) struct Crates {
    modules: BTreeMap<String, Whose>,
    builders: BTreeMap<String, Whose>,
    pub(super) has_cc: bool,
    pub(super) has_ours: bool,
}

impl Crates {
    pub(super) fn of(file: &syn::File) -> Crates {
        let modules = [("cc", Whose::Cc), ("tensorize_build", Whose::Ours)];
        let mut crates = Crates {
            modules: modules.map(|(n, w)| (n.to_owned(), w)).into(),
            builders: BTreeMap::new(),
            has_cc: false,
            has_ours: false,
        };
        crates.visit_file(file);
        crates
    }

    /// Whose builder a path names.
    pub(super) fn builder(&self, path: &[&str]) -> Option<Whose> {
        match path {
            [module, "Build"] => self.modules.get(*module).copied(),
            [name] => self.builders.get(*name).copied(),
            _ => None,
        }
    }

    fn note(&mut self, whose: Whose) {
        match whose {
            Whose::Cc => self.has_cc = true,
            Whose::Ours => self.has_ours = true,
        }
    }

    /// What is taken from one of the crates.
    fn take(&mut self, tree: &UseTree, whose: Whose) {
        let taken = match tree {
            UseTree::Name(n) if n.ident == "Build" => "Build".to_owned(),
            UseTree::Rename(r) if r.ident == "Build" => r.rename.to_string(),
            UseTree::Name(n) if n.ident == "self" => return,
            UseTree::Rename(r) if r.ident == "self" => {
                self.modules.insert(r.rename.to_string(), whose);
                return;
            }
            UseTree::Glob(_) => "Build".to_owned(),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.take(tree, whose));
            }
            _ => return,
        };
        self.builders.insert(taken, whose);
    }
}

impl<'ast> Visit<'ast> for Crates {
    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        let (name, renamed) = match tree {
            UseTree::Path(p) => (&p.ident, None),
            UseTree::Name(n) => (&n.ident, None),
            UseTree::Rename(r) => (&r.ident, Some(&r.rename)),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|t| self.visit_use_tree(t));
            }
            UseTree::Glob(_) => return,
        };
        let Some(&whose) = self.modules.get(&name.to_string()) else {
            return;
        };
        self.note(whose);
        if let Some(renamed) = renamed {
            self.modules.insert(renamed.to_string(), whose);
        }
        if let UseTree::Path(p) = tree {
            self.take(&p.tree, whose);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let [first, _, ..] = &path.segments.iter().collect::<Vec<_>>()[..]
            && let Some(&whose) = self.modules.get(&first.ident.to_string())
        {
            self.note(whose);
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_code() {
        let check = |text: &str, path: &[&str], expected: Option<Whose>| {
            let crates = Crates::of(&syn::parse_file(text).unwrap());
            assert_eq!(crates.builder(path), expected, "{text}");
            (crates.has_cc, crates.has_ours)
        };
        let comment = "// Once: cc::Build, tensorize_build::Build.\nfn main() {}";
        assert_eq!(check(comment, &["Build"], None), (false, false));
        let used = "use tensorize_build::Build; // Not cc::Build.";
        assert_eq!(check(used, &["Build"], Some(Whose::Ours)), (false, true));
        let renamed = "use std::{env, fs}; use {cc::{self as c, Build as B}};";
        assert_eq!(check(renamed, &["B"], Some(Whose::Cc)), (true, false));
        check(renamed, &["c", "Build"], Some(Whose::Cc));
        check(renamed, &["Build"], None);
        let inside = "fn main() { f(|| ::tensorize_build::Build::new()); }";
        let both = check(inside, &["tensorize_build", "Build"], Some(Whose::Ours));
        assert_eq!(both, (false, true));
    }
}
