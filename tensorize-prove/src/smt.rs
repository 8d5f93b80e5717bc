//! Printing indices as SMT-LIB, in linear integer arithmetic.
//!
//! A product of variables becomes an integer of its own name, so that the solver never meets nonlinear
//! arithmetic. What it has to know about a product is given as *instances* of the lemmas below, each of
//! which is a theorem about all integers (`tests/lemmas.rs` has the solver prove every one).

use crate::canon;
use crate::context::has_many_terms;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::element::Elem;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::CmpOp;

/// `x ≥ 0 ∧ y ≥ 0 ⇒ x·y ≥ 0`
pub const PRODUCT_NON_NEGATIVE: &str = "(=> (and (>= X 0) (>= Y 0)) (>= XY 0))";
/// `x = 0 ⇒ x·y = 0`
pub const PRODUCT_OF_ZERO: &str = "(=> (= X 0) (= XY 0))";
/// `x ≥ 1 ∧ y ≥ 0 ⇒ x·y ≥ y`
pub const PRODUCT_GROWS: &str = "(=> (and (>= X 1) (>= Y 0)) (>= XY Y))";
/// `c ≥ 0 ∧ x ≥ y ⇒ c·x ≥ c·y`
pub const PRODUCT_MONOTONE: &str = "(=> (and (>= C 0) (>= X Y)) (>= CX CY))";
/// `c ≥ 0 ∧ x ≥ y + 1 ⇒ c·x ≥ c·y + c`
pub const PRODUCT_STEPS: &str = "(=> (and (>= C 0) (>= X (+ Y 1))) (>= CX (+ CY C)))";
/// `q = ⌊e / c⌋ ∧ c ≥ 1 ⇒ c·q ≤ e < c·q + c`
pub const FLOOR_DIVISION: &str = "(=> (>= C 1) (and (<= CQ E) (< E (+ CQ C))))";
/// `q = ⌊e / c⌋ ∧ c ≥ 1 ⇒ (e ≥ 0 ⇔ q ≥ 0)`
pub const FLOOR_SIGN: &str = "(=> (>= C 1) (= (>= E 0) (>= Q 0)))";

/// All of them, with their names.
pub const LEMMAS: [(&str, &str); 7] = [
    ("product-non-negative", PRODUCT_NON_NEGATIVE),
    ("product-of-zero", PRODUCT_OF_ZERO),
    ("product-grows", PRODUCT_GROWS),
    ("product-monotone", PRODUCT_MONOTONE),
    ("product-steps", PRODUCT_STEPS),
    ("floor-division", FLOOR_DIVISION),
    ("floor-sign", FLOOR_SIGN),
];

/// A script that is unsatisfiable if the lemma is a theorem: its names stand for real products here.
pub fn theorem(lemma: &str) -> String {
    let mut script = String::new();
    for name in ["X", "Y", "C", "E"] {
        script.push_str(&format!("(declare-const {name} Int)\n"));
    }
    for (name, meaning) in [
        ("XY", "(* X Y)"),
        ("CX", "(* C X)"),
        ("CY", "(* C Y)"),
        ("Q", "(div E C)"),
        ("CQ", "(* C (div E C))"),
    ] {
        script.push_str(&format!("(define-fun {name} () Int {meaning})\n"));
    }
    script + &format!("(assert (not {lemma}))")
}

/// Declarations and lemma instances that a formula needs.
#[derive(Clone, Default)]
pub struct Encoder {
    decls: BTreeMap<String, String>,
    lemmas: BTreeSet<String>,
    products: BTreeMap<String, (Idx, Idx)>,
    /// Sums that something is divided by, with the quotients.
    divisors: Vec<(Idx, Idx)>,
    /// What was compared to 0.
    compared: Vec<Idx>,
    /// Variables that occur, for their ranges.
    pub syms: BTreeSet<Sym>,
    /// Opaque integers that occur, with their SMT name.
    pub values: BTreeMap<String, Elem>,
}

/// An SMT-LIB symbol with this text. A variable in C may have the name of an operator or of a keyword, `as` or `xor`, and
/// bars around it leave it what it is.
pub fn quoted(name: &str) -> String {
    format!("|${}|", name.replace(['|', '\\'], "!"))
}

fn number(n: i128) -> String {
    if n < 0 {
        format!("(- {})", n.unsigned_abs())
    } else {
        n.to_string()
    }
}

impl Encoder {
    /// Declares a constant and gives its symbol.
    pub fn constant(&mut self, name: &str, sort: &str) -> String {
        let symbol = quoted(name);
        self.decls
            .insert(symbol.clone(), format!("(declare-const {symbol} {sort})"));
        symbol
    }

    /// Declares a function and gives its symbol.
    pub fn function(&mut self, name: &str, args: &str, sort: &str) -> String {
        let symbol = quoted(name);
        self.decls.insert(
            symbol.clone(),
            format!("(declare-fun {symbol} ({args}) {sort})"),
        );
        symbol
    }

    /// Declares a sort.
    pub fn sort(&mut self, name: &str) -> String {
        // Sorts have to come before what uses them: the space sorts first.
        self.decls
            .insert(format!(" {name}"), format!("(declare-sort {name} 0)"));
        name.to_string()
    }

    /// All declarations so far.
    pub fn declarations(&self) -> String {
        self.decls.values().map(|d| format!("{d}\n")).collect()
    }

    /// The lemma instances for everything encoded so far.
    pub fn take_lemmas(&mut self) -> BTreeSet<String> {
        // Each pair of products with a common factor: monotony, both ways.
        let products = self.products.clone();
        let products: Vec<_> = products
            .iter()
            .map(|(name, (a, b))| (&**name, [a, b], [self.linear(a), self.linear(b)]))
            .collect();
        let mut instances = BTreeSet::new();
        for (i, (m, p, p_text)) in products.iter().enumerate() {
            for (n, q, q_text) in &products[..i] {
                for (own, its) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    if p[own] != q[its] {
                        continue;
                    }
                    let f = &*p_text[own];
                    let (x, y) = (&*p_text[1 - own], &*q_text[1 - its]);
                    for lemma in [PRODUCT_MONOTONE, PRODUCT_STEPS] {
                        for (cx, x, cy, y) in [(*m, x, *n, y), (*n, y, *m, x)] {
                            let terms = [("CX", cx), ("CY", cy), ("C", f), ("X", x), ("Y", y)];
                            instances.insert(instantiate(lemma, &terms));
                        }
                    }
                }
            }
        }
        self.lemmas.extend(instances);
        self.multiples_of_divisors();
        self.multiples_of_sums();
        std::mem::take(&mut self.lemmas)
    }

    /// Of `k < (w + 2p)·h`, multiplied out, the solver is told that `⌊k / (w + 2p)⌋` is to be compared with `h`.
    fn multiples_of_divisors(&mut self) {
        for (divisor, quotient) in std::mem::take(&mut self.divisors) {
            for p in self.compared.clone() {
                let (times, _) = crate::decode::divide(&p, &divisor);
                if times.is_zero() {
                    continue;
                }
                for times in [times.clone(), -&times] {
                    let products = [&quotient, &times].map(|x| canon::idx(&(x * &divisor)));
                    let [cq, ct] = products.map(|p| self.linear(&p));
                    let [c, q, t] = [&divisor, &quotient, &times].map(|p| self.linear(p));
                    for lemma in [PRODUCT_MONOTONE, PRODUCT_STEPS] {
                        for (cx, x, cy, y) in [(&cq, &q, &ct, &t), (&ct, &t, &cq, &q)] {
                            let terms = [("CX", &**cx), ("X", x), ("CY", cy), ("Y", y), ("C", &c)];
                            self.lemmas.insert(instantiate(lemma, &terms));
                        }
                    }
                }
            }
        }
    }

    /// `a op b`.
    pub fn compare(&mut self, op: CmpOp, a: &Idx, b: &Idx) -> String {
        let difference = canon::idx(&(a - b));
        self.multiples(&difference);
        self.compared.push(difference.clone());
        let difference = self.linear(&difference);
        let relation = match op {
            CmpOp::Eq => "=",
            CmpOp::Ne => return format!("(not (= {difference} 0))"),
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        };
        format!("({relation} {difference} 0)")
    }

    /// Of `w·h - 2·w·y - w`, the solver sees three unknowns; that it is `w` times something, and so no less than `w` or no
    /// more than `-w`, it is told by the lemmas about products. (Those about pairs of products say so of `w·h - w·y`.)
    fn multiples(&mut self, p: &Idx) {
        // Also of `w·h - w·y - w - x`, where `y` is two rows before the last, and of `w·h - w·y + w·p - x`.
        let pairs = || p.terms().filter(|(m, _)| m.len() == 2);
        let alone = |atom: &Atom| p.terms().any(|(m, _)| m == std::slice::from_ref(atom));
        let often = |atom: &Atom| pairs().filter(|(m, _)| m.contains(atom)).count() > 2;
        let atoms: BTreeSet<&Atom> = pairs()
            .flat_map(|(m, c)| m.iter().map(move |a| (a, c)))
            .filter(|(a, c)| c.abs() > 1 || alone(a) || often(a))
            .map(|(a, _)| a)
            .collect();
        let atoms: Vec<Idx> = atoms.into_iter().cloned().map(Idx::atom).collect();
        for atom in atoms {
            self.multiple(p, &atom);
        }
    }

    /// Tells the solver that what the factor is multiplied with in `p`, if it is positive, makes a product no less than it.
    fn multiple(&mut self, p: &Idx, factor: &Idx) {
        let (times, _) = crate::decode::divide(p, factor);
        if times.terms().count() < 2 {
            return;
        }
        let factor_text = self.linear(factor);
        for times in [&times, &-&times] {
            let product = self.linear(&canon::idx(&(times * factor)));
            let times = self.linear(times);
            let terms = [("XY", &*product), ("X", &times), ("Y", &factor_text)];
            for lemma in [PRODUCT_NON_NEGATIVE, PRODUCT_GROWS] {
                self.lemmas.insert(instantiate(lemma, &terms));
            }
        }
    }

    /// Of `(w + 2p)·y + x`, multiplied out, where `x < w + 2p`, the same as of `w·y + x` where `x < w`.
    fn multiples_of_sums(&mut self) {
        let compared: BTreeSet<Idx> = std::mem::take(&mut self.compared).into_iter().collect();
        let mut sums = BTreeSet::new();
        for p in &compared {
            let counters = p.terms().filter_map(|(m, c)| match m {
                [Atom::Sym(s)] if c == -1 => Some(s),
                _ => None,
            });
            for counter in counters {
                let sum = &(p + &Idx::sym(counter.clone())) + &Idx::constant(1);
                let short = (2..=4).contains(&sum.terms().count());
                if short && sum.terms().all(|(m, _)| m.len() <= 1) {
                    sums.insert(sum);
                }
            }
        }
        for sum in &sums {
            for p in compared.iter().filter(|p| !has_many_terms(p)) {
                self.multiple(p, sum);
            }
        }
    }

    /// The polynomial as a linear term.
    pub fn linear(&mut self, idx: &Idx) -> String {
        let mut sum = Vec::new();
        for (monomial, c) in idx.terms() {
            if monomial.is_empty() {
                sum.push(number(c));
                continue;
            }
            let product = self.product(monomial);
            sum.push(if c == 1 {
                product
            } else {
                format!("(* {} {product})", number(c))
            });
        }
        match sum.len() {
            0 => "0".into(),
            1 => sum.remove(0),
            _ => format!("(+ {})", sum.join(" ")),
        }
    }

    fn product(&mut self, monomial: &[Atom]) -> String {
        let Some((first, rest)) = monomial.split_first() else {
            return "1".into();
        };
        // Products that are there or not are as a choice: what is there stays linear.
        let (there, positive) = Idx::from_terms([(monomial.to_vec(), 1)]).without_indicators();
        if !positive.is_empty() {
            let positive: Vec<String> = positive.iter().map(|p| self.linear(p)).collect();
            let all: Vec<String> = positive.iter().map(|p| format!("(>= {p} 1)")).collect();
            let there = self.linear(&there);
            return format!("(ite (and {}) {there} 0)", all.join(" "));
        }
        if rest.is_empty() {
            return self.atom(first);
        }
        let text: Vec<String> = monomial.iter().map(Atom::to_string).collect();
        let symbol = self.constant(&text.join("*"), "Int");
        if !self.products.contains_key(&symbol) {
            let (a, b) = (
                Idx::atom(first.clone()),
                Idx::from_terms([(rest.to_vec(), 1)]),
            );
            self.products.insert(symbol.clone(), (a.clone(), b.clone()));
            let (x, y) = (self.linear(&a), self.linear(&b));
            for (x, y) in [(&x, &y), (&y, &x)] {
                for lemma in [PRODUCT_NON_NEGATIVE, PRODUCT_OF_ZERO, PRODUCT_GROWS] {
                    self.lemmas
                        .insert(instantiate(lemma, &[("XY", &symbol), ("X", x), ("Y", y)]));
                }
            }
        }
        symbol
    }

    fn atom(&mut self, atom: &Atom) -> String {
        match atom {
            Atom::Sym(s) => {
                self.syms.insert(s.clone());
                self.constant(s, "Int")
            }
            Atom::Value(e) => {
                let e = canon::elem(e);
                let symbol = self.constant(&format!("value {e}"), "Int");
                self.values.insert(symbol.clone(), (*e).clone());
                symbol
            }
            Atom::Max(a, b) | Atom::Min(a, b) => {
                let relation = if matches!(atom, Atom::Max(..)) {
                    ">="
                } else {
                    "<="
                };
                let (a, b) = (self.linear(a), self.linear(b));
                format!("(ite ({relation} {a} {b}) {a} {b})")
            }
            Atom::FloorDiv(e, c) => {
                let name = atom.to_string();
                if self.decls.contains_key(&quoted(&name)) {
                    return quoted(&name);
                }
                let symbol = self.constant(&name, "Int");
                let quotient = Idx::atom(atom.clone());
                let cq = self.linear(&(&**c * &quotient));
                if c.terms().count() > 1 {
                    self.divisors.push(((**c).clone(), quotient));
                }
                let (e, c) = (self.linear(e), self.linear(c));
                for lemma in [FLOOR_DIVISION, FLOOR_SIGN] {
                    let terms = [("CQ", &*cq), ("C", &c), ("E", &e), ("Q", &symbol)];
                    self.lemmas.insert(instantiate(lemma, &terms));
                }
                symbol
            }
            // Canonical polynomials have none: `mod(a, c)` is `a - c·⌊a / c⌋`.
            Atom::Mod(a, c) => {
                let idx = &**a - &(&**c * &a.floor_div(c));
                self.linear(&idx)
            }
        }
    }
}

/// Puts terms in the place of a lemma's variables.
fn instantiate(lemma: &str, terms: &[(&str, &str)]) -> String {
    let mut instance = String::with_capacity(8 * lemma.len());
    for piece in lemma.split_inclusive([' ', ')', '(']) {
        let word = piece.trim_end_matches([' ', ')', '(']);
        let term = terms.iter().find(|(name, _)| *name == word);
        instance.push_str(term.map_or(word, |(_, term)| term));
        instance.push_str(&piece[word.len()..]);
    }
    instance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_named_and_explained() {
        let mut e = Encoder::default();
        let n = Idx::sym("n");
        let text = e.compare(CmpOp::Ge, &(&Idx::sym("i") * &n), &n);
        assert_eq!(text, "(>= (+ |$i*n| (* (- 1) |$n|)) 0)");
        let lemmas = e.take_lemmas();
        assert!(
            lemmas.contains("(=> (and (>= |$i| 1) (>= |$n| 0)) (>= |$i*n| |$n|))"),
            "{lemmas:?}"
        );
    }
}
