//! Guards, extents and footprints: `n*d fits i64`, `out[0 .. n] disjoint x[0 .. n]`.

use super::{Cursor, ParseError, whole};
use crate::guard::{Extent, Footprint, Guard, Tier};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Tier, ParseError> {
        whole(text, |c| {
            if c.eat_name("exact") {
                Ok(Tier::Exact)
            } else if c.eat_name("real") {
                Ok(Tier::Real)
            } else {
                Err(c.expected("'exact' or 'real'"))
            }
        })
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{} .. {}]", self.array, self.lo, self.hi)
    }
}

impl FromStr for Extent {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Extent, ParseError> {
        whole(text, Cursor::extent)
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guard::NonNegative(idx) => write!(f, "{idx} >= 0"),
            Guard::Fits(idx, ty) => write!(f, "{idx} fits {ty}"),
            Guard::Disjoint(a, b) => write!(f, "{a} disjoint {b}"),
        }
    }
}

impl FromStr for Guard {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Guard, ParseError> {
        whole(text, Cursor::guard)
    }
}

impl fmt::Display for Footprint {
    /// `out[0 .. n]: reads, may write`, where *may* says that it depends on the data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.extent)?;
        let mut verbs = Vec::new();
        if self.reads {
            verbs.push(if self.reads_depend_on_data {
                "may read"
            } else {
                "reads"
            });
        }
        if self.writes {
            verbs.push(if self.writes_depend_on_data {
                "may write"
            } else {
                "writes"
            });
        }
        if verbs.is_empty() {
            verbs.push("untouched");
        }
        write!(f, " {}", verbs.join(", "))
    }
}

impl FromStr for Footprint {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Footprint, ParseError> {
        whole(text, |c| {
            let extent = c.extent()?;
            c.expect(":")?;
            let mut footprint = Footprint {
                extent,
                reads: false,
                writes: false,
                reads_depend_on_data: false,
                writes_depend_on_data: false,
            };
            if c.eat_name("untouched") {
                return Ok(footprint);
            }
            loop {
                let may = c.eat_name("may");
                if c.eat_name(if may { "read" } else { "reads" }) {
                    footprint.reads = true;
                    footprint.reads_depend_on_data = may;
                } else if c.eat_name(if may { "write" } else { "writes" }) {
                    footprint.writes = true;
                    footprint.writes_depend_on_data = may;
                } else {
                    return Err(c.expected("'reads', 'writes', 'may read' or 'may write'"));
                }
                if !c.eat(",") {
                    return Ok(footprint);
                }
            }
        })
    }
}

impl Cursor<'_> {
    fn extent(&mut self) -> Result<Extent, ParseError> {
        let array = self.expect_name("the name of an array")?.into();
        self.expect("[")?;
        let lo = self.idx()?;
        self.expect("..")?;
        let hi = self.idx()?;
        self.expect("]")?;
        Ok(Extent { array, lo, hi })
    }

    pub(super) fn guard(&mut self) -> Result<Guard, ParseError> {
        let mut ahead = self.clone();
        if ahead.name().is_some() && ahead.eat("[") {
            let a = self.extent()?;
            self.expect_word("disjoint")?;
            return Ok(Guard::Disjoint(a, self.extent()?));
        }
        let idx = self.idx()?;
        if self.eat_name("fits") {
            return Ok(Guard::Fits(idx, self.scalar_type()?));
        }
        if !self.eat(">=") {
            return Err(self.expected("'>=', 'fits' or an operator"));
        }
        Ok(Guard::NonNegative(&idx - &self.idx()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{Scalar, ScalarType};

    #[track_caller]
    fn reads_back<T>(text: &str)
    where
        T: FromStr<Err = ParseError> + fmt::Display,
    {
        assert_eq!(text.parse::<T>().unwrap().to_string(), text);
    }

    #[test]
    fn text_reads_back() {
        reads_back::<Guard>("cols*rows - 1 >= 0");
        reads_back::<Guard>("d*n fits i64");
        reads_back::<Guard>("out[0 .. cols*rows] disjoint base[-1 .. max(m, n) + 2]");
        reads_back::<Tier>("exact");
        reads_back::<Tier>("real");
        reads_back::<Footprint>("out[0 .. n]: reads, may write");
        reads_back::<Footprint>("x[-3 .. 3*n - 1]: may read");
        reads_back::<Footprint>("x[0 .. 0]: untouched");
        let lenient: Guard = " out [0..n] disjoint x[0..n]".parse().unwrap();
        assert_eq!(lenient.to_string(), "out[0 .. n] disjoint x[0 .. n]");
    }

    #[test]
    fn errors_say_what_was_expected() {
        let message = |text: &str| text.parse::<Guard>().unwrap_err().to_string();
        assert_eq!(
            message("n < 3"),
            "line 1, column 3: expected '>=', 'fits' or an operator, found '<'"
        );
        assert!(message("n fits int").contains("'int' is not a scalar type"));
        assert!(message("a[0 .. n]").contains("expected 'disjoint'"));
        assert!("fast".parse::<Tier>().is_err());
        assert!("x[0 .. n]: eats".parse::<Footprint>().is_err());
    }

    #[test]
    fn stored_as_text() {
        let guard: Guard = "n*d fits i64".parse().unwrap();
        let json = serde_json::to_string(&(guard.clone(), Tier::Real, ScalarType::U8)).unwrap();
        assert_eq!(json, r#"["d*n fits i64","real","ui8"]"#);
        let back: (Guard, Tier, ScalarType) = serde_json::from_str(&json).unwrap();
        assert_eq!(back, (guard, Tier::Real, ScalarType::U8));
        assert!(serde_json::from_str::<Guard>("\"n >\"").is_err());
        let half: Scalar = serde_json::from_str("\"0.5:f32\"").unwrap();
        assert_eq!(half, Scalar::f32(0.5));
        let footprint: Footprint = "out[0 .. n]: reads, may write".parse().unwrap();
        let json = serde_json::to_string(&footprint).unwrap();
        assert_eq!(serde_json::from_str::<Footprint>(&json).unwrap(), footprint);
    }
}
