//! What a call has to meet, and why.

use tensorize_build::record::Record;

/// A guard of a kernel, or of one of its targets.
pub struct Guard {
    pub text: String,
    pub why: String,
    /// The target that asks for it; all do if there is none.
    pub target: Option<String>,
}

pub(super) fn of(record: &Record, source: &str, first: u32) -> Vec<Guard> {
    let own = record.guards.iter().map(|g| Guard {
        text: g.clone(),
        why: reason(g, source, first),
        target: None,
    });
    let targets = record.targets.iter();
    let of_targets = targets.flat_map(|(name, t)| t.guards.iter().map(move |g| (name, g)));
    let of_targets = of_targets.map(|(name, g)| Guard {
        text: g.clone(),
        why: match g.contains(" >= ") {
            true => "its code is proven only where this holds".into(),
            false => reason(g, source, first),
        },
        target: Some(name.clone()),
    });
    own.chain(of_targets).collect()
}

fn reason(guard: &str, source: &str, first: u32) -> String {
    if let Some((a, b)) = guard.split_once(" disjoint ") {
        let array = |extent: &str| {
            extent
                .split('[')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let (a, b) = (array(a), array(b));
        return format!(
            "{a} is written{} while {b} is in use{}; if they overlapped, a round could see what another wrote",
            lines_of(&a, source, first),
            lines_of(&b, source, first),
        );
    }
    if let Some((_, ty)) = guard.rsplit_once(" fits ") {
        return format!(
            "C computes it in {ty}, and the proof without a bound: it must not wrap around"
        );
    }
    if guard.contains('[') {
        return "it looks at the data before a call; where it does not hold, the original answers"
            .into();
    }
    if is_condition(guard) {
        return "where it does not hold, the original ends the program or throws, and is called for that".into();
    }
    "it counts rounds or elements, of which there are not less than none".into()
}

/// Whether it asks for a condition on what is passed by value (`Guard::on_arguments`), and not for a number that is not
/// negative.
pub fn is_condition(guard: &str) -> bool {
    guard.starts_with("value(select(") && guard.ends_with(", 0:i64, -1:i64)) >= 0")
}

/// ` (lines 3, 5)`, on which an array is indexed or followed.
fn lines_of(array: &str, source: &str, first: u32) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let uses = |line: &str| {
        line.match_indices(array).any(|(at, _)| {
            let (before, after) = (&line[..at], line[at + array.len()..].trim_start());
            !before.ends_with(is_part)
                && (after.starts_with('[')
                    || before.trim_end().ends_with('*') && !before.contains('('))
        })
    };
    let numbered = source.lines().zip(first..).filter(|(line, _)| uses(line));
    let found: Vec<String> = numbered.map(|(_, n)| n.to_string()).collect();
    match found.len() {
        0 => String::new(),
        1 => format!(" (line {})", found[0]),
        _ => format!(" (lines {})", found.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_traced_to_the_lines_that_need_it() {
        let source = "void f(int *out, const int *a) {\n  out[0] = a[1];\n  b_out[0] = *a;\n}";
        let why = reason("out[0 .. n] disjoint a[0 .. n]", source, 10);
        assert!(why.contains("out is written (line 11)"), "{why}");
        assert!(why.contains("a is in use (lines 11, 12)"), "{why}");
        assert!(reason("d*n - 1 fits i64", source, 1).contains("i64"));
        let of_data =
            "value(fold(far = 0:i64, k < n, select(compare(LT, a[k], 9:i32), far, -1:i64))) >= 0";
        assert!(reason(of_data, source, 1).contains("the data"));
        let of_a_float = "value(select(not(compare(LT, 0.5:f64, rate)), 0:i64, -1:i64)) >= 0";
        assert!(is_condition(of_a_float) && reason(of_a_float, source, 1).contains("throws"));
        let rounds = "value(convert(i32, rate)) >= 0";
        assert!(!is_condition(rounds) && reason(rounds, source, 1).contains("rounds"));
    }
}
