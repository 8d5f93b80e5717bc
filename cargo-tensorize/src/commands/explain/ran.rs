//! What answered a kernel's calls in programs that ran, and why the original did: from the reports that they wrote.

use super::section;
use crate::commands::known::{Guard, is_condition};
use crate::diagnostics::Diagnostic;
use crate::words::counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, io};
use tensorize_build::guarded;
use tensorize_build::record::Record;

/// The form that `tensorize-rt` writes now.
const FORMAT: u32 = 1;

/// What a program wrote when it ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    #[serde(rename = "format")]
    _format: u32,
    program: PathBuf,
    /// In seconds since 1970.
    ended: u64,
    choice: String,
    kernels: Vec<Kernel>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    name: String,
    file: String,
    #[serde(rename = "line")]
    _line: u32,
    hash: String,
    /// Why it is never swapped.
    why: Option<String>,
    answered: Vec<Answered>,
    fell_back: Vec<Fallback>,
    sizes: Vec<Sizes>,
    #[serde(rename = "compared")]
    _compared: u64,
    #[serde(rename = "differed")]
    _differed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    by: String,
    calls: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fallback {
    cause: Cause,
    why: String,
    calls: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Cause {
    Arguments,
    Memory,
    Target,
    Asked,
    Size,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    /// Of the numbers of elements.
    bits: (u32, u32),
    by: String,
    because: String,
    original_ns: Option<u64>,
    code_ns: Option<u64>,
}

/// What programs did with one kernel.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// Such as `the run of target/debug/mixer that ended 5 s ago`.
    whose: String,
    answered: BTreeMap<String, u64>,
    fell_back: Vec<Fallback>,
    /// Of the last run that went by them.
    sizes: Vec<Sizes>,
    /// Why it was never swapped, if it wasn't.
    never: Option<String>,
    /// Reports that tell of the kernel as it was once.
    outdated: usize,
}

/// For programs.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    reason: &'static str,
    name: &'a str,
    answered: &'a BTreeMap<String, u64>,
    fell_back: Vec<FellBack>,
}

#[derive(Serialize)]
struct FellBack {
    why: String,
    calls: u64,
    remedy: String,
}

/// Reads the reports that were named, or that `TENSORIZE_REPORT` names; nothing if there are none.
pub(super) fn find(named: Option<&Path>, record: &Record) -> Result<Option<Ran>, Box<Diagnostic>> {
    let variable = env::var_os("TENSORIZE_REPORT").filter(|v| !v.is_empty());
    let place = match (named, variable) {
        (Some(place), _) => place.to_owned(),
        // The programs have not run yet.
        (None, Some(place)) if !Path::new(&place).exists() => return Ok(None),
        (None, Some(place)) => place.into(),
        (None, None) => return Ok(None),
    };
    let files = files(&place).map_err(|e| Box::new(unreadable(&place, &e.to_string())))?;
    let mut reports = Vec::new();
    for file in files {
        reports.push(read(&file)?);
    }
    if reports.is_empty() {
        let why = "no program has written a report into this folder";
        return Err(Box::new(unreadable(&place, why)));
    }
    reports.sort_by_key(|r| r.ended);
    Ok(Some(of_kernel(reports, record, SystemTime::now())))
}

/// A file, or all reports in a folder.
fn files(place: &Path) -> io::Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "json") {
            files.push(path);
        }
    }
    Ok(files)
}

fn read(file: &Path) -> Result<Report, Box<Diagnostic>> {
    let wrong = |why: String| Box::new(unreadable(file, &why));
    let text = guarded::text(file, guarded::SMALL).map_err(|e| wrong(e.to_string()))?;
    // The form comes first: of another one nothing else is known.
    #[derive(Deserialize)]
    struct Form {
        format: u32,
    }
    match serde_json::from_str(&text) {
        Ok(Form { format: FORMAT }) => {}
        Ok(Form { format }) => {
            return Err(wrong(format!(
                "it has format {format}, and this program reads {FORMAT}: build the two from one version"
            )));
        }
        Err(e) => return Err(wrong(e.to_string())),
    }
    serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))
}

fn unreadable(file: &Path, why: &str) -> Diagnostic {
    let message = format!("the report in {} can't be read: {why}", file.display());
    let help = "have the program write it anew: run it with TENSORIZE_REPORT=FILE until it ends";
    Diagnostic::error("TZ0116", message).help(help)
}

fn of_kernel(reports: Vec<Report>, record: &Record, now: SystemTime) -> Ran {
    let mut ran = Ran {
        whose: whose(&reports, now),
        ..Ran::default()
    };
    for kernel in reports.into_iter().flat_map(|r| r.kernels) {
        // Build scripts name files as they are told them, from a folder of their own.
        if kernel.name != record.name || !Path::new(&kernel.file).ends_with(&record.file) {
            continue;
        }
        if let Some(why) = kernel.why {
            ran.never = Some(why);
        } else if kernel.hash != record.hash {
            ran.outdated += 1;
        } else {
            ran.add(kernel.answered, kernel.fell_back);
            // Only TENSORIZE=auto goes by sizes.
            if !kernel.sizes.is_empty() {
                ran.sizes = kernel.sizes;
            }
        }
    }
    ran
}

fn whose(reports: &[Report], now: SystemTime) -> String {
    let Some(last) = reports.last() else {
        return String::new();
    };
    let ended = UNIX_EPOCH + Duration::from_secs(last.ended);
    // Clocks are set back, too.
    let ago = now.duration_since(ended).unwrap_or_default().as_secs();
    let ago = match ago {
        0..120 => format!("{ago} s ago"),
        120..7200 => format!("{} min ago", ago / 60),
        7200..172_800 => format!("{} h ago", ago / 3600),
        _ => format!("{} days ago", ago / 86_400),
    };
    let choice = &last.choice;
    match reports {
        [one] => format!(
            "the run of {} that ended {ago} (TENSORIZE={choice})",
            one.program.display()
        ),
        _ => format!("{} runs, the last of which ended {ago}", reports.len()),
    }
}

impl Ran {
    fn add(&mut self, answered: Vec<Answered>, fell_back: Vec<Fallback>) {
        for a in answered {
            *self.answered.entry(a.by).or_default() += a.calls;
        }
        for f in fell_back {
            match self.fell_back.iter_mut().find(|g| g.why == f.why) {
                Some(known) => known.calls += f.calls,
                None => self.fell_back.push(f),
            }
        }
        self.fell_back.sort_by_key(|f| std::cmp::Reverse(f.calls));
    }

    /// For people.
    pub fn text(&self, name: &str, guards: &[Guard]) -> String {
        let mut text = section(
            &format!("what answered, in {}", self.whose),
            self.answers(name),
        );
        let why = self.fell_back.iter().flat_map(|f| {
            let remedy = f.remedy(guards);
            [
                format!("{}: {}", calls(f.calls), f.in_words()),
                format!("  {remedy}"),
            ]
        });
        text += &section("why the original answered", why);
        text += &section(
            "who has which sizes, in elements that a call touches",
            self.sizes.iter().map(Sizes::in_words),
        );
        text
    }

    fn answers(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<String> = self
            .answered
            .iter()
            .map(|(who, n)| format!("{who}: {}", calls(*n)))
            .collect();
        if let Some(why) = &self.never {
            lines.push(format!("the original, always: {why}"));
        }
        if self.outdated > 0 {
            lines.push(format!(
                "`{name}` was another version then: build and run the program again"
            ));
        }
        if lines.is_empty() {
            lines.push(format!("nobody called `{name}`"));
        }
        lines
    }

    pub fn message<'a>(&'a self, name: &'a str, guards: &[Guard]) -> Message<'a> {
        let fell_back = self.fell_back.iter().map(|f| FellBack {
            why: f.in_words(),
            calls: f.calls,
            remedy: f.remedy(guards),
        });
        Message {
            reason: "run",
            name,
            answered: &self.answered,
            fell_back: fell_back.collect(),
        }
    }
}

impl Fallback {
    fn in_words(&self) -> String {
        match (self.cause, self.why.as_str()) {
            (Cause::Asked, "TENSORIZE=off") => "TENSORIZE=off asks for the original".into(),
            (Cause::Asked, "TENSORIZE=tune") => "TENSORIZE=tune times the others beside it".into(),
            (Cause::Asked, shadow) => format!("{shadow} compares the target with it"),
            (Cause::Size, _) => {
                "TENSORIZE=auto: they are small, were the ones that are timed, or it is faster at their size".into()
            }
            (_, why) => why.to_owned(),
        }
    }

    /// What helps.
    fn remedy(&self, guards: &[Guard]) -> String {
        match self.cause {
            Cause::Arguments => self.remedy_for_arguments(guards),
            Cause::Memory => "smaller arrays, or more memory, have generated code answer".into(),
            Cause::Target if self.why.starts_with("there is no code for ") => {
                "\"targets\" above says which have code; name it under `targets` in `[package.metadata.tensorize]`, \
                 then run `cargo tensorize` and build again"
                    .into()
            }
            Cause::Target => {
                "`cargo tensorize doctor` lists what a target needs, with the command that installs it".into()
            }
            Cause::Asked if self.why == "TENSORIZE=off" => {
                "run it without TENSORIZE, or with the name of a target".into()
            }
            Cause::Asked => "it is meant so; without TENSORIZE what is the fastest answers".into(),
            Cause::Size => {
                "TENSORIZE=cpu asks for generated code at all sizes; `cargo tensorize tune` measures ahead of time".into()
            }
        }
    }

    fn remedy_for_arguments(&self, guards: &[Guard]) -> String {
        let guard = self.why.split_once(": ").map_or("", |(_, guard)| guard);
        let what = match guard {
            g if g.contains(" disjoint ") => "pass arrays that don't overlap",
            g if g.contains(" fits ") => "pass smaller sizes",
            "" => "pass other arguments",
            g if is_condition(g) => "pass arguments that meet it",
            _ => "pass sizes that meet it",
        };
        match guards.iter().find(|g| g.text == guard) {
            Some(known) => format!("{what}; it is asked for since {}", known.why),
            None => format!("{what}; docs/soundness.md says what is asked of a call"),
        }
    }
}

impl Sizes {
    fn in_words(&self) -> String {
        let (first, last) = self.bits;
        let begin = |bits: u32| 1u64.checked_shl(bits.saturating_sub(1)).unwrap_or(u64::MAX);
        let sizes = match (first, last) {
            (0, last) => format!("fewer than {}", begin(last + 1)),
            (first, 63..) => format!("{} and more", begin(first)),
            (first, last) => format!("{} to {}", begin(first), begin(last + 1) - 1),
        };
        let why = match (self.because.as_str(), self.original_ns, self.code_ns) {
            ("few", ..) => "so few are not worth the guards".into(),
            ("measured", ..) => "as `cargo tensorize tune` measured".into(),
            ("timed", Some(original), Some(code)) => {
                format!("timed: the original {original} ns, generated code {code} ns")
            }
            (other, ..) => other.to_owned(),
        };
        format!("{sizes}: {}, {why}", self.by)
    }
}

fn calls(n: u64) -> String {
    counted(usize::try_from(n).unwrap_or(usize::MAX), "call")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"format":1,"program":"/b/app","ended":1000,"choice":"cpu","kernels":[
        {"name":"f","file":"c/k.c","line":3,"hash":"ab","why":null,
         "answered":[{"by":"original","calls":3},{"by":"cpu","calls":1}],
         "fell_back":[{"cause":"arguments","why":"a guard does not hold: n >= 0","calls":2},
                      {"cause":"asked","why":"TENSORIZE=shadow=numpy","calls":1}],
         "sizes":[{"bits":[0,6],"by":"original","because":"few"},
                  {"bits":[7,7],"by":"both","because":"being timed"},
                  {"bits":[13,13],"by":"cpu","because":"timed","original_ns":900,"code_ns":300},
                  {"bits":[20,63],"by":"numpy","because":"measured"}],
         "compared":0,"differed":0}]}"#;

    fn report(text: &str) -> Report {
        serde_json::from_str(text).unwrap()
    }

    fn record() -> Record {
        Record::new(
            "f",
            "c/k.c",
            3,
            "ab",
            tensorize_build::record::Status::Proven,
        )
    }

    fn ran(reports: &[&str]) -> Ran {
        let reports = reports.iter().map(|r| report(r)).collect();
        let now = UNIX_EPOCH + Duration::from_secs(1060);
        of_kernel(reports, &record(), now)
    }

    #[test]
    fn every_reason_is_told_with_what_helps() {
        let guard = Guard {
            text: "n >= 0".into(),
            why: "it counts rounds".into(),
            target: None,
        };
        assert_eq!(
            ran(&[REPORT]).text("f", &[guard]),
            "
what answered, in the run of /b/app that ended 60 s ago (TENSORIZE=cpu)
  cpu: 1 call
  original: 3 calls

why the original answered
  2 calls: a guard does not hold: n >= 0
    pass sizes that meet it; it is asked for since it counts rounds
  1 call: TENSORIZE=shadow=numpy compares the target with it
    it is meant so; without TENSORIZE what is the fastest answers

who has which sizes, in elements that a call touches
  fewer than 64: original, so few are not worth the guards
  64 to 127: both, being timed
  4096 to 8191: cpu, timed: the original 900 ns, generated code 300 ns
  524288 and more: numpy, as `cargo tensorize tune` measured
"
        );
    }

    #[test]
    fn reports_of_several_runs_are_added_up_and_older_versions_are_left_out() {
        let other = REPORT.replace("\"ab\"", "\"cd\"");
        let text = ran(&[REPORT, REPORT, &other]).text("f", &[]);
        for line in [
            "3 runs",
            "cpu: 2 calls",
            "4 calls: a guard",
            "another version then",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let never = REPORT.replace("\"why\":null", "\"why\":\"it is static\"");
        let text = ran(&[&never]).text("f", &[]);
        assert!(
            text.contains("the original, always: it is static"),
            "{text}"
        );
        let nobody = REPORT.replace("\"f\"", "\"g\"");
        let text = ran(&[&nobody]).text("f", &[]);
        assert!(text.contains("nobody called `f`"), "{text}");
    }
}
