//! Polynomials: `rows*cols + 2*k - 1`, `floordiv(i, 2)`, `max(n - 1, 0)`.

use super::{Cursor, ParseError, whole};
use crate::index::Idx;
use std::str::FromStr;

impl FromStr for Idx {
    type Err = ParseError;

    /// Reads what `Display` writes, and any sum of products, with parentheses.
    fn from_str(text: &str) -> Result<Idx, ParseError> {
        whole(text, Cursor::idx)
    }
}

/// A few factors make a product of any length: `(a + b)*(c + d)*...`. Nobody's sizes come near to this.
const MAX_TERMS: usize = 4096;

impl Cursor<'_> {
    pub(crate) fn idx(&mut self) -> Result<Idx, ParseError> {
        self.nested(|c| {
            let mut sum = c.product()?;
            loop {
                if c.eat("+") {
                    sum = &sum + &c.product()?;
                } else if c.eat("-") {
                    sum = &sum - &c.product()?;
                } else {
                    return Ok(sum);
                }
            }
        })
    }

    fn product(&mut self) -> Result<Idx, ParseError> {
        let mut product = self.factor()?;
        while self.eat("*") {
            let factor = self.factor()?;
            if product.terms().count() * factor.terms().count() > MAX_TERMS {
                return Err(self.error("this is too long when it is multiplied out"));
            }
            product = &product * &factor;
        }
        Ok(product)
    }

    fn factor(&mut self) -> Result<Idx, ParseError> {
        if self.eat("-") {
            return self.nested(|c| Ok(-&c.factor()?));
        }
        if self.eat("(") {
            let inner = self.idx()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Ok(Idx::constant(self.integer("an index constant")?));
        }
        let here = self.here();
        let Some(name) = self.name() else {
            return Err(self.expected("a size, a number, '-' or '('"));
        };
        if self.peek() != Some('(') {
            return Ok(Idx::sym(name));
        }
        if name == "value" {
            self.expect("(")?;
            let e = self.elem()?;
            self.expect(")")?;
            if e.ty().is_float() {
                let message = format!("value(…) takes an integer, and this is {}", e.ty());
                return Err(self.error_at(here, message));
            }
            return Ok(Idx::value(e));
        }
        let make: fn(&Idx, &Idx) -> Idx = match name {
            "floordiv" => Idx::floor_div,
            "mod" => Idx::modulo,
            "max" => Idx::maximum,
            "min" => Idx::minimum,
            _ => {
                let message = format!(
                    "'{name}' is not a function of indices; there are floordiv, mod, max, min, value"
                );
                return Err(self.error_at(here, message));
            }
        };
        self.expect("(")?;
        let a = self.idx()?;
        self.expect(",")?;
        let b = self.idx()?;
        self.expect(")")?;
        Ok(make(&a, &b))
    }

    /// A dimension of a shape: a lone name or number, or anything in parentheses.
    pub(crate) fn extent_of_dimension(&mut self) -> Result<Idx, ParseError> {
        if self.eat("(") {
            let inner = self.idx()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Ok(Idx::constant(self.integer("an extent")?));
        }
        match self.name() {
            Some(name) => Ok(Idx::sym(name)),
            None => Err(self.expected("a size, a number, '(' or an element type")),
        }
    }
}

/// Whether `idx` can stand in a shape without parentheses.
pub(crate) fn is_plain(idx: &Idx) -> bool {
    idx.as_sym().is_some() || idx.as_constant().is_some_and(|c| c >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn reads(text: &str, display: &str) {
        let idx: Idx = text.parse().unwrap();
        assert_eq!(idx.to_string(), display);
        assert_eq!(display.parse::<Idx>().unwrap(), idx);
    }

    #[test]
    fn people_write_it_in_many_ways() {
        reads("rows*cols + 2*k - 1", "cols*rows + 2*k - 1");
        reads(" ( i + 1 ) * ( i - 1 ) // square", "i*i - 1");
        reads("-(n - 1)", "-n + 1");
        reads("2 * -3", "-6");
        reads("#0*n + #1", "#0*n + #1");
        reads(
            "floordiv(k'2, n) + mod(k'2, n)",
            "floordiv(k'2, n) + mod(k'2, n)",
        );
        reads("max(n, 0)*min(m, 4)", "max(0, n)*min(4, m)");
        reads("max + mod*n", "mod*n + max");
        assert!("".parse::<Idx>().is_err());
    }

    #[test]
    fn errors_say_where() {
        let e = "n +\n  *2".parse::<Idx>().unwrap_err();
        assert_eq!((e.line, e.column), (2, 3));
        assert!(e.message.contains("found '*'"), "{e}");
        assert!("n m".parse::<Idx>().is_err());
        assert!(
            "foo(n, m)"
                .parse::<Idx>()
                .unwrap_err()
                .message
                .contains("foo")
        );
        assert!("value(x[0])".parse::<Idx>().is_err());
        assert!("9".repeat(60).parse::<Idx>().is_err());
        assert!("(".repeat(100_000).parse::<Idx>().is_err());
        assert!("-".repeat(100_000).parse::<Idx>().is_err());
        let factors: Vec<String> = (0..60).map(|n| format!("(a{n} + b{n})")).collect();
        let message = factors.join("*").parse::<Idx>().unwrap_err().message;
        assert!(message.contains("multiplied out"), "{message}");
    }

    /// An expression as written, with its value computed from the definition of each operation.
    #[derive(Clone, Debug)]
    enum Tree {
        Constant(i128),
        Sym(&'static str),
        Op(&'static str, Box<Tree>, Box<Tree>),
    }

    impl Tree {
        fn idx(&self) -> Idx {
            match self {
                Tree::Constant(c) => Idx::constant(*c),
                Tree::Sym(s) => Idx::sym(*s),
                Tree::Op(op, a, b) => {
                    let (a, b) = (&a.idx(), &b.idx());
                    match *op {
                        "+" => a + b,
                        "-" => a - b,
                        "*" => a * b,
                        "floordiv" => a.floor_div(b),
                        "mod" => a.modulo(b),
                        "max" => a.maximum(b),
                        _ => a.minimum(b),
                    }
                }
            }
        }

        fn value(&self, sym: &dyn Fn(&str) -> i128) -> i128 {
            match self {
                Tree::Constant(c) => *c,
                Tree::Sym(s) => sym(s),
                Tree::Op(op, a, b) => {
                    let (a, b) = (a.value(sym), b.value(sym));
                    let floor = |b| (a as f64 / b as f64).floor() as i128;
                    match *op {
                        "+" => a + b,
                        "-" => a - b,
                        "*" => a * b,
                        "floordiv" if b == 0 => 0,
                        "floordiv" => floor(b),
                        "mod" if b == 0 => a,
                        "mod" => a - b * floor(b),
                        "max" => a.max(b),
                        _ => a.min(b),
                    }
                }
            }
        }
    }

    fn any_tree() -> impl Strategy<Value = Tree> {
        let ops = ["+", "-", "*", "floordiv", "mod", "max", "min"];
        let leaf = prop_oneof![
            (-9i128..9).prop_map(Tree::Constant),
            prop::sample::select(vec!["n", "rows", "k'1", "#0", "#1"]).prop_map(Tree::Sym),
        ];
        leaf.prop_recursive(4, 24, 2, move |inner| {
            (prop::sample::select(ops.to_vec()), inner.clone(), inner)
                .prop_map(|(op, a, b)| Tree::Op(op, Box::new(a), Box::new(b)))
        })
    }

    proptest! {
        #[test]
        fn text_reads_back(tree in any_tree()) {
            let idx = tree.idx();
            let text = idx.to_string();
            prop_assert_eq!(text.parse::<Idx>().unwrap(), idx, "{}", text);
        }

        #[test]
        fn simplification_keeps_the_value(
            tree in any_tree(), n in -4i128..5, r in -4i128..5, k in -4i128..5, d in -4i128..5,
        ) {
            let value = |s: &str| match s { "n" => n, "rows" => r, "k'1" => k, _ => d };
            let idx = tree.idx();
            let expected = Some(tree.value(&value));
            prop_assert_eq!(idx.eval_sizes(&|s| Some(value(s))), expected, "{}", idx);
            let substituted = idx.substitute(&|s| Some(Idx::constant(value(s))));
            prop_assert_eq!(substituted.as_constant(), expected, "{}", idx);
        }
    }
}
