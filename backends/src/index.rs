//! Index polynomials as C expressions of type `int64_t`.

use crate::Unsupported;
use tensorize_ir::index::{Atom, Idx, Sym};

/// The polynomial, with parameters under their C names.
pub(crate) fn c_index(idx: &Idx, name: &dyn Fn(&Sym) -> String) -> Result<String, Unsupported> {
    if let Some(n) = idx.nested() {
        let product = format!(
            "({}) * ({})",
            c_index(&n.quotient, name)?,
            c_index(&n.divisor, name)?
        );
        return Ok(if n.rest.is_zero() {
            product
        } else {
            format!("{product} + ({})", c_index(&n.rest, name)?)
        });
    }
    let mut terms: Vec<_> = idx.terms().collect();
    // What is subtracted comes last, so that nothing starts with a minus unless all does.
    terms.sort_by_key(|(monomial, c)| (*c < 0, monomial.is_empty()));
    let mut text = String::new();
    for (monomial, c) in terms {
        let magnitude = i64::try_from(c.unsigned_abs())
            .map_err(|_| Unsupported::new(format!("{c} does not fit an index")))?;
        let mut factors = Vec::new();
        if magnitude != 1 || monomial.is_empty() {
            factors.push(magnitude.to_string());
        }
        for atom in monomial {
            factors.push(c_atom(atom, name)?);
        }
        if factors.len() > 1 || !monomial.is_empty() {
            // The first factor decides in which type C multiplies.
            factors[0] = format!("(int64_t){}", factors[0]);
        }
        let sign = match (text.is_empty(), c < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text += sign;
        text += &factors.join(" * ");
    }
    Ok(if text.is_empty() { "0".into() } else { text })
}

fn c_atom(atom: &Atom, name: &dyn Fn(&Sym) -> String) -> Result<String, Unsupported> {
    let choice = |a: &Idx, sign: &str, b: &Idx| -> Result<String, Unsupported> {
        let (a, b) = (c_index(a, name)?, c_index(b, name)?);
        Ok(format!("(({a}) {sign} ({b}) ? ({a}) : ({b}))"))
    };
    match atom {
        Atom::Sym(s) => Ok(name(s)),
        Atom::Max(a, b) => choice(a, ">", b),
        Atom::Min(a, b) => choice(a, "<", b),
        Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Value(_) => Err(Unsupported::new(format!(
            "a size or stride is {}, which only the original computes",
            Idx::atom(atom.clone())
        ))),
    }
}
