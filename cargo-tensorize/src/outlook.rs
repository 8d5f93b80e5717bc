//! What a function that lifts might win, in words: an estimate, from the code that would be generated for the machine's cores.
//! Nothing is compiled or run for it.

use crate::pipeline::Proven;
use backends::Kernel;
use backends::cpu::outlook::{Work, outlook};
use serde::Serialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tensorize_ir::guard::Tier;
use tensorize_ir::limit;

/// What there is to win.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outlook {
    /// In words.
    pub gain: String,
    /// Calls that touch fewer elements are left to the original. Nothing where no call is worth the code.
    pub from_elements: Option<i64>,
    /// As many rounds, of all loops of a nest together, are for all cores. Nothing where one does it all.
    pub all_cores_from_rounds: Option<u64>,
    /// What the code would promise. Nothing without code.
    pub tier: Option<&'static str>,
}

/// The outlook for a proven function. It is a look at many: a part of the time that proving may take is enough.
pub fn of(proven: &Proven, time: Duration) -> Outlook {
    let kernel = Kernel {
        function: &proven.summary,
        tier: Tier::Real,
        footprints: &proven.proof.footprints,
        guards: &proven.proof.guards,
        plain: false,
        least_share: None,
        source: "",
        signature: backends::Signature::default(),
    };
    // What can't be estimated is no fault of the function's.
    let found = catch_unwind(AssertUnwindSafe(|| {
        limit::within(time, || outlook(&kernel))
    }));
    match found {
        Ok(Ok(Ok(found))) => in_words(found, proven.proof.tier),
        Ok(Ok(Err(refused))) => without_code(&refused.why),
        Ok(Err(_)) | Err(_) => without_code("its code takes long to write"),
    }
}

fn without_code(why: &str) -> Outlook {
    Outlook {
        gain: format!("no code for cores: {why}"),
        from_elements: None,
        all_cores_from_rounds: None,
        tier: None,
    }
}

fn in_words(found: backends::cpu::outlook::Outlook, proof: Tier) -> Outlook {
    let tier = found.tier.max(proof).name();
    let what = match found.work {
        Work::Products => "a BLAS-class library",
        Work::Sums => "float sums in vectors",
        Work::Functions => "exp, log and the like in vectors",
        Work::Rounds => "one round after the other, each in vectors",
        Work::Nested => "loops that wait for nothing",
        Work::Elements => "memory-bound, up to the speed of a copy",
        Work::InOrder => "little: its loops keep their order",
        Work::Nothing => "nothing: it has no loop",
    };
    // What the table says of the proof is not so of this code.
    let weaker = match found.tier > proof {
        true => " (tier real)",
        false => "",
    };
    let more = found.alone.map(|alone| alone + 1);
    let cores = more.map_or(String::new(), |n| format!("; all cores from {n} rounds"));
    let nothing = found.work == Work::Nothing;
    Outlook {
        gain: format!("{what}{weaker}{cores}"),
        from_elements: (!nothing).then_some(tensorize_rt::tuned::LEAST),
        all_cores_from_rounds: more,
        tier: Some(tier),
    }
}
