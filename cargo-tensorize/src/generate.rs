//! Code for targets, and the checks that it has to pass.

use crate::report::{TargetReport, TargetStatus};
use backends::{Generated, Target};
use std::collections::BTreeMap;
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::tensir;
use tensorize_lift::c::Signature;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Proof, Verdict};

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
    /// The summary.
    pub summary: &'a tensir::Function,
    /// Its proof.
    pub proof: &'a Proof,
    /// How C spells its types.
    pub signature: Option<&'a Signature>,
    /// `file:line`.
    pub source: &'a str,
    /// The weakest tier that may be swapped in.
    pub tier: Tier,
}

/// The target of that name.
pub fn find(name: &str) -> Option<&'static dyn Target> {
    backends::targets().iter().copied().find(|t| t.name() == name)
}

/// The names of all targets.
pub fn names() -> Vec<&'static str> {
    backends::targets().iter().map(|t| t.name()).collect()
}

/// How a target did: the report, and the code if it is good. `run` compares the code with the original and
/// says what differs.
pub fn generate(
    name: &str,
    subject: &Subject,
    solver: &mut Solver,
    run: &mut dyn FnMut(&Generated) -> Result<(), String>,
) -> (TargetReport, Option<Artefact>) {
    let report = |status, why: String| (TargetReport { status, why }, None);
    let Some(target) = find(name) else {
        return report(TargetStatus::Unsupported, format!("there is no target `{name}`"));
    };
    if subject.proof.tier > subject.tier {
        let why = format!(
            "the proof is of tier {}, the configuration asks for {}",
            subject.proof.tier.name(),
            subject.tier.name()
        );
        return report(TargetStatus::Unsupported, why);
    }
    let kernel = backends::Kernel {
        function: subject.summary,
        tier: subject.tier,
        footprints: &subject.proof.footprints,
        source: subject.source,
        signature: subject.signature.map(spelling).unwrap_or_default(),
    };
    let generated = match target.generate(&kernel) {
        Ok(generated) => generated,
        Err(unsupported) => return report(TargetStatus::Unsupported, unsupported.why),
    };
    if let Some(f) = subject.proof.footprints.iter().find(|f| f.reads_depend_on_data)
        && generated.eager_reads
    {
        let why = format!("the original reads some of `{}` only on some data", f.extent.array);
        return report(TargetStatus::Unsupported, why);
    }
    let checked = check(&generated, subject, solver).and_then(|ok| run(&generated).map(|()| ok));
    let (tier, guards) = match checked {
        Ok(ok) => ok,
        Err(why) => return report(TargetStatus::Failed, why),
    };
    let [(file, text)] = generated.files.as_slice() else {
        let why = format!("{} files were generated; one is expected", generated.files.len());
        return report(TargetStatus::Failed, why);
    };
    let artefact = Artefact {
        extension: file.rsplit_once('.').map_or("txt", |(_, e)| e).to_owned(),
        text: text.clone(),
        entry: generated.entry.clone(),
        tier,
        guards,
    };
    (TargetReport { status: TargetStatus::Generated, why: String::new() }, Some(artefact))
}

/// Proves the generated code, if it has a form that can be proven: its tier and the guards it adds.
fn check(
    generated: &Generated,
    subject: &Subject,
    solver: &mut Solver,
) -> Result<(Tier, Vec<Guard>), String> {
    let tier = subject.proof.tier.max(generated.tier);
    let Some(code) = &generated.loopir else {
        return Ok((tier, Vec::new()));
    };
    match crate::pipeline::prove(code, subject.summary, solver) {
        Verdict::Proven(proof) => {
            let tier = tier.max(proof.tier);
            if tier > subject.tier {
                return Err(format!("its code could only be proven at tier {}", tier.name()));
            }
            let known = &subject.proof.guards;
            Ok((tier, proof.guards.into_iter().filter(|g| !known.contains(g)).collect()))
        }
        Verdict::Refuted { inputs } => Err(format!("its code is wrong: {inputs}")),
        Verdict::Unknown { obligation, .. } => Err(format!("its code is not proven: {obligation}")),
    }
}

fn spelling(signature: &Signature) -> backends::Signature {
    backends::Signature {
        params: signature.params.iter().map(|p| (p.name.clone(), p.c_type.clone())).collect(),
        ret: signature.ret.as_ref().map(|(c, _)| c.clone()),
    }
}

/// Artefacts by target.
pub type Artefacts = BTreeMap<String, Artefact>;
