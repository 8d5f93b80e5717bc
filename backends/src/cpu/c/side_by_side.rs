//! Rounds of a parallel loop side by side, where each accumulates in a loop of its own (the rows of a matrix, times a vector).
//!
//! What such rounds read in common is loaded once for all of them, and no addition waits for the one before. The prover has
//! shown of every parallel loop that its rounds are independent, so that they may run together.

use super::scope::{self, Node, Place};
use super::walk::{assigned_in, calls_library, count_nodes, counted};
use super::{Printer, Text};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Loop, LoopMode};
use tensorize_ir::op::BinOp;

/// So many rounds at a time: their accumulators, and what they read, are in registers.
const TOGETHER: usize = 8;

/// A round: statements, a loop that accumulates, statements.
struct Round<'n, 'a> {
    /// The counter of the rounds.
    counter: &'a Sym,
    before: &'n [Node<'a>],
    accumulates: &'n Node<'a>,
    inner: &'a Loop,
    inner_body: &'n [Node<'a>],
    reductions: &'a [(BinOp, Sym)],
    after: &'n [Node<'a>],
    /// What each round assigns, but for the loops' counters.
    own: BTreeSet<Sym>,
}

impl Printer<'_> {
    /// If the rounds of `node` are such: a loop that does several of them at a time from `begin` on, and leaves `begin` where
    /// the rest are to go on.
    pub(super) fn side_by_side(&mut self, node: &Node, number: usize, out: &mut Text) {
        let Some(round) = self.accumulating_round(node, number) else {
            return;
        };
        let usual = self.expr.names.clone();
        let mut names: Vec<Vec<(Sym, String)>> = Vec::new();
        for nth in 0..TOGETHER {
            let place = match nth {
                0 => "begin".to_owned(),
                _ => format!("(begin + {nth})"),
            };
            let mut of_round = vec![(round.counter.clone(), place)];
            for v in &round.own {
                let name = match nth {
                    0 => usual[v].clone(),
                    _ => self.names.fresh(&format!("{}_{nth}", usual[v])),
                };
                of_round.push((v.clone(), name));
            }
            names.push(of_round);
        }
        let each = |p: &mut Self, print: &mut dyn FnMut(&mut Self)| {
            for of_round in &names {
                p.expr.names.extend(of_round.iter().cloned());
                print(p);
            }
        };

        let inner_number = number + 1 + round.before.len();
        let mut clauses = Some(String::new());
        each(self, &mut |p| {
            let own = p.reduction_clauses(round.reductions, &round.inner.body);
            clauses = clauses.take().zip(own).map(|(all, own)| all + &own);
        });
        let Some(clauses) = clauses else {
            self.expr.names = usual;
            return;
        };
        let length = self.vector_length(round.reductions, &round.inner.body);
        out.line(&format!(
            "for (; end - begin >= {TOGETHER}; begin += {TOGETHER}) {{"
        ));
        each(self, &mut |p| {
            p.next = number + 1;
            p.nested(round.before, out);
        });
        out.depth += 1;
        out.line(&format!("TZ_PRAGMA(omp simd{clauses}{length})"));
        let head = self.head(round.accumulates, inner_number, None);
        out.line(&head);
        each(self, &mut |p| {
            p.next = inner_number + 1;
            p.nested(round.inner_body, out);
        });
        out.line("}");
        out.depth -= 1;
        each(self, &mut |p| {
            p.next = inner_number + 1 + count_nodes(round.inner_body);
            p.nested(round.after, out);
        });
        out.line("}");
        self.expr.names = usual;
        self.next = number + 1;
    }

    fn accumulating_round<'n, 'a>(
        &self,
        node: &'n Node<'a>,
        number: usize,
    ) -> Option<Round<'n, 'a>> {
        let Node::For {
            var, looped, body, ..
        } = node
        else {
            return None;
        };
        let is_plain = |n: &Node| matches!(n, Node::Plain(_));
        let at = body.iter().position(|n| !is_plain(n))?;
        let Node::For {
            var: counter,
            looped: inner,
            body: inner_body,
            ..
        } = &body[at]
        else {
            return None;
        };
        let LoopMode::Simd { reductions } = &inner.mode else {
            return None;
        };
        let mut assigned = Vec::new();
        assigned_in(&looped.body, &mut assigned);
        let counters = [*var, *counter];
        assigned.retain(|v| !counters.contains(v));
        let round = Round {
            counter: var,
            before: &body[..at],
            accumulates: &body[at],
            inner,
            inner_body,
            reductions,
            after: &body[at + 1..],
            own: assigned.into_iter().cloned().collect(),
        };
        let of_floats = |acc: &Sym| self.types.get(acc).is_some_and(|t| t.is_float());
        let mut all_alike = true;
        scope::for_each_var(counted(&body[at])?, &mut |v, _| {
            all_alike &= v != *var && !round.own.contains(v);
        });
        let inner_number = number + 1 + at;
        let declared = self.places.get(*counter) == Some(&Place::At(inner_number))
            && !(self.places.values()).any(|p| *p == Place::Before(inner_number));
        let of_library = [looped, inner].iter().any(|l| self.product(l.id).is_some());
        (round.after.iter().chain(round.inner_body).all(is_plain)
            && all_alike
            && declared
            && !of_library
            && matches!(reductions.as_slice(), [(_, acc)] if of_floats(acc))
            && !calls_library(&inner.body))
        .then_some(round)
    }
}
