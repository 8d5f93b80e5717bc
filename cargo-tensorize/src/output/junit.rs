//! JUnit's XML, as test reports of CI systems read it: a suite for each C file, a case for each kernel.

use super::{Told, from_root};
use crate::diagnostics::{Diagnostic, Severity};
use crate::exit::Code;
use crate::report::{KernelReport, Status};
use annotate_snippets::Renderer;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The document.
pub(super) fn document(told: &Told, wall: Duration) -> String {
    let mut report = Report::new("cargo-tensorize");
    report.set_time(wall);
    let mut suites: Vec<TestSuite> = Vec::new();
    for (kernel, code) in &told.kernels {
        let file = from_root(&kernel.file);
        let mut case = TestCase::new(kernel.name.as_str(), status(kernel, *code));
        case.set_classname(file.as_str());
        let t = kernel.times_us;
        let spent = t.parse + t.propose + t.prove + t.differential;
        case.set_time(Duration::from_micros(spent));
        match suites.iter_mut().find(|s| s.name.as_str() == file) {
            Some(suite) => suite,
            None => {
                suites.push(TestSuite::new(file.as_str()));
                suites.last_mut().expect("just added")
            }
        }
        .add_test_case(case);
    }
    let errors = told.others.iter().filter(|d| d.severity == Severity::Error);
    let mut project = TestSuite::new("project");
    for d in errors {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        describe(&mut status, std::slice::from_ref(d));
        project.add_test_case(TestCase::new(d.message.as_str(), status));
    }
    if !project.test_cases.is_empty() {
        suites.push(project);
    }
    report.add_test_suites(suites);
    // Text is cleaned of what XML can't hold when it goes in.
    report.to_string().unwrap_or_default()
}

fn status(kernel: &KernelReport, code: Code) -> TestCaseStatus {
    let mut status = match code {
        Code::Clean if kernel.status == Status::Proven => return TestCaseStatus::success(),
        // The original goes on to run, and that was said to be good enough.
        Code::Clean => TestCaseStatus::skipped(),
        Code::CouldNotRun => TestCaseStatus::non_success(NonSuccessKind::Error),
        _ => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    describe(&mut status, &kernel.diagnostics);
    status
}

fn describe(status: &mut TestCaseStatus, diagnostics: &[Diagnostic]) {
    let Some(first) = diagnostics.iter().find(|d| d.severity != Severity::Note) else {
        return;
    };
    status.set_message(first.message.as_str());
    status.set_type(first.code.unwrap_or_default());
    let texts = diagnostics.iter().map(|d| d.render(&Renderer::plain()));
    status.set_description(texts.collect::<Vec<_>>().join("\n\n"));
}
