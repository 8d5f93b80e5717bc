//! What the proof says of each loop: recorded while the proof is made once more.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Sym;
use tensorize_ir::limit;
use tensorize_ir::loopir::{self, Loop};
use tensorize_ir::tensir;
use tensorize_lift::summarise::Summariser;
use tensorize_prove::chain::Effect;
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::{ClosedForm, Oracle, ScalarForm};
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Verdict};

/// Proposes what our own oracle does, and remembers it by the line of the loop.
#[derive(Default)]
struct Recording(RefCell<BTreeMap<u32, (Sym, ClosedForm)>>);

impl Oracle for Recording {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let form = Summariser.closed_form(exec, l, state, k)?;
        // The last one is the one that was checked.
        self.0
            .borrow_mut()
            .insert(l.line, (k.clone(), form.clone()));
        Ok(form)
    }
}

/// The invariants of the loops, in words; `None` if this way of proving does not lead there, as for summaries that
/// were searched for.
pub(super) fn of(
    function: &loopir::Function,
    summary: &tensir::Function,
    best: Tier,
    time_limit: std::time::Duration,
    solver: &mut Solver,
) -> Option<String> {
    let recording = Recording::default();
    let options = Options {
        best,
        refute: false,
        ..Options::default()
    };
    let prove = || tensorize_prove::prove(function, summary, &recording, solver, &options);
    let Ok(Verdict::Proven(_)) = limit::within(time_limit, prove) else {
        return None;
    };
    let forms = recording.0.into_inner();
    let mut text = String::new();
    for (line, (round, form)) in forms {
        let name = plain(&round);
        let _ = writeln!(
            text,
            "  line {line}: {} rounds; before round {name}",
            plain(&form.trip.to_string())
        );
        for (var, scalar) in &form.scalars {
            let what = match scalar {
                ScalarForm::At(value) => format!("is {value}"),
                ScalarForm::Fold { acc, step } => {
                    format!("has {name} times become {step}, {acc} being what it was")
                }
                ScalarForm::Last(value) => format!("is what the round before left: {value}"),
            };
            let _ = writeln!(text, "    {var} {}", plain(&what));
        }
        for (array, effects) in &form.arrays {
            if effects.is_empty() {
                let _ = writeln!(text, "    {array} is as before the loop");
            }
            for effect in effects {
                let _ = writeln!(text, "    {}", plain(&written(array, effect)));
            }
        }
    }
    Some(text)
}

/// `out[i] is …, for 0 <= i < k`.
fn written(array: &str, effect: &Effect) -> String {
    match effect {
        Effect::Point { cond, index, value } => {
            let always = cond.to_string() == "true" || cond.to_string() == "1:i1";
            let when = if always {
                String::new()
            } else {
                format!(", where {cond}")
            };
            format!("{array}[{index}] is {value}{when}")
        }
        Effect::Loop { var, extent, body } => {
            let all: Vec<String> = body.iter().map(|e| written(array, e)).collect();
            format!("{}, for 0 <= {var} < {extent}", all.join(" and "))
        }
    }
}

/// Bound names have marks that no C name has; here they are in nobody's way.
pub(super) fn plain(text: &str) -> String {
    text.replace(['!', '\''], "_")
}
