//! Code for targets, and the checks that it has to pass.

use crate::pipeline::Proven;
use crate::report::{SPLIT, TargetReport, TargetStatus};
use crate::rounded::decides_integers;
use backends::{Generated, Target};
use std::collections::BTreeMap;
use std::time::Duration;
use tensorize_ir::effort::{Effort, MOST, effort};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::inputs::Spec;
use tensorize_ir::limit;
use tensorize_lift::c::Signature;
use tensorize_lift::summarise::Summariser;
use tensorize_prove::solver::{Answer, Solver};
use tensorize_prove::{Options, Verdict};

/// Code for one target that passed every check.
#[derive(Clone, Debug)]
pub struct Artefact {
    /// File name's ending, without the dot.
    pub extension: String,
    /// The source.
    pub text: String,
    /// The function to call.
    pub entry: String,
    /// The weaker one of the summary's tier and the code's own.
    pub tier: Tier,
    /// What a call has to meet beyond the kernel's guards.
    pub guards: Vec<Guard>,
}

/// A proven kernel, as a target needs it.
pub struct Subject<'a> {
    /// What was proven.
    pub proven: &'a Proven,
    /// How C spells its types.
    pub signature: Option<&'a Signature>,
    /// `file:line`.
    pub place: &'a str,
    /// The weakest tier that may be swapped in.
    pub tier: Tier,
    /// From which share of a kernel on a target may compute a part of it alone.
    pub least_share: Option<f64>,
}

/// Why the code for a loop over time is of no use: each round may compute anew, for each element, what the original computes
/// once a round.
fn repeats(generated: &Generated, proven: &Proven) -> Option<String> {
    let code = generated.loopir.as_ref()?;
    proven.summary.rounds.as_ref()?;
    let Proven {
        function, proof, ..
    } = proven;
    let spec = Spec::known(&function.params, &proof.guards, &proof.footprints);
    let Effort { original, code } = effort(function, code, &spec).ok()??;
    code.is_none().then(|| {
        format!(
            "its code would do some of the work again and again: where the original takes {original} steps, more than {MOST} times \
             as many"
        )
    })
}

/// The target of that name.
pub fn find(name: &str) -> Option<&'static dyn Target> {
    backends::targets().into_iter().find(|t| t.name() == name)
}

/// The names of all targets.
pub fn names() -> Vec<&'static str> {
    backends::targets().iter().map(|t| t.name()).collect()
}

/// How a target did: the report, and the code if it is proven.
pub fn generate(
    name: &str,
    subject: &Subject,
    solver: &mut Solver,
) -> (TargetReport, Option<Artefact>) {
    let report = |status, why: String| (TargetReport::without_code(status, why), None);
    let Proven { summary, proof, .. } = subject.proven;
    let Some(target) = find(name) else {
        return report(
            TargetStatus::Unsupported,
            format!("there is no target `{name}`"),
        );
    };
    if proof.tier > subject.tier {
        let (is, asked) = (proof.tier, subject.tier);
        let why = format!("the proof is of tier {is}, the configuration asks for {asked}");
        return report(TargetStatus::Unsupported, why);
    }
    if summary.rounds.is_some() && !target.has_rounds() {
        let why = "it does the same several times over, and this target has no such loops as yet";
        return report(TargetStatus::Unsupported, why.into());
    }
    if (!summary.state.is_empty() || summary.status().is_some()) && !target.has_state() {
        let why = "what it does several times over leaves numbers or arrays of its own to the next time, or returns a value in the \
                   end, and this target has the caller's arrays only as yet";
        return report(TargetStatus::Unsupported, why.into());
    }
    if summary.stores_where_data_says() && !target.has_state() {
        let why =
            "the data says where it stores something, and this target has no such stores as yet";
        return report(TargetStatus::Unsupported, why.into());
    }
    let make = |tier: Tier, plain: bool| {
        target.generate(&backends::Kernel {
            function: summary,
            tier,
            footprints: &proof.footprints,
            guards: &proof.guards,
            plain,
            least_share: subject.least_share,
            source: subject.place,
            signature: subject.signature.map(spelling).unwrap_or_default(),
        })
    };
    let of_integers = proof.tier == Tier::Exact && decides_integers(summary);
    // What one round rounds in another way, later ones may make as large as they like: the same bits come first.
    let asked = match summary.rounds {
        _ if of_integers => Tier::Exact,
        Some(_) if make(Tier::Exact, false).is_ok() => Tier::Exact,
        _ => subject.tier,
    };
    let (first, plain) = match (make(asked, false), make(asked, true)) {
        (Err(u), _) if of_integers => {
            let why =
                "integers depend on a sum of floats, of which the order is to stay what it is";
            return report(TargetStatus::Unsupported, format!("{why}: {}", u.why));
        }
        (Err(u), _) => return report(TargetStatus::Unsupported, u.why),
        (Ok(first), plain) => (first, plain.ok()),
    };
    let plain = plain.filter(|plain| *plain != first);
    // Half of the time is for what is easier to prove.
    let time = limit::left()
        .filter(|_| plain.is_some())
        .map(|left| left / 2);
    let proven = limit::within(time.unwrap_or(Duration::MAX), || {
        prove(&first, subject, solver)
    });
    let mut found = match proven {
        Ok(proven) => proven.map(|proven| (first.clone(), proven)),
        Err(work) => Err(format!(
            "the time limit was reached; what was open: {}",
            work.what
        )),
    };
    // Sums in another order may not decide what is written: then they are left in the order that they have.
    let in_order = (first.tier == Tier::Real && proof.tier == Tier::Exact)
        .then(|| make(Tier::Exact, true).ok());
    for other in plain.into_iter().chain(in_order.flatten()) {
        if found.is_err()
            && let Ok(proven) = prove(&other, subject, solver)
        {
            found = Ok((other, proven));
        }
    }
    let (generated, (tier, mut guards)) = match found {
        Ok(found) => found,
        Err(why) => return report(TargetStatus::Failed, why),
    };
    if let Some(why) = repeats(&generated, subject.proven) {
        return report(TargetStatus::Unsupported, why);
    }
    if generated.eager_reads {
        // What it fetches beforehand is touched by the original only if these loops run.
        let eager = proof.eager_guards.iter().map(|(_, guard)| guard.clone());
        guards.extend(eager.filter(|g| !proof.guards.contains(g)));
    }
    let [(file, text)] = generated.files.as_slice() else {
        let why = format!(
            "{} files were generated; one is expected",
            generated.files.len()
        );
        return report(TargetStatus::Failed, why);
    };
    let artefact = Artefact {
        extension: file.rsplit_once('.').map_or("txt", |(_, e)| e).to_owned(),
        text: text.clone(),
        entry: generated.entry.clone(),
        tier,
        guards,
    };
    (
        TargetReport {
            status: TargetStatus::Generated,
            tier: Some(tier),
            max_rel_error: None,
            ran_on: None,
            why: generated
                .split
                .map_or_else(String::new, |s| format!("{SPLIT}{s}")),
            excused: false,
        },
        Some(artefact),
    )
}

/// Proves the generated code, if it has a form that can be proven: its tier and the guards it adds.
fn prove(
    generated: &Generated,
    subject: &Subject,
    solver: &mut Solver,
) -> Result<(Tier, Vec<Guard>), String> {
    let Proven { summary, proof, .. } = subject.proven;
    let tier = proof.tier.max(generated.tier);
    let wrong = |t: &&String| solver.check(t) != Answer::Unsat;
    if let Some(theorem) = generated.theorems.iter().find(wrong) {
        return Err(format!(
            "the solver does not confirm what its code rests on:\n{theorem}"
        ));
    }
    let Some(code) = &generated.loopir else {
        return Ok((tier, Vec::new()));
    };
    let options = Options {
        best: generated.tier,
        worst: subject.tier,
        ..Options::default()
    };
    let verdict =
        tensorize_prove::prove_generated(code, summary, proof, &Summariser, solver, &options);
    match verdict {
        Verdict::Proven(own) => {
            let added = own.guards.into_iter().filter(|g| !proof.guards.contains(g));
            Ok((tier.max(own.tier), added.collect()))
        }
        Verdict::Refuted { inputs, .. } => Err(format!("its code is wrong: {inputs}")),
        Verdict::Unknown { obligation, .. } => Err(format!("its code is not proven: {obligation}")),
    }
}

fn spelling(signature: &Signature) -> backends::Signature {
    backends::Signature {
        params: signature
            .params
            .iter()
            .map(|p| (p.name.clone(), p.c_type.clone()))
            .collect(),
        ret: signature.ret.as_ref().map(|(c, _)| c.clone()),
    }
}

/// Artefacts by target.
pub type Artefacts = BTreeMap<String, Artefact>;
