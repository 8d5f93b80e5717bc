//! What the variables hold at the start of each round, on inputs that were run.

use super::widen;
use std::collections::BTreeMap;
use tensorize_ir::check::{Comparison, settle};
use tensorize_ir::element::{ElemRef, Env};
use tensorize_ir::index::Sym;
use tensorize_ir::inputs::{Palette, Spec};
use tensorize_ir::loopir::interp::{Program, Round};
use tensorize_ir::loopir::{Function, Stmt};
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::Scalar;

/// A run that takes more steps is skipped.
const MAX_STEPS: u64 = 20_000;
/// As many rounds of one run are noted.
const MAX_ROUNDS: usize = 160;
/// Sums over more rounds are not looked at.
const MAX_ROUND: u64 = 12;
/// As many rounds of one loop are looked at in one run.
const ROUNDS_OF_A_RUN: usize = 7;

/// Runs of a kernel over doubles.
pub struct Runs {
    program: Program,
    spec: Spec,
    tables: BTreeMap<Sym, Vec<Scalar>>,
    /// The loops around each loop, outermost first, itself last.
    nests: BTreeMap<u32, Vec<u32>>,
    runs: Vec<(Inputs, Vec<Round>)>,
}

/// The start of a round: which run, the rounds of all loops around, and what the variables hold.
pub struct Point<'a> {
    inputs: &'a Inputs,
    tables: &'a BTreeMap<Sym, Vec<Scalar>>,
    /// How many rounds each loop has had, outermost first.
    pub rounds: Vec<u64>,
    /// The variables that have a value.
    pub vars: &'a BTreeMap<Sym, Scalar>,
}

impl Runs {
    /// Prepares to run a kernel; `None` if it has no meaning over doubles.
    pub fn of(kernel: &Function) -> Option<Runs> {
        let wide = widen::function(kernel)?;
        let mut nests = BTreeMap::new();
        nest(&wide.body, &mut vec![], &mut nests);
        let tables = wide
            .arrays
            .iter()
            .filter_map(|a| Some((a.name.clone(), a.init.clone()?)))
            .collect();
        let mut runs = Runs {
            program: Program::new(&wide).ok()?,
            spec: Spec::unknown(&wide.params).with_constants_of(&wide),
            tables,
            nests,
            runs: vec![],
        };
        runs.more(1, 40, 14);
        Some(runs)
    }

    /// Runs the kernel on up to `tries` more inputs, up to `enough` that the program is defined on.
    pub fn more(&mut self, seed: u64, tries: usize, enough: usize) {
        let how = Comparison {
            may_leave_extents: true,
            limit_steps: MAX_STEPS,
            ..Comparison::default()
        };
        let mut found = 0;
        for case in self.spec.sample(seed, tries, Palette::Tame) {
            let Ok((inputs, _)) = settle(&self.program, &self.spec, &case, &how) else {
                continue;
            };
            let (ended, rounds) =
                self.program
                    .run_watched(&mut inputs.clone(), MAX_STEPS, MAX_ROUNDS);
            if ended.is_ok() && rounds.iter().any(|r| r.loops.iter().any(|(_, n)| *n > 0)) {
                self.runs.push((inputs, rounds));
                found += 1;
            }
            if found == enough {
                break;
            }
        }
    }

    /// How many loops are around the loop, itself included.
    pub fn depth(&self, id: u32) -> Option<usize> {
        self.nests.get(&id).map(Vec::len)
    }

    /// The rounds of a loop, a few of each run.
    pub fn points(&self, id: u32) -> Vec<Point<'_>> {
        let mut points = Vec::new();
        for (inputs, rounds) in &self.runs {
            let of_loop = |r: &&Round| {
                r.loops
                    .last()
                    .is_some_and(|(i, n)| *i == id && *n <= MAX_ROUND)
            };
            let here: Vec<&Round> = rounds.iter().filter(of_loop).collect();
            // Spread over the run.
            let every = here.len().div_ceil(ROUNDS_OF_A_RUN).max(1);
            points.extend(here.into_iter().step_by(every).map(|r| Point {
                inputs,
                tables: &self.tables,
                rounds: r.loops.iter().map(|(_, n)| *n).collect(),
                vars: &r.vars,
            }));
        }
        points
    }
}

fn nest(stmts: &[Stmt], around: &mut Vec<u32>, nests: &mut BTreeMap<u32, Vec<u32>>) {
    for s in stmts {
        match s {
            Stmt::Loop(l) => {
                around.push(l.id);
                nests.insert(l.id, around.clone());
                nest(&l.body, around, nests);
                around.pop();
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                nest(then, around, nests);
                nest(otherwise, around, nests);
            }
            _ => {}
        }
    }
}

impl Point<'_> {
    /// The round of the innermost loop.
    pub fn round(&self) -> u64 {
        self.rounds.last().copied().unwrap_or(0)
    }

    /// The value of an expression over doubles, where `names` are the counters of the loops around, and
    /// `more` is another variable.
    pub fn eval(&self, e: &ElemRef, names: &[Sym], more: Option<(&Sym, i128)>) -> Option<Scalar> {
        e.eval(&mut Here {
            point: self,
            names,
            more,
        })
    }
}

struct Here<'a> {
    point: &'a Point<'a>,
    names: &'a [Sym],
    more: Option<(&'a Sym, i128)>,
}

/// What an array was called before a loop gave its contents at the start of a round a name.
pub fn plain(array: &str) -> &str {
    array.split('@').next().unwrap_or(array)
}

impl Env for Here<'_> {
    fn sym(&self, name: &Sym) -> Option<i128> {
        if let Some((more, v)) = self.more
            && more == name
        {
            return Some(v);
        }
        if let Some(i) = self.names.iter().position(|n| n == name) {
            return self.point.rounds.get(i).map(|r| i128::from(*r));
        }
        let v = self.point.inputs.scalars.get(name)?;
        v.ty.is_int().then(|| v.as_int())
    }

    fn param(&self, name: &Sym) -> Option<Scalar> {
        self.point.inputs.scalars.get(name).copied()
    }

    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar> {
        let array = plain(array);
        if let Some(table) = self.point.tables.get(array) {
            return table.get(usize::try_from(index).ok()?).copied();
        }
        self.point.inputs.arrays.get(array)?.get(index)
    }
}
