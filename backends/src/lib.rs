//! Back ends: from a proven TensIR function to code for a target.
//!
//! A target is one folder or file here and one line in [`targets`]. A back end proposes; it is not
//! trusted: what it lowers to LoopIR is proven against the TensIR function by the caller, and all of
//! it is run against the original before it ships.

pub mod array;
pub mod cpu;
mod cut;
pub mod frameworks;
pub mod gaudi;
pub mod gemmini;
mod index;
mod layout;
pub mod magic;
mod names;
pub mod rows;
mod scatter;
pub mod simt;
pub mod stablehlo;
mod summary;

use std::sync::{PoisonError, RwLock};
use tensorize_ir::guard::{Footprint, Guard, Tier};
use tensorize_ir::{loopir, tensir};

use summary::summary_lines;

/// Something that kernels can be compiled for.
pub trait Target: Sync {
    /// What `--target` takes.
    fn name(&self) -> &'static str;

    /// One line for people.
    fn describe(&self) -> &'static str;

    /// Whether generated C runs on a stand-in for the device, for lack of one. (A module in Python says so itself, as
    /// `EMULATED`.)
    fn is_emulated(&self) -> bool {
        false
    }

    /// What Python has to import before its code can run; `None` if it is not Python.
    fn python_package(&self) -> Option<&'static str> {
        None
    }

    /// The same for a target whose code is Python for some kernels and not for others.
    fn partly_python(&self) -> Option<&'static str> {
        None
    }

    /// Whether the code is for a device whose driver compiles it when the program runs.
    fn runs_on_device(&self) -> bool {
        false
    }

    /// Whether there is code for summaries that are done several times over ([`tensir::Rounds`]). Where there is not, none
    /// is asked for.
    fn has_rounds(&self) -> bool {
        false
    }

    /// Whether there is code for those of which rounds leave more than the caller's arrays: to the next ones
    /// ([`tensir::State`]), or a value that is returned after the last; and for those of which the data says where they store
    /// something ([`tensir::Function::stores_where_data_says`]). Where there is not, none is asked for.
    fn has_state(&self) -> bool {
        false
    }

    /// Code for one kernel.
    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported>;
}

/// A kernel with a proven summary.
#[derive(Clone, Debug)]
pub struct Kernel<'a> {
    /// The summary.
    pub function: &'a tensir::Function,
    /// The weakest tier that the generated code may be of.
    pub tier: Tier,
    /// The memory that it touches, as proven.
    pub footprints: &'a [Footprint],
    /// What holds at every call, as proven.
    pub guards: &'a [Guard],
    /// Whether code that is simple to prove is wanted, since the faster one was not proven.
    pub plain: bool,
    /// The least share of its elementwise operators that a target has to compute for a split to be worth moving the
    /// data, if somebody asks for another than the target's own.
    pub least_share: Option<f64>,
    /// Where it stands in the source, as `file:line`.
    pub source: &'a str,
    /// How the C prototype spells its types.
    pub signature: Signature,
}

impl<'a> Kernel<'a> {
    /// The same kernel with another summary.
    pub(crate) fn with<'b>(&'b self, function: &'b tensir::Function) -> Kernel<'b>
    where
        'a: 'b,
    {
        Kernel {
            function,
            ..self.clone()
        }
    }
}

/// How the C prototype spells its types. Only comments show these: the generated function has the
/// same types under their `<stdint.h>` names, so that it needs none of the user's headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Name and C type of each parameter, in order.
    pub params: Vec<(String, String)>,
    /// C type of the result; `None` for `void`.
    pub ret: Option<String>,
}

/// What a back end made.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// File names with their text.
    pub files: Vec<(String, String)>,
    /// The name to call.
    pub entry: String,
    /// How much the generated code promises, relative to the summary.
    pub tier: Tier,
    /// The same code as LoopIR, to be proven against the summary; `None` if the target has no such form.
    pub loopir: Option<loopir::Function>,
    /// Whether it fetches all of a footprint, also where the original reads some of it only on some data.
    pub eager_reads: bool,
    /// What the machine's own cores compute of it, for people, where the target does not compute it all.
    pub split: Option<String>,
    /// What the code rests on beyond its form: scripts in SMT-LIB that have to be unsatisfiable.
    pub theorems: Vec<String>,
}

/// Why a target has no code for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// In one line, for people.
    pub why: String,
}

impl Unsupported {
    pub(crate) fn new(why: impl Into<String>) -> Unsupported {
        Unsupported { why: why.into() }
    }
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unsupported {}

/// Targets of other crates.
static OTHERS: RwLock<Vec<&dyn Target>> = RwLock::new(Vec::new());

/// All targets: those of this crate, then registered ones.
pub fn targets() -> Vec<&'static dyn Target> {
    static GEMMINI: gemmini::Gemmini = gemmini::Gemmini::new();
    let mut all: Vec<&dyn Target> = vec![
        &cpu::CPU,
        &frameworks::NUMPY,
        &frameworks::JAX,
        &frameworks::PYTORCH,
        &frameworks::TENSORFLOW,
        &frameworks::MLX,
        &frameworks::DASK,
        &stablehlo::STABLEHLO,
        &GEMMINI,
        &gaudi::GAUDI,
        &simt::OPENCL,
        &simt::CUDA,
    ];
    all.extend(&*OTHERS.read().unwrap_or_else(PoisonError::into_inner));
    all
}

/// Adds a target of another crate, from here on and for the whole process.
///
/// # Errors
///
/// If there is a target of that name.
pub fn register(target: &'static dyn Target) -> Result<(), NameTaken> {
    let name = target.name();
    if targets().iter().any(|t| t.name() == name) {
        return Err(NameTaken(name));
    }
    let mut others = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
    others.push(target);
    Ok(())
}

/// Whether the target is of another crate: of what makes its code nothing is known here.
pub fn is_registered(name: &str) -> bool {
    let others = OTHERS.read().unwrap_or_else(PoisonError::into_inner);
    others.iter().any(|t| t.name() == name)
}

/// There is a target of that name already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTaken(pub &'static str);

impl std::fmt::Display for NameTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "there is a target `{}` already; call yours otherwise",
            self.0
        )
    }
}

impl std::error::Error for NameTaken {}

#[cfg(test)]
mod tests {
    #[test]
    fn target_names_are_unique() {
        let mut names: Vec<_> = super::targets().iter().map(|t| t.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), super::targets().len());
    }

    #[test]
    fn a_name_is_taken_once() {
        let taken = super::register(&crate::cpu::CPU);
        assert_eq!(taken, Err(super::NameTaken("cpu")));
    }
}
