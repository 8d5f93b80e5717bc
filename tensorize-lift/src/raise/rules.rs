//! Equations between elementwise operators, one a line. All hold bit for bit (up to the payload of a
//! NaN): what is true of real numbers only has no place here.

use super::lang::{Facts, Graph, Term};
use super::reduction::identity;
use egg::{Id, Pattern, Rewrite, Subst, Var};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Reducer;

/// When an equation holds.
#[derive(Clone, Copy)]
enum If {
    Always,
    /// The operand is of an integer type, and no truth value.
    Int(&'static str),
    /// The operand is this literal.
    Truth(&'static str, bool),
    /// The operand is `e`, with `x ∘ e = x` for every `x`.
    Neutral(&'static str, BinOp),
    /// The operand is this integer, of whichever type; `+0.0`, `1.0` for floats.
    Equals(&'static str, i128),
    /// The operand is this integer.
    IntEquals(&'static str, i128),
}

use If::*;

#[rustfmt::skip]
const EQUATIONS: &[(&str, &str, If)] = &[
    // a < b ? a : b = min(a, b); on floats, NaN and the sign of zero tell them apart.
    ("(select (compare.LT ?a ?b) ?a ?b)", "(minimum ?a ?b)", Int("?a")),
    ("(select (compare.LE ?a ?b) ?a ?b)", "(minimum ?a ?b)", Int("?a")),
    ("(select (compare.GT ?a ?b) ?b ?a)", "(minimum ?a ?b)", Int("?a")),
    ("(select (compare.GE ?a ?b) ?b ?a)", "(minimum ?a ?b)", Int("?a")),
    // a > b ? a : b = max(a, b)
    ("(select (compare.GT ?a ?b) ?a ?b)", "(maximum ?a ?b)", Int("?a")),
    ("(select (compare.GE ?a ?b) ?a ?b)", "(maximum ?a ?b)", Int("?a")),
    ("(select (compare.LT ?a ?b) ?b ?a)", "(maximum ?a ?b)", Int("?a")),
    ("(select (compare.LE ?a ?b) ?b ?a)", "(maximum ?a ?b)", Int("?a")),
    // a < 0 ? -a : a = |a|; -0.0 is not below zero and would keep its sign.
    ("(select (compare.LT ?a ?z) (negate ?a) ?a)", "(abs ?a)", IntEquals("?z", 0)),
    ("(select (compare.LE ?a ?z) (negate ?a) ?a)", "(abs ?a)", IntEquals("?z", 0)),
    ("(select (compare.GT ?a ?z) ?a (negate ?a))", "(abs ?a)", IntEquals("?z", 0)),
    ("(select (compare.GE ?a ?z) ?a (negate ?a))", "(abs ?a)", IntEquals("?z", 0)),
    // !p ? a : b = p ? b : a
    ("(select (not ?p) ?a ?b)", "(select ?p ?b ?a)", Always),
    // p ? a : a = a
    ("(select ?p ?a ?a)", "?a", Always),
    // p ? true : q = p || q;  p ? q : false = p && q
    ("(select ?p ?q ?r)", "(or ?p ?r)", Truth("?q", true)),
    ("(select ?p ?q ?r)", "(and ?p ?q)", Truth("?r", false)),
    // !(a < b) = a >= b, on integers; equality negates on floats too.
    ("(not (compare.LT ?a ?b))", "(compare.GE ?a ?b)", Int("?a")),
    ("(not (compare.LE ?a ?b))", "(compare.GT ?a ?b)", Int("?a")),
    ("(not (compare.GT ?a ?b))", "(compare.LE ?a ?b)", Int("?a")),
    ("(not (compare.GE ?a ?b))", "(compare.LT ?a ?b)", Int("?a")),
    ("(not (compare.EQ ?a ?b))", "(compare.NE ?a ?b)", Always),
    ("(not (compare.NE ?a ?b))", "(compare.EQ ?a ?b)", Always),
    // --a = a; a + -b = a - b
    ("(not (not ?a))", "?a", Always),
    ("(negate (negate ?a))", "?a", Always),
    ("(add ?a (negate ?b))", "(subtract ?a ?b)", Always),
    ("(subtract ?a (negate ?b))", "(add ?a ?b)", Always),
    ("(subtract ?z ?a)", "(negate ?a)", IntEquals("?z", 0)),
    // a + 0 = a; for floats it is a + -0.0 = a.
    ("(add ?a ?e)", "?a", Neutral("?e", BinOp::Add)),
    ("(add ?e ?a)", "?a", Neutral("?e", BinOp::Add)),
    ("(subtract ?a ?e)", "?a", Equals("?e", 0)),
    // a * 1 = a; a / 1 = a; a * 0 = 0
    ("(multiply ?a ?e)", "?a", Neutral("?e", BinOp::Multiply)),
    ("(multiply ?e ?a)", "?a", Neutral("?e", BinOp::Multiply)),
    ("(divide ?a ?e)", "?a", Equals("?e", 1)),
    ("(multiply ?a ?z)", "?z", IntEquals("?z", 0)),
    ("(multiply ?z ?a)", "?z", IntEquals("?z", 0)),
    // Bits and lattices.
    ("(and ?a ?e)", "?a", Neutral("?e", BinOp::And)),
    ("(and ?e ?a)", "?a", Neutral("?e", BinOp::And)),
    ("(or ?a ?e)", "?a", Neutral("?e", BinOp::Or)),
    ("(or ?e ?a)", "?a", Neutral("?e", BinOp::Or)),
    ("(xor ?a ?e)", "?a", Neutral("?e", BinOp::Xor)),
    ("(and ?a ?a)", "?a", Always),
    ("(or ?a ?a)", "?a", Always),
    ("(maximum ?a ?a)", "?a", Always),
    ("(minimum ?a ?a)", "?a", Always),
    ("(maximum ?a ?e)", "?a", Neutral("?e", BinOp::Maximum)),
    ("(minimum ?a ?e)", "?a", Neutral("?e", BinOp::Minimum)),
    ("(shift_left ?a ?z)", "?a", IntEquals("?z", 0)),
    ("(shift_right_logical ?a ?z)", "?a", IntEquals("?z", 0)),
    ("(shift_right_arithmetic ?a ?z)", "?a", IntEquals("?z", 0)),
];

/// What is known of a class: its element type, and its value if it is a literal.
type Known = (ScalarType, Option<Scalar>);

impl If {
    /// Whether it holds, where `known` tells a variable's type, and its value if that is fixed.
    fn holds(self, known: &dyn Fn(&str) -> Option<Known>) -> bool {
        let value = |var| known(var).and_then(|(_, v)| v);
        match self {
            Always => true,
            Int(a) => known(a).is_some_and(|(ty, _)| ty.is_int() && ty != ScalarType::I1),
            Truth(a, b) => value(a) == Some(Scalar::bool(b)),
            Neutral(e, op) => value(e).is_some_and(|v| identity(Reducer::Op(op), v.ty) == Some(v)),
            Equals(e, n) => value(e).is_some_and(|v| v == Scalar::int(v.ty, n)),
            IntEquals(e, n) => {
                value(e).is_some_and(|v| v.ty != ScalarType::I1 && v.ty.is_int() && v.as_int() == n)
            }
        }
    }
}

/// The equations as egg's rules.
///
/// # Panics
/// If an equation is not well written. A test compiles them all.
pub fn elementwise() -> Vec<Rewrite<Term, Facts>> {
    let compile = |(lhs, rhs, when): &(&str, &str, If)| {
        let pattern = |text: &str| -> Pattern<Term> {
            text.parse()
                .unwrap_or_else(|e| panic!("rule '{text}': {e}"))
        };
        let name = format!("{lhs} = {rhs}");
        let when = *when;
        let applier = egg::ConditionalApplier {
            condition: move |g: &mut Graph, _: Id, s: &Subst| {
                when.holds(&|var| {
                    let var: Var = var.parse().ok()?;
                    let known = &g[*s.get(var)?].data;
                    Some((known.ty.elem, known.splat))
                })
            },
            applier: pattern(rhs),
        };
        Rewrite::new(name.clone(), pattern(lhs), applier)
            .unwrap_or_else(|e| panic!("rule '{name}': {e}"))
    };
    EQUATIONS.iter().map(compile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use egg::{ENodeOrVar, RecExpr};
    use std::collections::BTreeMap;
    use tensorize_ir::inputs::{edge_values, small_values};
    use tensorize_ir::op;
    use tensorize_ir::tensir::Op;

    type Values = BTreeMap<Var, Scalar>;

    /// The value of a pattern; nothing if it has no meaning at these types.
    fn eval(pattern: &RecExpr<ENodeOrVar<Term>>, values: &Values) -> Option<Scalar> {
        let mut done: Vec<Scalar> = vec![];
        for node in pattern.as_ref() {
            let v = match node {
                ENodeOrVar::Var(v) => values[v],
                ENodeOrVar::ENode(term) => {
                    let a: Vec<Scalar> = term.args.iter().map(|&i| done[usize::from(i)]).collect();
                    let same = a[a.len() - 1].ty == a[a.len().saturating_sub(2)].ty;
                    match &term.op {
                        Op::Unary(op) if op.accepts(a[0].ty) => op::eval_unary(*op, a[0]),
                        Op::Binary(op) if same && op.accepts(a[0].ty) => {
                            op::eval_binary(*op, a[0], a[1])
                        }
                        Op::Compare(op) if same => Scalar::bool(op::eval_compare(*op, a[0], a[1])),
                        Op::Select if same && a[0].ty == ScalarType::I1 => {
                            if a[0].is_true() {
                                a[1]
                            } else {
                                a[2]
                            }
                        }
                        _ => return None,
                    }
                }
            };
            done.push(v);
        }
        done.last().copied()
    }

    /// Calls `f` with every way to give the variables values of interest.
    fn each_value(vars: &[Var], values: &mut Values, f: &mut dyn FnMut(&Values)) {
        let Some((first, rest)) = vars.split_first() else {
            return f(values);
        };
        for ty in ScalarType::ALL {
            // Two types are all that any rule has: truth values and another one.
            let other = values
                .values()
                .any(|v| v.ty != ty && v.ty != ScalarType::I1);
            if ty != ScalarType::I1 && other {
                continue;
            }
            let mut all = edge_values(ty);
            all.truncate(14);
            all.extend(small_values(ty).into_iter().take(4));
            all.extend([0, 1, -1].map(|n| Scalar::int(ty, n)));
            if ty.is_float() {
                let negated = |v: Scalar| op::eval_unary(op::UnOp::Negate, v);
                all.extend([negated(Scalar::zero(ty)), Scalar::zero(ty)]);
            }
            for v in all {
                values.insert(*first, v);
                each_value(rest, values, f);
            }
            values.remove(first);
        }
    }

    #[test]
    fn every_equation_holds_on_the_edges_of_every_type() {
        for (lhs, rhs, when) in EQUATIONS {
            let [l, r] = [lhs, rhs].map(|t| t.parse::<Pattern<Term>>().unwrap());
            let mut checked = 0;
            each_value(&l.ast.vars_of(), &mut Values::new(), &mut |values| {
                let known = |var: &str| values.get(&var.parse().ok()?).map(|v| (v.ty, Some(*v)));
                let Some(a) = eval(&l.ast, values).filter(|_| when.holds(&known)) else {
                    return;
                };
                let b = eval(&r.ast, values);
                assert!(
                    b.is_some_and(|b| a.same(b)),
                    "{lhs} = {a}, {rhs} = {b:?}: {values:?}"
                );
                checked += 1;
            });
            assert!(checked > 1, "{lhs}: the condition never holds");
        }
    }

    trait VarsOf {
        fn vars_of(&self) -> Vec<Var>;
    }

    impl VarsOf for RecExpr<ENodeOrVar<Term>> {
        fn vars_of(&self) -> Vec<Var> {
            let mut vars = vec![];
            for node in self.as_ref() {
                match node {
                    ENodeOrVar::Var(v) if !vars.contains(v) => vars.push(*v),
                    _ => {}
                }
            }
            vars
        }
    }
}
