//! Gaudi: a kernel in TPC-C, the glue code that tells the graph compiler which part of a tensor a member of the
//! index space needs, and the host code that launches it.
//!
//! * `kernel`: the statements that compute an element.
//! * `rows.txt`: the intrinsics that it calls.
//! * `lanes`: how elements of all widths get into lanes of 32 bits and back.
//! * `notation`: operators for what has index notation.
//! * `range`: which values an integer may take.
//! * `torch`: the target as a whole; what is no work for the cores alone is PyTorch's.
//!
//! What it takes: elementwise kernels over tensors with elements of 8, 16 and 32 bits. Scalars are computed on the host. The file is for two compilers: the
//! one of the cores defines `__TPC__` and sees the kernel alone.

mod kernel;
mod lanes;
mod notation;
mod range;
mod torch;

use crate::cpu::c;
use crate::cpu::lower::lower;
use crate::cut::{Computed, Wanted, part};
use crate::index::c_index;
use crate::layout::{Place, Shape, matrix_shape, place};
use crate::names::CPP_WORDS;
use crate::rows::Tables;
use crate::{Generated, Kernel, Target, Unsupported};
use kernel::{Body, held, scalar_name};
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Function, NodeId, Op, Output, View};

pub use torch::{GAUDI, Gaudi, HPU};

/// The tensor processor cores, by themselves.
pub struct Cores {
    /// Intrinsics.
    pub rows: Tables,
}

/// The cores of the target `gaudi`.
pub static CORES: Cores = Cores {
    rows: &[include_str!("rows.txt")],
};

/// Bytes of a vector.
const VECTOR: usize = 256;

/// What `tpc.h` calls itself, beyond words of C and C++.
const WORDS: &[&str] = &[
    "tensor",
    "float64",
    "int64",
    "uint64",
    "int5",
    "int128",
    "int256",
    "uint128",
    "uint256",
    "short128",
    "ushort128",
    "char256",
    "uchar256",
    "tpc",
    "inputs",
    "outputs",
    "abs",
];

/// The C around the kernels, which a compiler for C++ reads.
static CPP: c::Dialect = c::Dialect {
    words: &[CPP_WORDS],
    ..c::C
};

impl Target for Cores {
    fn name(&self) -> &'static str {
        "gaudi"
    }

    fn describe(&self) -> &'static str {
        "TPC-C for Gaudi's tensor processor cores"
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        crate::summary::check(kernel.function)?;
        crate::scatter::refuse(kernel.function)?;
        let plan = Plan::new(kernel, self.rows)?;
        Writer::new(kernel, &plan).file()
    }
}

/// A tensor of the launch.
struct Tensor {
    place: Place,
    elem: ScalarType,
}

/// What is launched.
struct Plan {
    shape: Shape,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    /// Bytes of the narrowest element.
    width: usize,
    /// The kernel's own statements, for an element.
    lines: Vec<String>,
    /// What is stored, as variables of these.
    results: Vec<String>,
    /// Scalar arguments: their functions on the host.
    scalars: Vec<(ScalarType, loopir::Function)>,
    /// The whole kernel on the host, for sizes that coordinates can't hold.
    whole: loopir::Function,
    /// What must not be negative for a launch, since the original decides by its sizes what it reads.
    inside: Vec<Idx>,
    tier: Tier,
    theorems: Vec<String>,
}

impl Plan {
    fn new(kernel: &Kernel, rows: Tables) -> Result<Plan, Unsupported> {
        let (spelt_out, guessed) = notation::spelt_out(kernel.function);
        let f = &spelt_out;
        let stores = stores(f)?;
        let (_, first) = stores[0];
        let shape = f.nodes[stores[0].0].ty.shape.clone();
        if shape.is_empty() {
            return Err(Unsupported::new(
                "a single number is no work for a core of vectors",
            ));
        }
        let needed = needed(f, stores.iter().map(|(id, _)| *id).collect());
        let views: Vec<(NodeId, &View)> = needed
            .iter()
            .filter_map(|id| match &f.nodes[*id].op {
                Op::View(v) if f.nodes[*id].ty.shape == shape => Some((*id, v)),
                _ => None,
            })
            .collect();
        let all: Vec<View> = stores
            .iter()
            .map(|(_, v)| (*v).clone())
            .chain(views.iter().map(|(_, v)| (*v).clone()))
            .collect();
        let Some(seen) = matrix_shape(&shape, &all) else {
            return Err(Unsupported::new(format!(
                "results at {first} and what they are made of are no matrices of one shape"
            )));
        };
        for (id, view) in &stores {
            let elem = f.array_elem(&view.array);
            let differs = |other: &View| other.array == view.array && other != *view;
            if f.nodes[*id].ty.shape != shape || elem != Some(f.nodes[*id].ty.elem) {
                return Err(Unsupported::new("results of several shapes"));
            }
            // A member of the index space may run before another one reads.
            if all.iter().any(differs) {
                return Err(Unsupported::new(format!(
                    "{} is read or written at other places than {view}",
                    view.array
                )));
            }
        }
        let tensor = |view: &View, elem: ScalarType| -> Result<Tensor, Unsupported> {
            let place = place(view, &shape)
                .ok_or_else(|| Unsupported::new(format!("{view} is no regular pattern")))?;
            Ok(Tensor { place, elem })
        };
        let mut inputs = Vec::new();
        let mut loaded = BTreeMap::new();
        for (at, (id, view)) in views.iter().enumerate() {
            inputs.push(tensor(view, f.nodes[*id].ty.elem)?);
            loaded.insert(*id, format!("x{at}"));
        }
        let inside = inside(kernel, &seen, &inputs, &guessed)?;
        let mut outputs = Vec::new();
        for (id, view) in &stores {
            outputs.push(tensor(view, f.nodes[*id].ty.elem)?);
        }
        let mut width = outputs[0].elem.bytes();
        for t in inputs.iter().chain(&outputs) {
            if !held(t.elem) || t.elem == ScalarType::I1 {
                return Err(Unsupported::new(format!(
                    "tensors of {} are not used on a tensor processor core",
                    t.elem
                )));
            }
            width = width.min(t.elem.bytes());
        }
        let mut body = Body::new(f, rows, kernel.tier, loaded);
        let mut results = Vec::new();
        for (id, _) in &stores {
            results.push(body.value(*id)?);
        }
        let (lines, mut tier, theorems) = (body.lines, body.tier, body.theorems);
        let mut scalars = Vec::new();
        for (at, id) in body.scalars.iter().enumerate() {
            let name = format!("{}__{}", f.name, scalar_name(at));
            let function = part(f, &name, &Computed::new(), &Wanted::Value(*id));
            let lowered = lower(&function, kernel.tier)?;
            tier = tier.max(lowered.tier);
            let function = crate::cpu::without_unused(lowered.function);
            scalars.push((f.nodes[*id].ty.elem, function));
        }
        let mut whole = lower(kernel.function, kernel.tier)?.function;
        whole.name = format!("{}__on_host", f.name);
        Ok(Plan {
            shape: seen,
            inputs,
            outputs,
            width,
            lines,
            results,
            scalars,
            whole,
            inside,
            tier,
            theorems,
        })
    }

    /// Elements that a member of the index space computes: those of a vector of the narrowest.
    fn lanes(&self) -> usize {
        VECTOR / self.width
    }
}

/// Whether what is read of these arrays lies in what the kernel touches: all that has to be not negative.
fn inside(
    kernel: &Kernel,
    shape: &Shape,
    inputs: &[Tensor],
    arrays: &BTreeSet<Sym>,
) -> Result<Vec<Idx>, Unsupported> {
    let mut needed = Vec::new();
    for Tensor { place, .. } in inputs.iter().filter(|t| arrays.contains(&t.place.array)) {
        let mut known = kernel.footprints.iter().map(|f| &f.extent);
        let extent = known.find(|e| e.array == place.array).ok_or_else(|| {
            Unsupported::new(format!("nothing is known of what {} holds", place.array))
        })?;
        let one = Idx::constant(1);
        // Rows may lie in either order.
        let ends = match shape {
            Shape::Flat(n) => vec![(place.offset.clone(), n)],
            Shape::Rows(rows, cols) => {
                let last = &place.offset + &(&(rows - &one) * &place.pitch);
                vec![(place.offset.clone(), cols), (last, cols)]
            }
        };
        for (first, count) in ends {
            for room in [&first - &extent.lo, &extent.hi - &(&first + count)] {
                let holds = room.as_constant().is_some_and(|room| room >= 0);
                if !holds && !needed.contains(&room) {
                    needed.push(room);
                }
            }
        }
    }
    Ok(needed)
}

fn stores(f: &Function) -> Result<Vec<(NodeId, &View)>, Unsupported> {
    let stores: Option<Vec<_>> = f
        .outputs
        .iter()
        .map(|o| match o {
            Output::Store { value, view } => Some((*value, view)),
            Output::Return { .. } => None,
        })
        .collect();
    stores.filter(|s| !s.is_empty()).ok_or_else(|| {
        Unsupported::new("it returns a number, which is no work for a core of vectors")
    })
}

/// The nodes that these need, themselves included.
fn needed(f: &Function, mut todo: Vec<NodeId>) -> Vec<NodeId> {
    let mut found = vec![false; f.nodes.len()];
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut found[id], true) {
            todo.extend(&f.nodes[id].args);
        }
    }
    (0..found.len()).filter(|id| found[*id]).collect()
}

struct Writer<'a> {
    kernel: &'a Kernel<'a>,
    plan: &'a Plan,
    names: BTreeMap<Sym, String>,
}

impl<'a> Writer<'a> {
    fn new(kernel: &'a Kernel, plan: &'a Plan) -> Writer<'a> {
        let mut taken = CPP.names();
        WORDS.iter().for_each(|word| taken.reserve(word));
        // Names of the function's own variables.
        for at in 0..plan.scalars.len() {
            taken.reserve(&scalar_name(at));
        }
        let mut names = BTreeMap::new();
        for p in &plan.whole.params {
            let own = |name: &str| name.starts_with("tpc_") || name.starts_with("v_");
            names.insert(p.name().clone(), taken.fresh_in_c(p.name(), own));
        }
        Writer {
            kernel,
            plan,
            names,
        }
    }

    fn name(&self, name: &Sym) -> String {
        self.names
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_string())
    }

    fn file(&self) -> Result<Generated, Unsupported> {
        let (f, plan) = (self.kernel.function, self.plan);
        let entry = format!("{}__tensorize_gaudi", f.name);
        let mut text = c::comment(&crate::cpu::header(self.kernel, plan.tier));
        text += "#include \"tpc.h\"\n\n";
        text += &self.core();
        text += "\n#if !defined(__TPC__)\n";
        text += c::INCLUDES;
        // What C and C++ name differently.
        text += "\n#define restrict __restrict\n#define _Bool bool\n";
        let mut host: Vec<&loopir::Function> = plan.scalars.iter().map(|(_, f)| f).collect();
        host.push(&plan.whole);
        text += &c::print_static(
            &host,
            c::Style {
                dialect: &CPP,
                disjoint: true,
                ..c::Style::default()
            },
        );
        text += "\n";
        text += &self.glue();
        text += "\n";
        text += &self.entry(&entry)?;
        text += "#endif\n";
        Ok(Generated {
            files: vec![(format!("{}.gaudi.cpp", f.name), text)],
            entry,
            tier: plan.tier,
            loopir: None,
            eager_reads: true,
            split: None,
            theorems: plan.theorems.clone(),
        })
    }

    /// The kernel.
    fn core(&self) -> String {
        let (f, plan) = (self.kernel.function, self.plan);
        let tensors = |list: &[Tensor], stem: &str| -> Vec<String> {
            (0..list.len())
                .map(|i| format!("tensor {stem}{i}"))
                .collect()
        };
        let mut params = tensors(&plan.inputs, "in");
        params.extend(tensors(&plan.outputs, "out"));
        for (at, (ty, _)) in plan.scalars.iter().enumerate() {
            let ty = if *ty == ScalarType::F32 {
                "float"
            } else {
                "int"
            };
            params.push(format!("{ty} {}", scalar_name(at)));
        }
        let (params, lanes) = (params.join(", "), plan.lanes());
        let mut text = format!(
            "#if defined(__TPC__)\nvoid main({params})\n#else\nstatic void {}__core({params})\n#endif\n{{\n",
            f.name
        );
        text += "    const int5 start = get_index_space_offset(), end = get_index_space_size() + start;\n\
                 \x20   int5 at = {0, 0, 0, 0, 0};\n\
                 \x20   for (int row = start[1]; row < end[1]; row++) {\n\
                 \x20       at[1] = row;\n\
                 \x20       for (int vector = start[0]; vector < end[0]; vector++) {\n";
        for (depth, line) in lanes::statements(plan, &format!("vector * {lanes}")).0 {
            text += &format!("{}{line}\n", "    ".repeat(3 + depth));
        }
        text + "        }\n    }\n}\n"
    }

    /// What the graph compiler asks: how large the index space is, and what a member touches.
    fn glue(&self) -> String {
        let (f, plan) = (self.kernel.function, self.plan);
        let (inputs, outputs, lanes) = (plan.inputs.len(), plan.outputs.len(), plan.lanes());
        let last = lanes - 1;
        let mut text = format!(
            "static tpc_lib_api::GlueCodeReturn {}__glue(tpc_lib_api::HabanaKernelParams *in_defs,\n\
             \x20                                           tpc_lib_api::HabanaKernelInstantiation *out_defs) {{\n\
             \x20   if (in_defs->inputTensorNr != {inputs}) {{\n\
             \x20       return tpc_lib_api::GLUE_INCOMPATIBLE_INPUT_COUNT;\n    }}\n\
             \x20   if (in_defs->outputTensorNr != {outputs}) {{\n\
             \x20       return tpc_lib_api::GLUE_INCOMPATIBLE_OUTPUT_COUNT;\n    }}\n\
             \x20   /* A member is a vector of a row. */\n\
             \x20   const uint64_t *sizes = in_defs->outputTensors[0].geometry.maxSizes;\n\
             \x20   out_defs->indexSpaceRank = 2;\n\
             \x20   out_defs->indexSpaceGeometry[0] = (sizes[0] + {last}) / {lanes};\n\
             \x20   out_defs->indexSpaceGeometry[1] = sizes[1];\n\
             \x20   const tpc_lib_api::TensorAccessPattern pattern = {{\n\
             \x20       {{{{0, {lanes}, 0, {last}}}, {{1, 1, 0, 0}}, {{-1, 0, 0, 0}}, {{-1, 0, 0, 0}}, {{-1, 0, 0, 0}}}}}};\n",
            f.name
        );
        for (kind, count) in [("input", inputs), ("output", outputs)] {
            if count > 0 {
                text += &format!(
                    "    for (int i = 0; i < {count}; i++) {{\n\
                     \x20       out_defs->{kind}TensorAccessPattern[i] = pattern;\n    }}\n"
                );
            }
        }
        text + "    return tpc_lib_api::GLUE_SUCCESS;\n}\n"
    }

    fn host_tensors(&self, list: &[Tensor], name: &str) -> Result<String, Unsupported> {
        let index = |i: &Idx| c_index(i, &|s| self.name(s));
        let mut rows = Vec::new();
        for t in list {
            let (rows_, cols, pitch) = match &self.plan.shape {
                Shape::Flat(n) => ("1".into(), index(n)?, "0".into()),
                Shape::Rows(r, c) => (index(r)?, index(c)?, index(&t.place.pitch)?),
            };
            let array = self.name(&t.place.array);
            let data = match t.place.offset.is_zero() {
                true => array,
                false => format!("{array} + ({})", index(&t.place.offset)?),
            };
            rows.push(format!(
                "        {{{data}, {}, {{{cols}, {rows_}, 1, 1, 1}}, {{1, {pitch}, 0, 0, 0}}}},\n",
                t.elem.bytes()
            ));
        }
        Ok(format!(
            "    const tpc_host_tensor {name}[] = {{\n{}    }};\n",
            rows.concat()
        ))
    }

    /// The function that is called in the original's place.
    fn entry(&self, entry: &str) -> Result<String, Unsupported> {
        let (f, plan) = (self.kernel.function, self.plan);
        let param = |p: &Param| match p {
            Param::Scalar { ty, name } => format!("{} {}", ty.c_name(), self.name(name)),
            Param::Array {
                elem,
                is_const,
                name,
                ..
            } => {
                let qualifier = if *is_const { "const " } else { "" };
                format!("{qualifier}{} *{}", elem.c_name(), self.name(name))
            }
        };
        let call = |function: &loopir::Function| {
            let args: Vec<_> = function
                .params
                .iter()
                .map(|p| self.name(p.name()))
                .collect();
            format!("{}({})", function.name, args.join(", "))
        };
        let params: Vec<String> = plan.whole.params.iter().map(param).collect();
        let mut text = format!("extern \"C\" void {entry}({}) {{\n", params.join(", "));
        let (rows, cols) = match &plan.shape {
            Shape::Flat(n) => (Idx::constant(1), n.clone()),
            Shape::Rows(r, c) => (r.clone(), c.clone()),
        };
        let index = |i: &Idx| c_index(i, &|s| self.name(s));
        text += &format!(
            "    const int64_t tpc_rows = {}, tpc_cols = {};\n\
             \x20   if (tpc_rows <= 0 || tpc_cols <= 0) {{\n        return;\n    }}\n",
            index(&rows)?,
            index(&cols)?
        );
        for (at, (ty, function)) in plan.scalars.iter().enumerate() {
            let ty = if *ty == ScalarType::F32 {
                "float"
            } else {
                "int"
            };
            text += &format!("    const {ty} {} = {};\n", scalar_name(at), call(function));
        }
        let (inputs, outputs) = (plan.inputs.len(), plan.outputs.len());
        if inputs > 0 {
            text += &self.host_tensors(&plan.inputs, "inputs")?;
        }
        text += &self.host_tensors(&plan.outputs, "outputs")?;
        let tensors = (0..inputs + outputs).map(|i| i.to_string());
        let scalars = (0..plan.scalars.len()).map(scalar_name);
        let args: Vec<String> = tensors.chain(scalars).collect();
        let first = if inputs > 0 { "inputs" } else { "nullptr" };
        let mut inside = String::new();
        for room in &plan.inside {
            inside += &format!(" && {} >= 0", index(room)?);
        }
        text += &format!(
            "    const bool launched = tpc_rows < INT32_MAX && tpc_cols < INT32_MAX - {VECTOR}{inside} &&\n\
             \x20       tpc_launch({}__glue, [=] {{ {}__core({}); }}, {first}, {inputs}, outputs, {outputs});\n\
             \x20   if (!launched) {{\n        {};\n    }}\n}}\n",
            f.name,
            f.name,
            args.join(", "),
            call(&plan.whole)
        );
        Ok(text)
    }
}
