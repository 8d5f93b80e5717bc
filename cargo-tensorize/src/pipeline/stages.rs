//! One kernel's way: propose, prove, generate.

use super::{Kernel, Proven, Settings, micros};
use crate::diagnostics::{Diagnostic, Severity, line_span};
use crate::generate::{self, Subject};
use crate::original;
use crate::proposer::{self, Proposer};
use crate::report::{Status, TargetReport, TargetStatus};
use crate::row_distance::measured;
use std::time::Instant;
use tensorize_build::guarded;
use tensorize_ir::guard::Tier;
use tensorize_ir::limit;
use tensorize_ir::loopir;
use tensorize_ir::tensir;
use tensorize_lift::c::Span;
use tensorize_lift::left_to_the_original;
use tensorize_lift::summarise::{self, Proposal};
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Proof, Verdict};

/// One kernel's way through the stages.
pub(super) struct Stages<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) solver: &'a mut Solver,
    pub(super) settings: &'a Settings,
}

impl Stages<'_> {
    /// Takes the kernel as far as it goes.
    pub(super) fn run(&mut self, function: loopir::Function, given: Option<tensir::Function>) {
        let settings = self.settings;
        // Somebody's summary is to be judged, not replaced.
        let outside = settings.proposer.as_ref().filter(|_| given.is_none());
        let mut found = None;
        if let Some(proposer) = outside.filter(|p| p.first) {
            found = self.ask(proposer, &function);
        }
        if found.is_none() {
            found = self.by_ourselves(&function, given.clone());
        }
        let has_summary = found.is_some();
        if let Some(found) = found {
            self.complete(&function, found);
        }
        let refused = has_summary && self.kernel.proven.is_none();
        let has_all = has_summary && self.kernel.artefacts.len() == settings.targets.len();
        if refused || has_all || self.without_early_ends(&function, given) {
            return;
        }
        if let Some(proposer) = outside.filter(|p| !has_summary && !p.first)
            && let Some(found) = self.ask(proposer, &function)
        {
            self.complete(&function, found);
        }
    }

    /// Takes the kernel further where the original runs all calls that leave a loop early: to a proof if there was none, to code
    /// for more targets if there was one. Whether it came further then; if not, all is as it was.
    fn without_early_ends(
        &mut self,
        function: &loopir::Function,
        given: Option<tensir::Function>,
    ) -> bool {
        let Some(left) = left_to_the_original(function) else {
            return false;
        };
        let report = self.kernel.report.clone();
        let (proven, artefacts) = (
            self.kernel.proven.take(),
            std::mem::take(&mut self.kernel.artefacts),
        );
        let found = self.by_ourselves(&left, given);
        // That nothing is found, say, is of no use to anybody.
        if let Some(found) = found.filter(|(s, _)| !summarise::gives_up(&left, s)) {
            self.complete(&left, found);
        }
        let more = proven.is_none() || self.kernel.artefacts.len() > artefacts.len();
        if self.kernel.proven.is_some() && more {
            return true;
        }
        self.kernel.report = report;
        (self.kernel.proven, self.kernel.artefacts) = (proven, artefacts);
        false
    }

    /// Takes it from a proof to code.
    fn complete(&mut self, function: &loopir::Function, found: (tensir::Function, Proof)) {
        if self.measures_rows(function) {
            return;
        }
        let (summary, proof) = found;
        self.accept(&summary, &proof);
        let proven = Proven {
            function: function.clone(),
            summary,
            proof,
        };
        self.generate(&proven);
        self.kernel.proven = Some(proven);
    }

    /// Refuses what holds only where the rows of a table are equally far apart.
    fn measures_rows(&mut self, function: &loopir::Function) -> bool {
        let source = self
            .kernel
            .signature
            .as_ref()
            .and_then(|s| s.source.as_ref());
        let Some(table) = source.and_then(|s| measured(s, function)) else {
            return false;
        };
        let d = Diagnostic::error(
            "TZ0220",
            format!("what is computed may depend on how far apart the rows of `{table}` lie"),
        );
        let d = d
            .at(self.at(0))
            .help("compare and subtract pointers within one row only");
        self.kernel.report.fail(Status::Unsupported, d);
        true
    }

    /// Our own proposers, or the summary that was given.
    fn by_ourselves(
        &mut self,
        function: &loopir::Function,
        given: Option<tensir::Function>,
    ) -> Option<(tensir::Function, Proof)> {
        let limit = self.settings.time_limit;
        let start = Instant::now();
        let given = given.map(Proposal::from);
        let found = self.undisturbed(|stages| {
            limit::within(limit, || stages.find_proof(function, given.clone()))
        });
        match found {
            Ok(Some(found)) => return Some(found),
            Err(cut_off) => self.out_of_time(Some(cut_off)),
            // Nothing was cut off, but the solver answered nothing any more.
            Ok(None) if start.elapsed() >= limit => self.out_of_time(None),
            Ok(None) => {}
        }
        if let Some(how) = self.solver.take_death()
            && let Some(d) = self.kernel.report.diagnostics.last_mut()
        {
            let note = format!(
                "Z3 ended by itself ({how}), so that this may be provable: see that there is enough memory, and run it again"
            );
            d.notes.push(note);
        }
        None
    }

    /// Does this, and once more if Z3 ended by itself on the way, as when an interrupt reaches it alone: what it was asked then is
    /// unknown, and so something simpler may have come of it than there is.
    fn undisturbed<T>(&mut self, work: impl Fn(&mut Self) -> T) -> T {
        self.solver.take_death();
        let before = self.kernel.report.clone();
        let done = work(self);
        if self.solver.take_death().is_none() {
            return done;
        }
        self.kernel.report = before;
        work(self)
    }

    /// Has a program of the user's propose, and the prover judge.
    fn ask(
        &mut self,
        proposer: &Proposer,
        function: &loopir::Function,
    ) -> Option<(tensir::Function, Proof)> {
        let start = Instant::now();
        let span = self.kernel.span.clone();
        let text = guarded::bytes(&span.file, guarded::SOURCE).unwrap_or_default();
        let source = text.get(span.start..span.end).unwrap_or_default();
        let source = String::from_utf8_lossy(source);
        let subject = proposer::Subject {
            name: &function.name,
            file: span.file.display().to_string(),
            line: span.line,
            source: &source,
            loopir: function.to_string(),
        };
        let answer = proposer.ask(&subject, self.kernel.report.why.as_deref());
        self.kernel.report.times_us.propose += micros(start.elapsed());
        let mut failures = Vec::new();
        match answer {
            Err(why) => failures.push(why),
            Ok(candidates) if candidates.is_empty() => failures.push("it has no candidate".into()),
            Ok(candidates) => {
                for (at, candidate) in candidates.into_iter().enumerate() {
                    match candidate.and_then(|c| self.judge(function, c)) {
                        Ok(found) => return Some(found),
                        Err(why) => failures.push(format!("candidate {}: {why}", at + 1)),
                    }
                }
            }
        }
        let message = format!(
            "nothing came of the external proposer: {}",
            failures.join("; ")
        );
        let d = Diagnostic::warning("TZ0313", message).at(self.at(0));
        self.kernel.report.diagnostics.push(d);
        None
    }

    /// Whether a candidate is proven, and if not, why.
    fn judge(
        &mut self,
        function: &loopir::Function,
        candidate: tensir::Function,
    ) -> Result<(tensir::Function, Proof), String> {
        if !tensorize_prove::same_params(&candidate.params, &function.params) {
            return Err("its parameters are not those of the C function".into());
        }
        candidate.verify().map_err(|e| e.to_string())?;
        let start = Instant::now();
        let options = self.options(function);
        let work = || Proposal::from(candidate).prove(function, self.solver, &options);
        let verdict = limit::within(self.settings.time_limit, work);
        self.kernel.report.times_us.prove += micros(start.elapsed());
        match verdict {
            Ok((summary, Verdict::Proven(proof))) => Ok((summary, proof)),
            Ok((_, Verdict::Refuted { inputs, .. })) => Err(format!("wrong: {inputs}")),
            Ok((_, Verdict::Unknown { obligation, .. })) => {
                Err(format!("not proven: {obligation}"))
            }
            Err(work) => Err(format!("not proven in time: {}", work.what)),
        }
    }

    /// Notes the proof. Why our own proposers failed before is of no interest any more.
    fn accept(&mut self, summary: &tensir::Function, proof: &Proof) {
        let report = &mut self.kernel.report;
        report.status = Status::Proven;
        report.code = None;
        report.why = None;
        let stays = |d: &Diagnostic| d.code == Some("TZ0313") || d.severity == Severity::Note;
        report.diagnostics.retain(stays);
        report.tier = Some(proof.tier);
        report.guards = proof.guards.iter().map(ToString::to_string).collect();
        report.summary = summary.to_string();
        for why in &proof.loosened {
            let message = format!("tier real, not exact: {why}");
            let d = Diagnostic::warning("TZ0406", message).at(self.at(why.line));
            self.kernel.report.note(d);
        }
    }

    /// The time is up. What was open: the work that was cut off, or else what could not be shown without time.
    fn out_of_time(&mut self, cut_off: Option<limit::Work>) {
        let limit = self.settings.time_limit.as_secs_f64();
        let (what, line) = match cut_off {
            Some(work) if work.what.is_empty() => ("finding a summary".into(), 0),
            Some(work) => (work.what, work.line),
            None => (self.kernel.report.why.clone().unwrap_or_default(), 0),
        };
        let message = format!("not proven within {limit} s; what was open: {what}");
        let d = Diagnostic::warning("TZ0405", message).at(self.at(line));
        let help = "the original goes on to run; a smaller function, or more time (--time-limit), may help";
        self.kernel.report.diagnostics.clear();
        self.kernel.report.fail(Status::Unproven, d.help(help));
    }

    fn find_proof(
        &mut self,
        function: &loopir::Function,
        given: Option<Proposal>,
    ) -> Option<(tensir::Function, Proof)> {
        let proposal = given.or_else(|| self.propose(function))?;
        let summary = &proposal.raised;
        self.kernel.report.summary = summary.to_string();
        if !tensorize_prove::same_params(&summary.params, &function.params) {
            let message = "the summary's parameters are not those of the C function";
            let d = Diagnostic::error("TZ0311", message).at(self.at(0));
            let head = parameters(function);
            self.kernel
                .report
                .fail(Status::Error, d.note(format!("they are ({head})")));
            return None;
        }
        if let Err(e) = summary.verify() {
            let d = Diagnostic::error("TZ0312", format!("the summary is not well-formed: {e}"));
            self.kernel.report.fail(Status::Error, d.at(self.at(0)));
            return None;
        }
        self.prove(function, proposal)
    }

    fn propose(&mut self, function: &loopir::Function) -> Option<Proposal> {
        let start = Instant::now();
        let proposal = summarise::summarise(function, self.solver);
        self.kernel.report.times_us.propose = micros(start.elapsed());
        proposal
            .map_err(|r| {
                let d = Diagnostic::error(r.code, r.message).at(self.at(r.line));
                self.kernel.report.fail(Status::Unsupported, d.helped());
            })
            .ok()
    }

    fn prove(
        &mut self,
        function: &loopir::Function,
        proposal: Proposal,
    ) -> Option<(tensir::Function, Proof)> {
        let start = Instant::now();
        let options = self.options(function);
        // Where only the same bits are of use, a summary that has them comes first.
        let exact = (self.settings.tier == Tier::Exact && options.best == Tier::Exact)
            .then(|| {
                let options = Options {
                    worst: Tier::Exact,
                    refute: false,
                    ..options.clone()
                };
                proposal.clone().prove(function, self.solver, &options)
            })
            .filter(|(_, verdict)| matches!(verdict, Verdict::Proven(_)));
        let (summary, verdict) =
            exact.unwrap_or_else(|| proposal.prove(function, self.solver, &options));
        self.kernel.report.times_us.prove = micros(start.elapsed());
        let proof = match verdict {
            Verdict::Proven(proof) => proof,
            Verdict::Refuted { inputs, case } => {
                let d = Diagnostic::error("TZ0401", format!("the summary is wrong: {inputs}"));
                let replayed = original::replay(self.kernel, function, &summary, &case);
                let d = d.at(self.at(0)).note(replayed);
                self.kernel.report.fail(Status::Refuted, d);
                return None;
            }
            Verdict::Unknown { obligation, line } => {
                let d = Diagnostic::warning("TZ0402", format!("not proven: {obligation}"));
                let d = d.at(self.at(line)).helped();
                self.kernel.report.fail(Status::Unproven, d);
                return None;
            }
        };
        Some((summary, proof))
    }

    /// The strongest tier that the compiler's flags leave room for, and what is known of the arguments.
    fn options(&self, function: &loopir::Function) -> Options {
        let best = if function.computes_with_floats() {
            self.kernel.source.float_tier()
        } else {
            Tier::Exact
        };
        let source = self.kernel.signature.iter().flat_map(|s| &s.source);
        let structs = source
            .flat_map(|s| s.leaves())
            .map(|l| l.members().to_vec());
        Options {
            best,
            structs: structs.filter(|members| !members.is_empty()).collect(),
            ..Options::default()
        }
    }

    fn generate(&mut self, proven: &Proven) {
        let place = format!(
            "{}:{}",
            self.kernel.source.file.display(),
            self.kernel.span.line
        );
        let signature = self.kernel.signature.clone();
        let subject = Subject {
            proven,
            signature: signature.as_ref(),
            place: &place,
            tier: self.settings.tier,
            least_share: self.settings.least_share,
        };
        for target in &self.settings.targets {
            let generated = self.undisturbed(|stages| {
                let work = || generate::generate(target, &subject, stages.solver);
                limit::within(stages.settings.time_limit, work)
            });
            let (report, artefact) = generated.unwrap_or_else(|work| {
                let why = format!("the time limit was reached; what was open: {}", work.what);
                let status = TargetStatus::Failed;
                (TargetReport::without_code(status, why), None)
            });
            if report.status == TargetStatus::Failed {
                let message = format!("no code for {target}: {}", report.why);
                let d = Diagnostic::warning("TZ0602", message).at(Some(self.kernel.span.clone()));
                self.kernel.report.diagnostics.push(d);
            }
            self.kernel.report.targets.insert(target.clone(), report);
            self.kernel
                .artefacts
                .extend(artefact.map(|a| (target.clone(), a)));
        }
    }

    /// A line of the kernel's file, or all of the kernel for line 0.
    fn at(&self, line: u32) -> Option<Span> {
        match line {
            0 => Some(self.kernel.span.clone()),
            n => Some(line_span(&self.kernel.span.file, n)),
        }
    }
}

/// The parameters, as a summary writes them.
fn parameters(function: &loopir::Function) -> String {
    let empty = tensir::Function {
        name: function.name.clone(),
        params: function.params.clone(),
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let text = empty.to_string();
    let inner = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(") {"));
    inner.map_or("", |(params, _)| params).to_owned()
}
