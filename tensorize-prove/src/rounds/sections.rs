//! What a kernel does one after the other, as rounds of one loop over time: a loop over time has its rounds, and what stands
//! between such loops is a round of its own. `for (j …) { … } a; for (i …) { … }` has as many as both loops, and one.

use super::reads::reads_memory;
use super::{Split, Step, counting, is_plain, only_if, stepping, stuck, without, without_return};
use crate::exec::Stuck;
use crate::loops::modified;
use crate::names::Names;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    Expr, Function, Loop, LoopMode, Param, Stmt, Visited, rename_variables, visit,
};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::tensir::Rounds;

/// More loops are not asked which of them are over time: each choice costs an attempt.
const MOST: usize = 4;

/// The ways to take a kernel apart in which some of its loops are over time, first all and then the fewest: those of which
/// rounds read beside the place that they write, or write where the data says.
pub(super) fn all(kernel: &Function, counter: &Sym) -> Vec<Split> {
    let body = without_return(&kernel.body);
    let candidates: Vec<usize> = candidates(body).map(|(at, _)| at).collect();
    let mut choices: Vec<Vec<usize>> = (1u32..1 << candidates.len())
        .map(|bits| {
            let chosen = candidates.iter().enumerate();
            let chosen = chosen.filter(|(i, _)| bits & (1 << i) != 0);
            chosen.map(|(_, &at)| at).collect()
        })
        .collect();
    choices.sort_by_key(|c| (c.len() < candidates.len(), c.len()));
    let taken_apart = |chosen: &Vec<usize>| Sections::of(kernel, counter, chosen)?.split();
    choices.iter().filter_map(|c| taken_apart(c).ok()).collect()
}

/// The loops that may be over time, and their numbers among the statements.
pub(super) fn candidates(body: &[Stmt]) -> impl Iterator<Item = (usize, &Loop)> {
    let loops = body.iter().enumerate().filter_map(|(at, s)| match s {
        Stmt::Loop(l) if reads_beside(l) || goes_where_data_says(l) => Some((at, l)),
        _ => None,
    });
    loops.take(MOST)
}

/// Whether a loop writes at a place that is read from memory, as where a number says which rounds raise.
fn goes_where_data_says(l: &Loop) -> bool {
    let mut found = false;
    visit(&l.body, &mut |part| {
        if let Visited::Stmt(Stmt::Store { index, .. }) = part {
            index.visit(&mut |e| found |= matches!(e, Expr::Load { .. }));
        }
    });
    found && stepping(l).is_some()
}

/// Whether a loop reads an array at another index than it writes it, or than it writes another part of it (`f[i] += t; f[j] -= t`),
/// by the looks of it.
fn reads_beside(l: &Loop) -> bool {
    let mut written: Vec<(&Sym, &Expr)> = Vec::new();
    visit(&l.body, &mut |part| {
        if let Visited::Stmt(Stmt::Store { array, index, .. }) = part {
            written.push((array, index));
        }
    });
    let mut beside = false;
    visit(&l.body, &mut |part| {
        if let Visited::Expr(Expr::Load { array, index, .. }) = part {
            beside |= written.iter().any(|(a, i)| *a == array && **i != **index);
        }
    });
    beside && stepping(l).is_some()
}

/// What is done one after the other.
enum Section<'a> {
    /// All of it in one round.
    Once(Vec<Stmt>),
    /// A round of the loop in each. Before it stands what sets its counter.
    Loop(&'a [Stmt], &'a Loop, Step<'a>, Vec<Stmt>),
}

struct Sections<'a> {
    kernel: &'a Function,
    counter: &'a Sym,
    /// What is computed before all sections, of nothing that a section changes: each may look at it.
    before: Vec<Stmt>,
    sections: Vec<Section<'a>>,
}

impl<'a> Sections<'a> {
    fn of(kernel: &'a Function, counter: &'a Sym, chosen: &[usize]) -> Result<Sections<'a>, Stuck> {
        let not = |what: &str| stuck(what, 0);
        if kernel.ret.is_some() {
            return not("it returns a value");
        }
        if Names::of(kernel).contains(counter) {
            return not("the number of the round has a name that is taken");
        }
        let body = without_return(&kernel.body);
        let begins = body.iter().take_while(|s| is_plain(s)).count();
        let (start, _) = body.split_at(begins);
        let mut sections = Vec::new();
        let mut from = 0;
        for &at in chosen {
            let Stmt::Loop(l) = &body[at] else {
                return not("it is no loop");
            };
            let between = &body[from..at];
            let plain = between.iter().rev().take_while(|s| is_plain(s)).count();
            let (once, sets) = between.split_at(between.len() - plain);
            if !once.is_empty() {
                sections.push(Section::Once(once.to_vec()));
            }
            let (step, round) = stepping(l).ok_or_else(|| no_loop(l))?;
            sections.push(Section::Loop(sets, l, step, round));
            from = at + 1;
        }
        let last = &body[from..];
        // `while (times-- > 0)`: the last test has its effect, too.
        let of_no_use = |s: &Stmt| matches!(s, Stmt::Assign { .. }) && !reads_memory(s);
        if !last.iter().all(of_no_use) {
            sections.push(Section::Once(last.to_vec()));
        }
        if sections.len() < 2 {
            return not("it has one part");
        }
        let (mut assigned, mut written) = (BTreeSet::new(), BTreeSet::new());
        for part in body.iter().skip(begins) {
            let (scalars, arrays) = modified(std::slice::from_ref(part));
            assigned.extend(scalars.into_keys());
            written.extend(arrays);
        }
        // The first section does once more what is computed before it.
        let at_first = modified(start).0;
        let mut params = kernel.params.iter().map(Param::name);
        if params.any(|p| assigned.contains(p) || at_first.contains_key(p)) {
            return not("it changes a parameter");
        }
        // The first section has all that stands before it, as it is. The others go without what is computed of an array
        // that sections write, and without variables that they assign: with no value, nothing can be shown of those.
        let mut by_sections = assigned;
        let mut grown = true;
        while grown {
            let before = by_sections.len();
            visit(start, &mut |part| {
                if let Visited::Stmt(Stmt::Assign { var, value, .. }) = part
                    && looks_at(value, &by_sections, &written)
                {
                    by_sections.insert(var.clone());
                }
            });
            grown = by_sections.len() > before;
        }
        let before = without(start, &by_sections);
        let mut by_round = false;
        visit(&before, &mut |part| {
            if let Visited::Expr(e) = part {
                by_round |= looks_at(e, &by_sections, &written);
            }
        });
        if by_round {
            return not("what sections change is looked at before them");
        }
        let found = Sections {
            kernel,
            counter,
            before,
            sections,
        };
        found.check(body, begins, &written)?;
        Ok(found)
    }

    /// Whether it is known beforehand how often each loop runs, and nothing ends early.
    fn check(&self, body: &[Stmt], begins: usize, written: &BTreeSet<Sym>) -> Result<(), Stuck> {
        let mut ends = false;
        visit(&body[begins..], &mut |part| {
            ends |= matches!(part, Visited::Stmt(Stmt::Return(_)));
        });
        if ends {
            return stuck("it may return on the way", 0);
        }
        for section in &self.sections {
            let Section::Loop(sets, l, step, round) = section else {
                continue;
            };
            let no = |what: &str| stuck(format!("the loop {what}"), l.line);
            if !l.test_first || l.mode != LoopMode::Sequential {
                return no("is no for or while");
            }
            let in_round = modified(round).0;
            let mut by_rounds = in_round.contains_key(step.var);
            l.cond.visit(&mut |e| {
                by_rounds |= match e {
                    Expr::Load { .. } => true,
                    Expr::Var(v, _) => in_round.contains_key(v),
                    _ => false,
                };
            });
            let none = BTreeSet::new();
            visit(sets, &mut |part| {
                if let Visited::Expr(e) = part {
                    by_rounds |= looks_at(e, &none, written);
                }
            });
            if by_rounds {
                return no("ends when something happens in a round");
            }
        }
        Ok(())
    }

    fn split(&self) -> Result<Split, Stuck> {
        let split = Split {
            count: self.count(),
            round: self.round(),
            at_least_one: false,
        };
        for part in [&split.count, &split.round] {
            part.validate().or_else(|e| stuck(e, 0))?;
        }
        split.reads_all_of(self.kernel)?;
        Ok(split)
    }

    /// The names that are taken.
    fn names(&self) -> Names {
        let mut names = Names::of(self.kernel);
        names.take(self.counter.clone());
        names
    }

    /// `before; n = 0; …; n = n + 1; …; while (…) { n = n + 1; var = var + step; } …; return n`
    fn count(&self) -> Function {
        let mut fresh = self.names();
        let all = fresh.numbered("rounds");
        let mut body = counting(&self.before);
        body.push(assign(&all, int(0)));
        for section in &self.sections {
            match section {
                Section::Once(_) => body.push(assign(&all, plus(number(&all), int(1)))),
                Section::Loop(sets, l, step, _) => {
                    body.extend(counting(&counted(sets, l, step, &all, &mut fresh)));
                }
            }
        }
        body.push(Stmt::Return(Some(number(&all))));
        Function {
            ret: Some(Rounds::COUNTER),
            fused: false,
            body,
            ..self.kernel.clone()
        }
    }

    /// `before; if (k < 1) { … } else { n = …; if (k < 1 + n) { var = … + (k - 1) * step; … } else { … } }`
    fn round(&self) -> Function {
        let mut params = self.kernel.params.clone();
        params.push(Param::Scalar {
            name: self.counter.clone(),
            ty: Rounds::COUNTER,
        });
        let mut body = self.before.clone();
        body.extend(self.from(0, int(0), &mut self.names()));
        Function {
            params,
            body,
            ..self.kernel.clone()
        }
    }

    /// A round of this section or of a later one, `so_far` being the number of rounds before it.
    fn from(&self, at: usize, so_far: Expr, fresh: &mut Names) -> Vec<Stmt> {
        let k = number(self.counter);
        let is_last = at + 1 == self.sections.len();
        match &self.sections[at] {
            Section::Once(stmts) if is_last => stmts.clone(),
            Section::Once(stmts) => {
                let after = plus(so_far, int(1));
                let mut branch = only_if(Expr::compare(CmpOp::Lt, k, after.clone()), stmts.clone());
                if let Stmt::If { otherwise, .. } = &mut branch {
                    *otherwise = self.from(at + 1, after, fresh);
                }
                vec![branch]
            }
            Section::Loop(sets, l, step, round) => {
                let n = fresh.numbered("rounds");
                let mut stmts = Vec::new();
                let number_here = Expr::binary(BinOp::Subtract, k.clone(), so_far.clone());
                // What a round assigns has no value when one begins, but in the first one.
                let in_round = modified(round).0.into_keys().collect();
                let mut here = without(sets, &in_round);
                here.push(step.after(number_here));
                if step.first {
                    here.push(step.stmt.clone());
                }
                here.extend_from_slice(round);
                if is_last {
                    return here;
                }
                stmts.push(assign(&n, int(0)));
                stmts.extend(counted(sets, l, step, &n, fresh));
                let after = plus(so_far, number(&n));
                let mut branch = only_if(Expr::compare(CmpOp::Lt, k, after.clone()), here);
                if let Stmt::If { otherwise, .. } = &mut branch {
                    *otherwise = self.from(at + 1, after, fresh);
                }
                stmts.push(branch);
                stmts
            }
        }
    }
}

/// `sets; while (…) { n = n + 1; var = var + step; }` with variables of its own.
fn counted(sets: &[Stmt], l: &Loop, step: &Step, n: &Sym, fresh: &mut Names) -> Vec<Stmt> {
    let mut own: BTreeMap<Sym, Sym> = BTreeMap::new();
    for var in modified(sets).0.keys().chain([step.var]) {
        own.entry(var.clone())
            .or_insert_with(|| fresh.numbered(var));
    }
    let mut stmts = sets.to_vec();
    stmts.push(Stmt::Loop(Loop {
        body: vec![step.stmt.clone()],
        ..l.clone()
    }));
    rename_variables(&mut stmts, &own);
    if let Some(Stmt::Loop(l)) = stmts.last_mut() {
        l.body.insert(0, assign(n, plus(number(n), int(1))));
    }
    stmts
}

/// Whether the expression reads any of these variables or arrays.
pub(crate) fn looks_at(e: &Expr, vars: &BTreeSet<Sym>, arrays: &BTreeSet<Sym>) -> bool {
    let mut found = false;
    e.visit(&mut |e| {
        found |= match e {
            Expr::Var(v, _) => vars.contains(v),
            Expr::Load { array, .. } => arrays.contains(array),
            _ => false,
        };
    });
    found
}

fn no_loop(l: &Loop) -> Stuck {
    Stuck {
        what: "the loop does not end with its counter's step".into(),
        line: l.line,
    }
}

fn int(value: i128) -> Expr {
    Expr::int(Rounds::COUNTER, value)
}

fn number(name: &Sym) -> Expr {
    Expr::Var(name.clone(), Rounds::COUNTER)
}

fn plus(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinOp::Add, a, b)
}

fn assign(var: &Sym, value: Expr) -> Stmt {
    Stmt::Assign {
        var: var.clone(),
        ty: Rounds::COUNTER,
        value,
    }
}
