//! Between a kernel's result and its record in `.tensorize/`.

use crate::codes;
use crate::columns::{Part, reaches_too_far, touched, within_objects};
use crate::generate::{self, Artefact};
use crate::pipeline::{Kernel, Settings};
use crate::python;
use crate::report::{KernelReport, Status, TargetReport, TargetStatus};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tensorize_build::current::is_about;
use tensorize_build::hash::Hashes;
use tensorize_build::record::{CType, Param, Prototype, Record, StoredFootprint, TargetRecord};
use tensorize_ir::guard::{Footprint, Guard, Tier};
use tensorize_ir::index::Idx;
use tensorize_lift::c::Signature;

/// The record of a kernel of a file (relative to the manifest), and the sources that go with it.
pub fn record(
    kernel: &Kernel,
    file: &str,
    hashes: &Hashes,
    either_sign: bool,
    z3: &str,
    settings: &Settings,
) -> (Record, BTreeMap<String, String>) {
    let r = &kernel.report;
    let text = |s: &str| (!s.is_empty()).then(|| s.to_owned());
    let mut record = Record::new(&r.name, file, r.line, &hashes.here, r.status);
    record.either_sign = either_sign;
    record.tier = r.tier.map(|t| t.name().into());
    record.code = r.code.map(Into::into);
    record.why = r.why.clone();
    record.guards = r.guards.clone();
    record.z3 = text(z3);
    record.least_share = settings.least_share;
    record.summary = text(&r.summary);
    record.prototype = kernel
        .signature
        .as_ref()
        .map(|s| prototype(s, kernel.is_static));
    let source = kernel.signature.as_ref().and_then(|s| s.source.as_ref());
    if let Some(proven) = &kernel.proven {
        // What holds never, where there is no telling: then nobody calls it with slices.
        let never = || vec![Guard::NonNegative(Idx::constant(-1))];
        let mut conditions = proven.proof.asked_of_slices.clone().unwrap_or_else(never);
        if let Some(source) = source {
            conditions.extend(within_objects(source, &proven.summary, &proven.proof));
            if reaches_too_far(source, &proven.summary) {
                conditions.extend(never());
            }
        }
        record.within_objects = conditions.iter().map(ToString::to_string).collect();
        for f in &proven.proof.footprints {
            let distances = source.and_then(|s| s.pitch_of(&f.extent.array));
            let part = |part: Part| {
                let found = touched(&proven.proof.accesses, &f.extent.array, distances?, part);
                found.map(|(lo, hi)| [lo.to_string(), hi.to_string()])
            };
            let of_planes = distances.is_some_and(|(_, per_plane)| per_plane.is_some());
            record.footprints.push(StoredFootprint {
                columns: part(Part::Column),
                rows: of_planes.then(|| part(Part::Row)).flatten(),
                planes: of_planes.then(|| part(Part::Plane)).flatten(),
                ..stored_footprint(f)
            });
        }
    }
    record.evidence = r.evidence.clone();
    for (name, report) in &r.targets {
        let artefact = kernel.artefacts.get(name);
        record
            .targets
            .insert(name.clone(), target(name, &r.name, report, artefact));
    }
    let sources = kernel
        .artefacts
        .iter()
        .map(|(t, a)| (t.clone(), a.text.clone()))
        .collect();
    (record, sources)
}

/// Whether the record still answers for a kernel with these hashes. What isn't proven is never final: a later
/// version, or a luckier solver, may prove it.
pub fn is_current(record: &Record, hashes: &Hashes, z3: &str, settings: &Settings) -> bool {
    let targets = &settings.targets;
    let done = |name: &String| match record.targets.get(name).map(|t| t.status) {
        Some(TargetStatus::Generated | TargetStatus::Unsupported) => true,
        Some(TargetStatus::NotRun) => !may_run_now(name),
        Some(TargetStatus::Failed) | None => false,
    };
    record.status == Status::Proven
        && is_about(record, hashes)
        && record.is_of_this_version()
        && record.z3.as_deref() == Some(z3)
        && record.least_share == settings.least_share
        && record.targets.len() == targets.len()
        && targets.iter().all(done)
}

/// Whether code for a target that once could not be run perhaps could be now.
fn may_run_now(target: &str) -> bool {
    let Some(target) = generate::find(target) else {
        return false;
    };
    match target.python_package().or(target.partly_python()) {
        Some(package) => python::has(package),
        None => target.runs_on_device(),
    }
}

/// The tier of that name; the weaker one if it is not known.
fn tier(name: Option<&str>) -> Tier {
    match name {
        Some("exact") => Tier::Exact,
        _ => Tier::Real,
    }
}

/// The targets that there is code for, and its tiers.
pub fn tiers_of_code(record: &Record) -> impl Iterator<Item = (&str, Tier)> {
    let code = |t: &TargetRecord| t.status == TargetStatus::Generated;
    let targets = record.targets.iter().filter(move |(_, t)| code(t));
    targets.map(|(name, t)| (name.as_str(), tier(t.tier.as_deref())))
}

/// Why a record of the file as it is now is out of date all the same: an older version of this program wrote it, or
/// other targets or splits are asked for.
pub fn outdated(record: &Record, targets: &[String], least_share: Option<f64>) -> Option<String> {
    let fresh = Record::new("", "", 0, "", Status::Proven);
    if !record.is_of_this_version() {
        return Some(format!(
            "it was written by {}, and this is {}",
            record.tool, fresh.tool
        ));
    }
    if record.status != Status::Proven {
        return None;
    }
    if record.least_share != least_share {
        return Some("it was split by another `least_share`".into());
    }
    let missing = targets.iter().find(|t| !record.targets.contains_key(*t));
    let superfluous = record.targets.keys().find(|t| !targets.contains(t));
    match (missing, superfluous) {
        (Some(t), _) => Some(format!("it has nothing for the target {t}")),
        (_, Some(t)) => Some(format!("it has code for {t}, which is no target any more")),
        _ => None,
    }
}

/// What the record says, as a report. No time was spent.
pub fn report(record: &Record, file: PathBuf, line: u32) -> KernelReport {
    let mut report = KernelReport::new(&record.name, file, line);
    report.status = record.status;
    report.stored = true;
    report.tier = (record.status == Status::Proven).then(|| tier(record.tier.as_deref()));
    report.code = record.code.as_deref().and_then(codes::find).map(|c| c.code);
    report.why = record.why.clone();
    report.guards = record.guards.clone();
    report.summary = record.summary.clone().unwrap_or_default();
    let target = |t: &TargetRecord| TargetReport {
        tier: t.tier.as_deref().map(|name| tier(Some(name))),
        ..TargetReport::without_code(t.status, t.why.clone().unwrap_or_default())
    };
    report.targets = record
        .targets
        .iter()
        .map(|(name, t)| (name.clone(), target(t)))
        .collect();
    report
}

fn prototype(signature: &Signature, is_static: bool) -> Prototype {
    let param = |p: &tensorize_lift::c::CParam| Param {
        name: p.name.clone(),
        c: p.c_type.clone(),
        scalar: p.scalar.to_string(),
        pointer: p.pointer,
        is_const: p.is_const,
        restrict: p.restrict,
    };
    Prototype {
        ret: signature.ret.as_ref().map(|(c, ty)| CType {
            c: c.clone(),
            scalar: ty.to_string(),
        }),
        is_static,
        params: signature.params.iter().map(param).collect(),
        source: signature.source.clone(),
    }
}

fn stored_footprint(f: &Footprint) -> StoredFootprint {
    StoredFootprint {
        array: f.extent.array.to_string(),
        lo: f.extent.lo.to_string(),
        hi: f.extent.hi.to_string(),
        columns: None,
        rows: None,
        planes: None,
        reads: f.reads,
        writes: f.writes,
        reads_depend_on_data: f.reads_depend_on_data,
        writes_depend_on_data: f.writes_depend_on_data,
    }
}

fn target(
    name: &str,
    kernel: &str,
    report: &TargetReport,
    artefact: Option<&Artefact>,
) -> TargetRecord {
    TargetRecord {
        status: report.status,
        tier: artefact.map(|a| a.tier.name().into()),
        file: artefact.map(|a| format!("{name}/{kernel}.{}", a.extension)),
        entry: artefact.map(|a| a.entry.clone()),
        emulated: artefact.is_some() && generate::find(name).is_some_and(|t| t.is_emulated()),
        source_hash: None,
        guards: artefact.map_or_else(Vec::new, |a| {
            a.guards.iter().map(ToString::to_string).collect()
        }),
        why: (!report.why.is_empty()).then(|| report.why.clone()),
    }
}
