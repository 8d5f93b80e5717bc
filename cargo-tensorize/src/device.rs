//! Generated kernels for GPUs against the lifted loop, by way of the same run time that a user's program has.
//!
//! Where there is no such device, or no driver, there is no evidence, and nothing for the target is stored.

#![allow(unsafe_code)]

use crate::cases::{Cases, Verdict};
use crate::generate::Artefact;
use crate::pipeline::Proven;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tensorize_ir::guard::Footprint;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Buffer, Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_rt::{
    Api, Argument, Array, Choice, Code, Elem, Kernel, Library, Target, Tier, Value,
};

/// What became of one kernel's code.
pub enum Outcome {
    /// It ran, on the device of this name.
    Ran(Verdict, String),
    /// It did not, for this reason.
    NotRun(String),
}

/// One at a time: which target a call goes to is a matter of the whole process.
static RUNNING: Mutex<()> = Mutex::new(());

/// Runs a kernel's code for the target on the device that a program would take.
pub fn check(proven: &Proven, artefact: &Artefact, target: &str) -> Outcome {
    let code = Loaded::new(
        &proven.function.name,
        &artefact.text,
        &artefact.entry,
        target,
    );
    let function = &proven.function;
    let cases = Cases::of(proven, artefact);
    let declined = Cell::new(None);
    let verdict = cases.compare(cases.inputs().map(|inputs| {
        let call = Call {
            params: &function.params,
            ret: function.ret,
            footprints: &proven.proof.footprints,
            inputs,
        };
        code.run(&call).inspect_err(|why| {
            declined.set(Some(why.clone()));
        })
    }));
    match declined.take() {
        Some(why) => Outcome::NotRun(why),
        None => {
            let device = api(target).device().filter(|name| !name.is_empty());
            Outcome::Ran(verdict, device.unwrap_or("a device").to_owned())
        }
    }
}

fn api(target: &str) -> Api {
    match target {
        "cuda" => Api::Cuda,
        _ => Api::OpenCl,
    }
}

/// Generated kernels in this process.
pub struct Loaded {
    kernel: &'static Kernel,
    target: String,
}

/// What they are called with.
pub struct Call<'a> {
    /// The original's parameters.
    pub params: &'a [Param],
    /// What it returns.
    pub ret: Option<ScalarType>,
    /// What it touches of its arrays.
    pub footprints: &'a [Footprint],
    /// The arguments.
    pub inputs: &'a Inputs,
}

impl Loaded {
    /// The kernels, as the bindings of a program would have them. Programs never lose theirs, and so these stay.
    pub fn new(name: &str, source: &str, entry: &str, target: &str) -> Loaded {
        // No two have one name, also where two files have a function of one name.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let kernels: Vec<&str> = (entry.split_whitespace())
            .map(|k| &*k.to_owned().leak())
            .collect();
        let code = Code::Device {
            api: api(target),
            source: source.to_owned().leak(),
            kernels: kernels.leak(),
        };
        let (tier, generated) = (
            Tier::Real,
            Target {
                name: target.to_owned().leak(),
                tier: Tier::Real,
                code,
            },
        );
        let kernel: &'static Kernel = Box::leak(Box::new(Kernel::new(
            format!("{name}#{number}").leak(),
            ("", 0),
            Some(tier),
            &[],
            None,
            vec![generated].leak(),
        )));
        let library = Library::new(vec![kernel].leak());
        Box::leak(Box::new(library)).register();
        Loaded {
            kernel,
            target: target.to_owned(),
        }
    }

    /// Calls them; the reason if the device did not answer.
    pub fn run(&self, what: &Call) -> Result<Outputs, String> {
        let _one = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        tensorize_rt::set_choice(Choice::Target(self.target.clone()));
        let found = call(self.kernel, what);
        tensorize_rt::set_choice(Choice::Off);
        found.ok_or_else(|| why(self.kernel))
    }
}

/// Why the original was asked.
fn why(kernel: &Kernel) -> String {
    let reports = tensorize_rt::report().into_iter();
    let own = reports.filter(|r| r.name == kernel.name);
    let told = own.filter_map(|r| r.why).next();
    told.unwrap_or_else(|| "it does not say why".into())
}

/// Calls the kernel; `None` if the device did not answer.
fn call(kernel: &'static Kernel, what: &Call) -> Option<Outputs> {
    let inputs = what.inputs;
    let mut memory: Vec<(&Sym, &Buffer, Vec<u64>)> = Vec::new();
    let mut arrays = Vec::new();
    let mut arguments = Vec::new();
    for p in what.params {
        match p {
            Param::Scalar { name, ty } => {
                let value = inputs.scalars.get(name)?;
                arguments.push(Argument::Scalar(elem(*ty), value.bits));
            }
            Param::Array { name, .. } => {
                let buffer = inputs.arrays.get(name)?;
                let mut words = bytes_of(buffer);
                let footprint = what.footprints.iter().find(|f| f.extent.array == *name);
                arrays.push(array(buffer, &mut words, footprint));
                arguments.push(Argument::Array);
                memory.push((name, buffer, words));
            }
        }
    }
    let pointers: Vec<*mut c_void> = arrays.iter().map(|a| a.pointer).collect();
    let answered = Cell::new(true);
    let returned = match what.ret {
        None => {
            run::<()>(kernel, &arrays, &arguments, &pointers, &answered);
            None
        }
        Some(ty) => {
            let bits = match ty {
                ScalarType::I1 => run::<bool>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::I8 => run::<i8>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::I16 => run::<i16>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::I32 => run::<i32>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::I64 => run::<i64>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::U8 => run::<u8>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::U16 => run::<u16>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::U32 => run::<u32>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::U64 => run::<u64>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::F32 => run::<f32>(kernel, &arrays, &arguments, &pointers, &answered),
                ScalarType::F64 => run::<f64>(kernel, &arrays, &arguments, &pointers, &answered),
            };
            Some(Scalar { ty, bits })
        }
    };
    let after = memory.into_iter().map(|(name, buffer, words)| {
        let data = scalars(&words, buffer);
        (
            name.clone(),
            Buffer {
                data,
                ..buffer.clone()
            },
        )
    });
    answered.get().then(|| Outputs {
        arrays: after.collect(),
        returned,
    })
}

/// The bits of what is returned; `answered` becomes false if the original was asked.
fn run<R: Value + Default>(
    kernel: &'static Kernel,
    arrays: &[Array],
    arguments: &[Argument],
    pointers: &[*mut c_void],
    answered: &Cell<bool>,
) -> u64 {
    let original = || {
        answered.set(false);
        R::default()
    };
    // SAFETY: the arrays are there, each with as many elements as it says, and neither closure touches them.
    let value = unsafe {
        tensorize_rt::run_elsewhere(
            kernel,
            tensorize_rt::Extent {
                size: 0,
                movable: false,
            },
            Some(arrays),
            arguments,
            |_| original(),
            |_, _| original(),
            pointers,
        )
    };
    value.to_bits()
}

fn array(buffer: &Buffer, words: &mut [u64], footprint: Option<&Footprint>) -> Array {
    let elem = elem(buffer.elem);
    let base = words.as_mut_ptr().cast::<u8>();
    let first = isize::try_from(buffer.origin).unwrap_or(0) * elem.size() as isize;
    // As a program would: where the first element is always number 0, the kernel is not told.
    let at_zero = footprint.is_some_and(|f| f.extent.lo.as_constant() == Some(0));
    Array {
        name: "an array",
        pointer: base.wrapping_offset(first).cast(),
        elem,
        lo: if at_zero { 0 } else { -buffer.origin },
        hi: buffer.data.len() as i64 - buffer.origin,
        writes: footprint.is_some_and(|f| f.writes),
        depends_on_data: false,
        members: None,
    }
}

fn bytes_of(buffer: &Buffer) -> Vec<u64> {
    let size = buffer.elem.bytes();
    let bytes: Vec<u8> = (buffer.data.iter())
        .flat_map(|v| v.bits.to_le_bytes().into_iter().take(size))
        .collect();
    let mut words = vec![0u64; bytes.len().div_ceil(8).max(1)];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(whole);
    }
    words
}

fn scalars(words: &[u64], buffer: &Buffer) -> Vec<Scalar> {
    let size = buffer.elem.bytes();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let value = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(chunk);
        Scalar {
            ty: buffer.elem,
            bits: u64::from_le_bytes(word),
        }
    };
    let all = bytes.chunks_exact(size).map(value);
    all.take(buffer.data.len()).collect()
}

fn elem(ty: ScalarType) -> Elem {
    match ty {
        ScalarType::I1 => Elem::I1,
        ScalarType::I8 => Elem::I8,
        ScalarType::I16 => Elem::I16,
        ScalarType::I32 => Elem::I32,
        ScalarType::I64 => Elem::I64,
        ScalarType::U8 => Elem::U8,
        ScalarType::U16 => Elem::U16,
        ScalarType::U32 => Elem::U32,
        ScalarType::U64 => Elem::U64,
        ScalarType::F32 => Elem::F32,
        ScalarType::F64 => Elem::F64,
    }
}
