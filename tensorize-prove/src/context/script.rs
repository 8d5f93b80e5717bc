//! What the solver is told: facts in its own words, the ranges of types, and lemmas.

use super::Context;
use crate::conditions::{encode_condition, is_index_condition};
use crate::going_on::most_rounds;
use crate::ranges;
use crate::smt::{Encoder, quoted};
use crate::solver::Answer;
use std::collections::BTreeSet;
use std::sync::Arc;
use tensorize_ir::element::ElemRef;
use tensorize_ir::index::Idx;

/// How many lists of facts are kept encoded.
pub(super) const KEPT: usize = 16;

/// A list of facts, encoded.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) facts: Vec<ElemRef>,
    pub(super) encoder: Encoder,
    pub(super) assertions: Vec<String>,
}

impl Context<'_> {
    /// Asks the solver whether `formulas`, encoded by `encoder`, can hold here.
    pub fn check(&mut self, encoder: &mut Encoder, formulas: &[String]) -> Answer {
        let facts = self.guard_facts.iter().chain(&self.facts);
        let mut assertions = encode_facts(encoder, facts);
        assertions.extend(formulas.iter().cloned());
        let script = self.script(encoder, &assertions);
        self.solver.check(&script)
    }

    /// What is known here, encoded. Facts come and go at the end of their list, and most of them are those of an earlier question,
    /// so that only what is new is put into words.
    pub(super) fn encoded(&mut self) -> Known {
        let facts = || self.guard_facts.iter().chain(&self.facts);
        let begins = |known: &&Known| {
            let mut here = facts();
            (known.facts.iter()).all(|f| here.next().is_some_and(|g| Arc::ptr_eq(f, g)))
        };
        let longest = self
            .known
            .iter()
            .filter(begins)
            .max_by_key(|known| known.facts.len());
        let mut known = longest.cloned().unwrap_or_default();
        let news: Vec<ElemRef> = facts().skip(known.facts.len()).cloned().collect();
        if news.is_empty() {
            return known;
        }
        let texts = encode_facts(&mut known.encoder, &news);
        known.assertions.extend(texts);
        known.facts.extend(news);
        if self.known.len() == KEPT {
            self.known.remove(0);
        }
        self.known.push(known.clone());
        known
    }

    pub(super) fn script(&mut self, encoder: &mut Encoder, assertions: &[String]) -> String {
        let ranges = self.ranges(encoder);
        let mut lemmas = encoder.take_lemmas();
        // Lemma instances can name new terms; their instances would add nothing new to decide.
        lemmas.extend(encoder.take_lemmas());
        lemmas.extend(self.planted.iter().cloned());
        for lemma in &lemmas {
            self.lemmas_used.insert(lemma.clone());
        }
        let declarations = encoder.declarations();
        self.lemma_declarations.extend(
            declarations
                .lines()
                .filter(|l| l.ends_with(" Int)"))
                .map(str::to_string),
        );
        let mut script = declarations;
        for line in ranges.iter().chain(&lemmas).chain(assertions) {
            script.push_str(&format!("(assert {line})\n"));
        }
        script
    }

    /// Parameters and values read from memory lie within their types, numbers of rounds below what the loop could run.
    fn ranges(&self, encoder: &mut Encoder) -> Vec<String> {
        let rounds: Vec<(String, Idx)> = (encoder.values.iter())
            .filter_map(|(symbol, e)| Some((symbol.clone(), most_rounds(e)?)))
            .collect();
        let mut out = Vec::new();
        for (symbol, most) in rounds {
            let most = encoder.linear(&most);
            out.push(format!("(<= {symbol} {most})"));
            out.push(format!("(or (< {most} 0) (<= 0 {symbol}))"));
        }
        let mut bound = |symbol: &str, (low, high): (i128, i128)| {
            let low = if low < 0 {
                format!("(- {})", low.unsigned_abs())
            } else {
                low.to_string()
            };
            out.push(format!("(<= {low} {symbol} {high})"));
        };
        for s in &encoder.syms {
            if let Some(ty) = self.params.get(s) {
                bound(&quoted(s), (ty.min_value(), ty.max_value()));
            }
        }
        for (symbol, e) in &encoder.values {
            bound(symbol, ranges::of(e));
        }
        out
    }

    /// Shows that what was assumed is not contradictory: the guards, the parameters' ranges and all
    /// lemma instances that were used have a common model. A contradiction would prove everything.
    pub fn assumptions_are_satisfiable(&mut self) -> Answer {
        let mut encoder = Encoder::default();
        // Distinct objects can be had for any sizes, so `Disjoint` adds nothing here.
        // Comparisons of floats are told to no solver, so they contradict nothing: who passes none for which they hold never comes
        // here.
        let mut assertions = encode_facts(&mut encoder, &self.guard_facts);
        assertions.extend(self.ranges(&mut encoder));
        assertions.extend(encoder.take_lemmas());
        assertions.extend(self.lemmas_used.iter().cloned());
        assertions.extend(self.planted.iter().cloned());
        let mut declarations: BTreeSet<String> =
            encoder.declarations().lines().map(str::to_string).collect();
        declarations.extend(self.lemma_declarations.iter().cloned());
        let mut script = String::new();
        for d in declarations {
            script.push_str(&format!("{d}\n"));
        }
        for a in assertions {
            script.push_str(&format!("(assert {a})\n"));
        }
        self.solver.check(&script)
    }
}

/// What the solver is told of facts: those on indices.
fn encode_facts<'a>(
    encoder: &mut Encoder,
    facts: impl IntoIterator<Item = &'a ElemRef>,
) -> Vec<String> {
    let facts = facts.into_iter().filter(|f| is_index_condition(f));
    facts.map(|f| encode_condition(encoder, f)).collect()
}
