//! What to write by hand in a build script that is not rewritten: the script's own words, with our builder in the place of
//! `cc`'s, and what was left out.

use super::builders::{Builder, Call, Within};
use super::counterpart::Counterpart;
use std::fmt::Write;

/// For each builder of `cc` that compiles something; then what is called on builders elsewhere.
pub(super) fn shown<'a>(
    compiling: impl Iterator<Item = &'a Builder>,
    elsewhere: impl Iterator<Item = &'a Builder>,
) -> String {
    let made = compiling.map(|builder| {
        let line = builder.line;
        let before = format!("    // In the place of the `cc::Build` of line {line}.\n");
        before + &statements(builder)
    });
    let told = elsewhere.map(|builder| {
        let line = builder.line;
        let calls: String = builder.calls.iter().map(plainly).collect();
        remark(
            4,
            &format!("Not in it: what is called on the `cc::Build` of line {line}, `{calls}`."),
        )
    });
    made.chain(told).collect::<Vec<_>>().join("\n")
}

/// As it stands there, but for the receiver.
fn plainly(call: &Call) -> String {
    match call.method.as_str() {
        "" => call.arguments.clone(),
        method => format!(".{method}({})", call.arguments),
    }
}

/// A comment: one line, or more if the text has comments of its own.
fn remark(indent: usize, text: &str) -> String {
    let told = in_one_line(text);
    let lines: Vec<&str> = match &told {
        Some(line) => vec![line],
        None => text.lines().map(str::trim).collect(),
    };
    let lines = lines.into_iter().filter(|l| !l.is_empty());
    lines
        .map(|l| format!("{:1$}// {l}\n", "", indent))
        .collect()
}

/// Several lines as one; `None` where a comment in them would swallow what follows it.
fn in_one_line(text: &str) -> Option<String> {
    if text.lines().count() < 2 {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    (!text.contains("//")).then(|| words.join(" "))
}

/// What a builder does, as Rust.
fn statements(builder: &Builder) -> String {
    let name = builder.variable.as_deref().unwrap_or("build");
    let inner = |c: &Call| match c.within.strip_prefix(&builder.within[..]) {
        Some(inner) => inner.to_vec(),
        None => c.within.clone(),
    };
    let groups = groups(&builder.calls, inner, name);
    let mut out = Lines::default();
    // Nothing but calls, of which the last compiles: one expression.
    if let [all @ .., last] = &builder.calls[..]
        && last.compiles()
        && !all.iter().any(Call::compiles)
        && groups.iter().all(|g| g.within.is_empty())
    {
        groups.iter().for_each(|g| g.left_out(name, 4, &mut out));
        let lines: Vec<String> = groups.iter().flat_map(Group::lines).collect();
        out.chain(4, "", "tensorize_build::Build::new()", &lines);
        return out.text;
    }
    let (first, rest) = match &groups[..] {
        [first, rest @ ..] if first.within.is_empty() && !first.compiles() => (Some(first), rest),
        all => (None, all),
    };
    let start = format!("let mut {name} = ");
    let new = "tensorize_build::Build::new()";
    match first {
        Some(first) => {
            first.left_out(name, 4, &mut out);
            out.chain(4, &start, new, &first.lines());
        }
        None => out.chain(4, &start, new, &[]),
    }
    for (n, group) in rest.iter().enumerate() {
        group.write(name, n + 1 == rest.len(), &mut out);
    }
    out.go_to(&[]);
    out.text
}

/// Calls that follow one another under the same conditions.
struct Group<'a> {
    within: Vec<Within>,
    calls: Vec<&'a Call>,
}

fn groups<'a>(
    calls: &'a [Call],
    inner: impl Fn(&Call) -> Vec<Within>,
    name: &str,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for call in calls {
        let within: Vec<Within> = inner(call)
            .into_iter()
            .map(|w| match w {
                // Ours can't be asked what it knows.
                Within::Head(head, _) if mentions(&head, name) => {
                    Within::Other(format!("`{head}`"))
                }
                other => other,
            })
            .collect();
        match groups.last_mut() {
            Some(last) if last.within == within && !last.compiles() && !call.compiles() => {
                last.calls.push(call)
            }
            _ => groups.push(Group {
                within,
                calls: vec![call],
            }),
        }
    }
    groups
}

fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| word == name)
}

impl Group<'_> {
    fn compiles(&self) -> bool {
        self.calls.last().is_some_and(|c| c.compiles())
    }

    /// What stays, as calls of ours.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for call in &self.calls {
            if let Counterpart::Is(line) = Counterpart::of(call) {
                lines.push(format!(".{line}"));
                if call.compiles() {
                    lines.push(".unwrap()".into());
                }
            }
        }
        lines
    }

    /// A remark for each call that does not stay.
    fn left_out(&self, name: &str, indent: usize, out: &mut Lines) {
        for call in &self.calls {
            let why = match Counterpart::of(call) {
                Counterpart::Is(_) => continue,
                Counterpart::NotNeeded(why) => why,
                Counterpart::Lacking if call.method.is_empty() => {
                    "what the function calls on it is not in here"
                }
                Counterpart::Lacking => "it has no counterpart",
            };
            let receiver = if call.method.is_empty() { "" } else { name };
            let call = plainly(call);
            out.remark(indent, &format!("Left out: `{receiver}{call}`; {why}."));
        }
    }

    fn write(&self, name: &str, is_last: bool, out: &mut Lines) {
        if let Some(told) = self.told() {
            out.go_to(&[]);
            for call in &self.calls {
                let call = plainly(call);
                let text = format!("Left out, as it is done only where {told}: `{name}{call}`.");
                out.remark(4, &text);
            }
            return;
        }
        let indent = out.go_to(&self.within);
        self.left_out(name, indent, out);
        let lines = self.lines();
        if self.compiles() {
            let is_loop = |w: &Within| matches!(w, Within::Head(h, _) if !h.starts_with("if "));
            // It may be wanted once more.
            let again = !is_last || self.within.iter().any(is_loop);
            let receiver = if again {
                format!("{name}.clone()")
            } else {
                name.to_owned()
            };
            out.chain(indent, "", &receiver, &lines);
        } else if !lines.is_empty() {
            out.chain(indent, &format!("{name} = "), name, &lines);
        }
    }

    /// What it is under, if that can't be written as it is there.
    fn told(&self) -> Option<String> {
        let is_other = |w: &Within| matches!(w, Within::Other(_));
        self.within.iter().any(is_other).then(|| {
            let all = self.within.iter().map(|w| match w {
                Within::Head(head, _) => format!("`{head}`"),
                Within::Other(what) => what.clone(),
            });
            all.collect::<Vec<_>>().join(", ")
        })
    }
}

#[derive(Default)]
struct Lines {
    text: String,
    /// The blocks that are open.
    within: Vec<Within>,
}

impl Lines {
    fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", indent);
    }

    fn remark(&mut self, indent: usize, text: &str) {
        self.text += &remark(indent, text);
    }

    /// Closes blocks and opens others, until it is in these; how far lines stand in there.
    fn go_to(&mut self, within: &[Within]) -> usize {
        let pairs = self.within.iter().zip(within);
        let shared = pairs.take_while(|(a, b)| a == b).count();
        while self.within.len() > shared {
            self.within.pop();
            self.line(4 * self.within.len() + 4, "}");
        }
        for new in &within[shared..] {
            if let Within::Head(head, _) = new {
                self.line(4 * self.within.len() + 4, &format!("{head} {{"));
                self.within.push(new.clone());
            }
        }
        4 * self.within.len() + 4
    }

    /// On one line if it is as short as rustfmt wants that.
    fn chain(&mut self, indent: usize, start: &str, receiver: &str, calls: &[String]) {
        let one = format!("{receiver}{}", calls.concat());
        if one.len() <= 60 || calls.is_empty() {
            return self.line(indent, &format!("{start}{one};"));
        }
        self.line(indent, &format!("{start}{receiver}"));
        for (n, call) in calls.iter().enumerate() {
            let end = if n + 1 == calls.len() { ";" } else { "" };
            self.line(indent + 4, &format!("{call}{end}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::build_script::Script;
    use super::shown;

    fn check(main: &str, expected: &str) {
        let script = Script::read(&format!("fn main() {{\n{main}\n}}\n")).unwrap();
        let text = shown(script.of_cc(), script.set_up_elsewhere());
        let text = text.replace("    // In the place of the `cc::Build` of line ", "@");
        assert_eq!(text, expected, "{text}");
        let statements = text.lines().filter(|l| !l.starts_with('@'));
        let main = statements.collect::<Vec<_>>().join("\n");
        assert!(syn::parse_file(&format!("fn main() {{ {main} }}")).is_ok());
    }

    #[test]
    fn conditions_and_loops_stay_what_they_are() {
        check(
            "let mut build = cc::Build::new();
            for f in NONE { for g in f { build.file(g); } build.include(f); }
            build.file(\"c/one.c\").flag(\"-O3\").opt_level(3);
            for f in FILES { build.file(f); }
            if env::var(\"CARGO_FEATURE_FAST\").is_ok() { build.define(\"FAST\", None); } else { build.std(\"c99\"); }
            build.compile(\"one\");",
            "@2.
    let mut build = tensorize_build::Build::new();
    for f in NONE {
        for g in f {
            build = build.file(g);
        }
        build = build.include(f);
    }
    // Left out: `build.opt_level(3)`; how much is optimised goes by the profile.
    build = build.file(\"c/one.c\").flag(\"-O3\");
    for f in FILES {
        build = build.file(f);
    }
    if env::var(\"CARGO_FEATURE_FAST\").is_ok() {
        build = build.define(\"FAST\", None);
    }
    if !(env::var(\"CARGO_FEATURE_FAST\").is_ok()) {
        build = build.flag(\"-std=c99\");
    }
    build.compile(\"one\").unwrap();
",
        );
    }

    #[test]
    fn two_libraries_stay_two_and_what_can_not_be_written_is_told() {
        check(
            "let a = cc::Build::new().file(\"a.c\").shared_flag(true).compile(\"a\");
            let mut b = cc::Build::new();
            b.file(\"b.c\");
            set_up(&mut b);
            match target { \"x\" => { b.flag(\"-mx\"); } _ => {} }
            if b.is_flag_supported(\"-my\").unwrap() { b.flag(\"-my\"); }
            b.compile(name);",
            "@2.
    // Left out: `build.shared_flag(true)`; it has no counterpart.
    tensorize_build::Build::new()
        .file(\"a.c\")
        .compile(\"a\")
        .unwrap();

@3.
    // Left out: `set_up(&mut b)`; what the function calls on it is not in here.
    let mut b = tensorize_build::Build::new().file(\"b.c\");
    // Left out, as it is done only where `match target` has `\"x\"`: `b.flag(\"-mx\")`.
    // Left out: `b.is_flag_supported(\"-my\")`; it has no counterpart.
    // Left out, as it is done only where `if b.is_flag_supported(\"-my\").unwrap()`: `b.flag(\"-my\")`.
    b.compile(name).unwrap();
",
        );
    }

    #[test]
    fn comments_within_stay_comments() {
        check(
            "let mut b = cc::Build::new();
            b.file(\"a.c\");
            if one() // One.
                && two() {
                b.flag(\"-x\");
            }
            match (
                target, // Two.
                os,
            ) { X => { b.flag(\"-m\"); } _ => {} }
            b.asm_flag(
                // Three.
                \"-y\"
            );
            set_up(
                &mut b, // Four.
                1,
            );
            set_up(
                &mut b,
                2
            );
            b.compile(\"b\");",
            "@2.
    let mut b = tensorize_build::Build::new().file(\"a.c\");
    if one() // One.
                && two() {
        b = b.flag(\"-x\");
    }
    // Left out, as it is done only where `match (
    // target, // Two.
    // os,
    // )` has `X`: `b.flag(\"-m\")`.
    // Left out: `b.asm_flag(\"-y\")`; it has no counterpart.
    // Left out: `set_up(
    // &mut b, // Four.
    // 1,
    // )`; what the function calls on it is not in here.
    // Left out: `set_up( &mut b, 2 )`; what the function calls on it is not in here.
    b.compile(\"b\").unwrap();
",
        );
    }

    #[test]
    fn what_compiles_more_than_once_is_copied() {
        check(
            "let mut b = cc::Build::new();
            b.file(\"a.c\");
            b.compile(\"a\");
            for n in NAMES { b.file(n).compile(n); }",
            "@2.
    let mut b = tensorize_build::Build::new().file(\"a.c\");
    b.clone().compile(\"a\").unwrap();
    for n in NAMES {
        b = b.file(n);
        b.clone().compile(n).unwrap();
    }
",
        );
    }

    #[test]
    fn what_is_copied_is_in_each_copy() {
        check(
            "let mut both = cc::Build::new();
            both.include(\"inc\");
            both.clone().file(\"a.c\").compile(\"a\");
            both.clone().file(\"b.c\").compile(\"b\");",
            "@4.
    tensorize_build::Build::new()
        .include(\"inc\")
        .file(\"a.c\")
        .compile(\"a\")
        .unwrap();

@5.
    tensorize_build::Build::new()
        .include(\"inc\")
        .file(\"b.c\")
        .compile(\"b\")
        .unwrap();
",
        );
    }

    #[test]
    fn what_other_functions_set_up_is_told_with_its_line() {
        let text = "use cc::Build;
fn common(b: &mut Build) {
    b.flag(\"-O3\").include(\"inc\");
}
fn main() {
    let mut b = Build::new();
    common(&mut b);
    b.file(\"a.c\").compile(\"a\");
}
";
        let script = Script::read(text).unwrap();
        assert_eq!(
            shown(script.of_cc(), script.set_up_elsewhere()),
            "    // In the place of the `cc::Build` of line 6.
    // Left out: `common(&mut b)`; what the function calls on it is not in here.
    tensorize_build::Build::new()
        .file(\"a.c\")
        .compile(\"a\")
        .unwrap();

    // Not in it: what is called on the `cc::Build` of line 2, `.flag(\"-O3\").include(\"inc\")`.
"
        );
    }
}
