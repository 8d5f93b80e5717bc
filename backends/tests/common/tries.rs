//! Functions of many operators each, as a target takes them, so that few are to be compiled.

use super::cases::{self, cases, function, inputs, reductions};
use super::{conversions, corpus, inside, try_generate};
use std::fmt::Write as _;
use tensorize_backends::{Generated, Target};
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Function;

/// A function with the code for it, and what it is called with.
pub struct Try {
    pub function: Function,
    pub generated: Generated,
    pub calls: Vec<Inputs>,
}

/// Every operator on every type, with C's bits where the target has them; and what it refuses, a line each.
pub fn operators(target: &dyn Target) -> (Vec<Try>, String) {
    let (mut tries, mut refused) = (Vec::new(), String::new());
    for ty in ScalarType::ALL {
        let mut able = [Vec::new(), Vec::new()];
        for case in cases(ty) {
            let one = function("one", ty, std::slice::from_ref(&case));
            let shown = corpus::shown(&case);
            let exact = try_generate(target, &one, Tier::Exact, &[]);
            let real = try_generate(target, &one, Tier::Real, &[]);
            if exact.is_err() {
                writeln!(refused, "{shown}: {}", corpus::promise(&exact, &real)).unwrap();
            }
            match (exact, real) {
                (Ok(_), _) => able[0].push(case),
                (_, Ok(_)) => able[1].push(case),
                _ => {}
            }
        }
        for (tier, cases) in [Tier::Exact, Tier::Real].into_iter().zip(able) {
            if cases.is_empty() {
                continue;
            }
            let function = function(&format!("{tier}_on_{}", ty.name()), ty, &cases);
            let generated = try_generate(target, &function, tier, &[]).unwrap();
            assert_eq!(generated.tier, tier, "{}", function.name);
            let calls = vec![inputs(&function, ty, tier)];
            tries.push(Try {
                function,
                generated,
                calls,
            });
        }
    }
    (tries, refused)
}

/// Every way to fold numbers of these types, and what the target refuses of them.
pub fn folds(target: &dyn Target, types: &[ScalarType]) -> (Vec<Try>, String) {
    let (mut tries, mut refused) = (Vec::new(), String::new());
    for &ty in types {
        for tier in [Tier::Exact, Tier::Real] {
            if tier == Tier::Real && ty.is_int() {
                continue;
            }
            let able = reductions(ty).into_iter().filter(|fold| {
                let one = cases::folds("one", ty, std::slice::from_ref(fold));
                let why = match try_generate(target, &one, tier, &[]) {
                    Ok(_) => return true,
                    Err(why) => why,
                };
                writeln!(refused, "reduce {ty} by {:?}, {tier}: {why}", fold.0).unwrap();
                false
            });
            let able: Vec<_> = able.collect();
            if able.is_empty() {
                continue;
            }
            let function = cases::folds(&format!("{tier}_folds_of_{}", ty.name()), ty, &able);
            let generated = try_generate(target, &function, tier, &[]).unwrap();
            tries.push(Try {
                calls: cases::fold_calls(&function, ty, tier),
                function,
                generated,
            });
        }
    }
    (tries, refused)
}

/// The same for operators inside of expressions, where nothing is rounded, and for integers of floats.
pub fn insides(target: &dyn Target) -> Vec<Try> {
    let code = |f: &Function| try_generate(target, f, Tier::Exact, &[]);
    let items = inside::together(&|f| code(f).is_ok());
    let mut conversions = conversions::all();
    conversions.retain(|item| code(&item.function).is_ok());
    let all = items.into_iter().chain(conversions).map(|item| Try {
        generated: code(&item.function).unwrap(),
        function: item.function,
        calls: item.calls,
    });
    all.collect()
}
