//! The names in a kernel, and new ones beside them.

use crate::loops::modified;
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Function;

/// Names that are taken.
pub struct Names(BTreeSet<Sym>);

impl Names {
    /// Those of a kernel: parameters, arrays, variables.
    pub fn of(kernel: &Function) -> Names {
        let mut names: BTreeSet<Sym> = kernel.params.iter().map(|p| p.name().clone()).collect();
        names.extend(kernel.arrays.iter().map(|a| a.name.clone()));
        names.extend(modified(&kernel.body).0.into_keys());
        Names(names)
    }

    /// Whether something has it.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Notes that something has it.
    pub fn take(&mut self, name: Sym) {
        self.0.insert(name);
    }

    /// This name, or the first of `name_1`, `name_2`, … that nothing has; taken from now on.
    pub fn plain(&mut self, name: &str) -> Sym {
        match self.contains(name) {
            true => self.numbered(name),
            false => {
                self.take(name.into());
                name.into()
            }
        }
    }

    /// The first of `name_1`, `name_2`, … that nothing has; taken from now on.
    pub fn numbered(&mut self, name: &str) -> Sym {
        let mut number = 1;
        while self.contains(&format!("{name}_{number}")) {
            number += 1;
        }
        let free: Sym = format!("{name}_{number}").into();
        self.take(free.clone());
        free
    }
}
