//! What the tests have frameworks compute, one thing at a time: each operator on each type, each reduction, what moves
//! elements, integers of floats, index notation, running folds, and the summaries of the tests.

use super::folds::{WAYS, matrix_scan, place, running_extremes_of, scans_of, with_ties};
use super::{Random, call, cases, conversions, footprints, scatters, summary, vectors};
use tensorize_backends::Generated;
use tensorize_ir::guard::{Footprint, Tier};
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Function, Op, Output};

/// A function, and what it is called with.
pub struct Item {
    pub name: String,
    pub function: Function,
    pub calls: Vec<Inputs>,
    pub has_floats: bool,
    /// Whether it is a function of a library: the target's own rounds otherwise than the interpreter's.
    pub of_library: bool,
    /// None where a target needs none.
    pub footprints: Vec<Footprint>,
}

impl Item {
    pub fn new(name: String, function: Function, calls: Vec<Inputs>) -> Item {
        let has_floats = function.nodes.iter().any(|n| n.ty.elem.is_float());
        Item {
            name,
            function,
            calls,
            has_floats,
            of_library: false,
            footprints: vec![],
        }
    }
}

/// The summaries in `tests/summaries`, and the tier that is asked for.
pub const SUMMARIES: [(&str, Tier); 12] = [
    ("screen", Tier::Exact),
    ("darken", Tier::Exact),
    ("burn", Tier::Exact),
    ("matvec", Tier::Real),
    ("softmax", Tier::Real),
    ("matmul", Tier::Exact),
    ("dot16", Tier::Exact),
    ("center_rows", Tier::Real),
    ("swap_scaled", Tier::Real),
    ("shapes", Tier::Real),
    ("notation", Tier::Real),
    // Names that are words of the languages that code is written in.
    ("words", Tier::Exact),
];

/// All of it.
pub fn all() -> Vec<Item> {
    let mut all = operators();
    all.extend(reductions());
    all.extend(others(true));
    all.extend(summaries());
    all
}

/// What is neither an operator on each type nor a summary. Where results of one function would do, they are `apart` for
/// who wants to know which of them differs, and together for who wants to compile less.
pub fn others(apart: bool) -> Vec<Item> {
    let mut others = moves();
    others.extend(conversions::all());
    others.extend(elements(apart));
    others.extend(running(apart));
    others.extend(scatters::all());
    others
}

/// How a case is called where refusals are written down.
pub fn shown((op, ty, to): &cases::Case) -> String {
    match op {
        Op::Compare(cmp) => format!("compare {ty} {}", cmp.name()),
        Op::Convert | Op::BitcastConvert => format!("{} {ty} to {to}", op.name()),
        _ => format!("{} {ty}", op.name()),
    }
}

/// What the golden files say of a function that is asked for with C's bits and without.
pub fn promise(exact: &Result<Generated, String>, real: &Result<Generated, String>) -> String {
    match (exact, real) {
        (Ok(_), _) => "exact".into(),
        (Err(why), Ok(_)) => format!("real: {why}"),
        (_, Err(why)) => why.clone(),
    }
}

pub fn operators() -> Vec<Item> {
    let each = |case: cases::Case| {
        let function = cases::function("one", case.1, std::slice::from_ref(&case));
        let calls = vec![cases::inputs(&function, case.1, Tier::Exact)];
        Item::new(shown(&case), function, calls)
    };
    let cases = ScalarType::ALL.into_iter().flat_map(cases::cases);
    cases.map(each).collect()
}

fn reductions() -> Vec<Item> {
    let each = |ty: ScalarType| {
        cases::reductions(ty).into_iter().map(move |fold| {
            let function = cases::folds("one", ty, std::slice::from_ref(&fold));
            // Such as code of any tier takes: an item is asked for at both.
            let calls = cases::fold_calls(&function, ty, Tier::Real);
            let name = format!("reduce {ty} by {:?} over {:?}", fold.0, fold.1);
            Item::new(name, function, calls)
        })
    };
    ScalarType::ALL.into_iter().flat_map(each).collect()
}

fn summaries() -> Vec<Item> {
    let each = |(name, tier): (&str, Tier)| {
        let function = summary(name);
        let calls = vectors(&function, tier == Tier::Real);
        Item::new(name.into(), function, calls)
    };
    SUMMARIES.into_iter().map(each).collect()
}

/// What the items of a group compute together: contractions at sizes around those of a tile, and sums over all of an array
/// of 0, 1, and more elements than there are items; and what kernels do in rounds, none and many.
pub fn tiles() -> Vec<Item> {
    let sizes = [
        (1, 1, 1),
        (16, 16, 16),
        (17, 15, 33),
        (3, 70, 2),
        (40, 1, 100),
        (5, 4, 0),
    ];
    let products = ["matmul", "accumulated"]
        .map(|name| sizes.map(|(m, n, k)| (name, vec![("m", m), ("n", n), ("k", k)])));
    let products = products.concat();
    let sums = [0, 1, 255, 256, 1000].map(|n| ("dot16", vec![("n", n)]));
    let rounds = [(5, 0), (0, 3), (1, 1), (300, 4)];
    let rounds = rounds.map(|(n, steps)| {
        let sizes = vec![("n", n), ("steps", steps), ("round", steps)];
        ("over_time", sizes)
    });
    let mut random = Random(5);
    let each = |(name, sizes): (&str, Vec<(&str, i128)>)| {
        let function = summary(name);
        // As long as a round after the last would have them.
        let round = function.round();
        let round = round.as_ref().unwrap_or(&function);
        let mut inputs = call(round, &sizes, &mut random, false);
        inputs.scalars.remove("round");
        let calls = vec![inputs];
        let footprints = footprints(&function, &calls[0]);
        Item {
            footprints,
            ..Item::new(format!("{name} {sizes:?}"), function, calls)
        }
    };
    (products.into_iter().chain(sums).chain(rounds))
        .map(each)
        .collect()
}

/// Nodes over `%x : tensor<n x m x T>`, `%y` of the same shape and `%v : tensor<n x T>`, and the index of the result.
const MOVES: &[(&str, &str, &str)] = &[
    (
        "transpose",
        "%r = transpose %x, permutation = [1, 0]",
        "#0*n + #1",
    ),
    (
        "transpose of rows that are alike",
        "%w = broadcast_in_dim %v, dimensions = [1] : tensor<m x n x T>\n%r = transpose %w, permutation = [1, 0]",
        "#0*m + #1",
    ),
    (
        "reverse rows",
        "%r = reverse %x, dimensions = [0]",
        "#0*m + #1",
    ),
    (
        "reverse both",
        "%r = reverse %x, dimensions = [0, 1]",
        "#0*m + #1",
    ),
    ("reshape", "%r = reshape %x : tensor<(n*m) x T>", "#0"),
    (
        "concatenate rows",
        "%r = concatenate %x, %y, dimension = 0",
        "#0*m + #1",
    ),
    (
        "concatenate columns",
        "%r = concatenate %x, %y, dimension = 1",
        "2*#0*m + #1",
    ),
    (
        "slice",
        "%both = concatenate %x, %y, dimension = 0\n\
         %r = slice %both, start = [1, 0], stride = [2, 1] : tensor<n x m x T>",
        "#0*m + #1",
    ),
    (
        "pad",
        "%nine = constant 9:T\n%r = pad %x, %nine, low = [1, 2] : tensor<(n + 2) x (m + 3) x T>",
        "#0*m + 3*#0 + #1",
    ),
    (
        "gather",
        "%i = iota dimension = 0 : tensor<n x i64>\n%back = reverse %i, dimensions = [0]\n%r = gather %v, %back",
        "#0",
    ),
    (
        "columns of a vector",
        "%wide = broadcast_in_dim %v, dimensions = [0] : tensor<n x m x T>\n%r = subtract %wide, %x",
        "#0*m + #1",
    ),
    ("table", "%r = table [3, 1, 2] : tensor<3 x T>", "#0"),
    (
        "dot with batches",
        "%zero = constant 0:T\n%r = dot_general %x, %y, %zero, batch = [0 x 0], contracting = [1 x 1]",
        "#0",
    ),
    (
        "dot from seven",
        "%seven = constant 7:T\n%r = dot_general %x, %y, %seven, contracting = [1 x 1]",
        "#0*n + #1",
    ),
    (
        "dot from a tensor",
        "%start = broadcast_in_dim %v, dimensions = [1] : tensor<n x n x T>\n\
         %r = dot_general %x, %y, %start, contracting = [1 x 1]",
        "#0*n + #1",
    ),
    (
        "sum from -0.0",
        "%z = constant -0:T\n%zs = broadcast_in_dim %z, dimensions = [] : tensor<n x m x T>\n\
         %a = abs %x\n%p = multiply %zs, %a\n%r = reduce %p, %z, reducer = add, dimensions = [1]",
        "#0",
    ),
    (
        "product of matrices",
        "%zero = constant 0:T\n%t = transpose %y, permutation = [1, 0]\n\
         %r = dot_general %x, %t, %zero, contracting = [1 x 0]",
        "#0*n + #1",
    ),
    (
        "outer product",
        "%zero = constant 0:T\n%r = dot_general %v, %x, %zero",
        "#0*n*m + #1*m + #2",
    ),
    (
        "three axes",
        "%zero = constant 0:T\n%o = dot_general %v, %x, %zero\n%r = transpose %o, permutation = [2, 0, 1]",
        "#0*n*n + #1*n + #2",
    ),
    (
        "select",
        "%c = compare LT, %x, %y\n%r = select %c, %x, %y",
        "#0*m + #1",
    ),
    (
        "iota",
        "%i = iota dimension = 0 : tensor<n x m x T>\n%r = subtract %i, %x",
        "#0*m + #1",
    ),
    (
        "one by one",
        "%first = view x[0] : tensor<T>\n%r = reduce %x, %first, reducer = subtract, dimensions = [1]",
        "#0",
    ),
    (
        "one by one, both",
        "%first = view x[0] : tensor<T>\n%r = reduce %x, %first, reducer = subtract, dimensions = [0, 1]",
        "0",
    ),
];

/// Elements of a tensor of `n` numbers, in index notation.
const ELEMENTS: &[(&str, &str)] = &[
    ("quotient of indices", "index(T, floordiv(#0*3 - 7, m - 2))"),
    ("remainder of indices", "index(T, mod(#0*3 - 7, m - 2))"),
    (
        "quotient by a number",
        "index(T, mod(3 - #0, 2) + floordiv(3 - #0, 2)*n)",
    ),
    ("larger index", "index(T, max(#0*m, n))"),
    ("smaller index", "index(T, min(#0*#0, m + 1))"),
    (
        "comparison of indices",
        "select(index_compare(LT, #0*#0, n + m), x[#0*m], x[mod(#0, 3)])",
    ),
    ("index from memory", "x[max(mod(value(v[#0]), n*m), 0)]"),
    (
        "sizes alone",
        "select(index_compare(LT, n, m), x[#0], v[#0])",
    ),
    ("comparison of sizes", "convert(T, index_compare(LT, n, m))"),
    (
        "sum to a size",
        "fold(s = v[#0], k < m, add(s, x[#0*m + k]))",
    ),
    (
        "fold with a counter",
        "fold(s = v[#0], k < m, subtract(index(T, k), s))",
    ),
];

/// Elements with a literal, which rows may know.
const LITERALS: &[&str] = &[
    "add(x[#0], 100:T)",
    "divide(x[#0], 7:T)",
    "divide(x[#0], -3:T)",
    "divide(x[#0], -1:T)",
    // The quotient is none of the type.
    "divide(minimum(x[#0], LEAST:T), -1:T)",
    "divide(x[#0], 0:T)",
    "remainder(x[#0], 5:T)",
    "remainder(x[#0], -3:T)",
    "remainder(minimum(x[#0], LEAST:T), -1:T)",
    "remainder(x[#0], 0:T)",
    "shift_left(x[#0], 3:T)",
    "shift_left(x[#0], 64:T)",
    "shift_right_logical(x[#0], 3:T)",
    "shift_right_logical(x[#0], 64:T)",
    "shift_right_arithmetic(x[#0], 3:T)",
    "shift_right_arithmetic(x[#0], 64:T)",
];

const SIZES: [(i128, i128); 2] = [(3, 1), (7, 4)];

fn item(name: String, text: &str, tame: bool) -> Item {
    let function: Function = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut random = Random(3);
    let call = |(n, m)| call(&function, &[("n", n), ("m", m)], &mut random, tame);
    let calls = SIZES.into_iter().map(call).collect();
    Item::new(name, function, calls)
}

fn moves() -> Vec<Item> {
    let mut all = Vec::new();
    for ty in ScalarType::ALL {
        for (name, nodes, at) in MOVES {
            let counts = ["subtract", "dot", "nine", "table", "abs"];
            let computes = counts.iter().any(|c| nodes.contains(c));
            let tried = match ty {
                ScalarType::I32 | ScalarType::F32 => true,
                ScalarType::I1 => !computes,
                // Frameworks multiply matrices of few types.
                ScalarType::U8 => ["table", "product of matrices"].contains(name),
                _ => *name == "table",
            };
            if tried {
                all.push(moved(name, nodes, at, ty));
            }
        }
    }
    all
}

fn moved(name: &str, nodes: &str, at: &str, ty: ScalarType) -> Item {
    let t = ty.name();
    let point = if ty.is_float() { ".0" } else { "" };
    let mut nodes = nodes.replace(" T>", &format!(" {t}>"));
    nodes = nodes.replace("<T>", &format!("<{t}>"));
    nodes = nodes.replace(":T", &format!("{point}:{t}"));
    if ty.is_float() {
        nodes = nodes.replace("[3, 1, 2] :", "[3.0, 1.0, 2.0] :");
    }
    let text = format!(
        "func @f(x: const ptr<{t}>, y: const ptr<{t}>, v: const ptr<{t}>, out: ptr<{t}>, n: i32, m: i32) {{
           %x = view x[#0*m + #1] : tensor<n x m x {t}>
           %y = view y[#0*m + #1] : tensor<n x m x {t}>
           %v = view v[#0] : tensor<n x {t}>
           {nodes}
           store out[{at}] = %r
         }}"
    );
    item(format!("{name} {t}"), &text, ty.is_float())
}

pub fn elements(apart: bool) -> Vec<Item> {
    let mut all = Vec::new();
    for ty in [ScalarType::I64, ScalarType::F32] {
        let can = |e: &str| ty.is_int() || !e.contains("value(");
        for (name, e) in ELEMENTS.iter().filter(|(_, e)| can(e)) {
            let e = e.replace("(T", &format!("({}", ty.name()));
            all.push(element(format!("{name} {ty}"), ty, &[e]));
        }
    }
    // What is stored into an array has its type anyhow; what is widened again has lost its upper bits before.
    for ty in ScalarType::ALL.into_iter().filter(|t| t.is_int()) {
        let e = format!("convert(i64, convert({}, x[#0]))", ty.name());
        all.push(element(format!("{e} {ty}"), ScalarType::I64, &[e]));
    }
    for ty in [ScalarType::F32, ScalarType::F64] {
        let of = |e: &str| format!("convert({ty}, convert(f32, divide({e}, 3.0:{ty})))");
        let e = of(&format!("convert({ty}, x[#0])"));
        all.push(element(format!("rounded {ty}"), ty, &[e]));
    }
    for ty in ScalarType::ALL
        .into_iter()
        .filter(|t| t.is_int() && *t != ScalarType::I1)
    {
        let can = |e: &&&str| ty.is_signed() || !e.contains('-');
        let text = |e: &&str| {
            let e = e.replace("LEAST", &ty.min_value().to_string());
            e.replace(":T", &format!(":{}", ty.name()))
        };
        let texts = LITERALS.iter().filter(can).map(text);
        // Not every framework has copies of an unsigned number's topmost bit.
        let (rare, usual): (Vec<_>, Vec<_>) =
            texts.partition(|e| !ty.is_signed() && e.starts_with("shift_right_arithmetic"));
        if apart {
            let each = usual.into_iter().chain(rare);
            all.extend(each.map(|e| element(format!("{e} {ty}"), ty, &[e])));
            continue;
        }
        all.push(element(format!("literals {ty}"), ty, &usual));
        if !rare.is_empty() {
            all.push(element(format!("arithmetic shifts {ty}"), ty, &rare));
        }
    }
    all
}

/// Each in an array of its own.
fn element(name: String, ty: ScalarType, elements: &[String]) -> Item {
    let t = ty.name();
    let (mut params, mut body) = (String::new(), String::new());
    for (i, e) in elements.iter().enumerate() {
        params += &format!("out{i}: ptr<{t}>, ");
        body += &format!("%r{i} = generic {e} : tensor<n x {t}>\nstore out{i}[#0] = %r{i}\n");
    }
    let text = format!(
        "func @f(x: const ptr<{t}>, v: const ptr<{t}>, {params}n: i32, m: i32) {{
           {body}
         }}"
    );
    item(name, &text, ty.is_float())
}

fn running(apart: bool) -> Vec<Item> {
    let mut all = Vec::new();
    let mut add = |name: String, function: Function, ties: bool| {
        let mut random = Random(3);
        let calls = SIZES.into_iter().map(|(n, m)| {
            let call = call(&function, &[("n", n), ("m", m)], &mut random, false);
            match ties {
                true => with_ties(&function, call),
                false => call,
            }
        });
        let calls = calls.collect();
        all.push(Item::new(name, function, calls));
    };
    for (i, ty) in ScalarType::ALL.into_iter().enumerate() {
        let extremes = [ScalarType::F32, ScalarType::I16].contains(&ty);
        let extremes = extremes.then(|| (running_extremes_of(ty), true));
        for (f, ties) in [(scans_of(ty, i), false)].into_iter().chain(extremes) {
            match apart {
                true => each_result(&f)
                    .into_iter()
                    .for_each(|(f, by)| add(format!("scan {ty} by {by}"), f, ties)),
                false => add(format!("scans {ty}"), f, ties),
            }
        }
    }
    for (d, each) in ["tensor<m x f32>", "tensor<n x f32>"].iter().enumerate() {
        for ways in WAYS {
            let f = matrix_scan(d, ways, &format!("s[#0] : {each}"));
            add(format!("scan of a matrix along {d}{ways}"), f, false);
        }
    }
    for ty in [ScalarType::F32, ScalarType::I32, ScalarType::U8] {
        for reducer in ["take_if(GT)", "take_if(LE)", "keep_if(GE)", "keep_if(LT)"] {
            add(format!("place {ty} by {reducer}"), place(ty, reducer), true);
        }
    }
    all
}

/// Each result alone, with its reducer.
pub fn each_result(f: &Function) -> Vec<(Function, String)> {
    let each = f.outputs.iter().map(|output| {
        let one = Function {
            outputs: vec![output.clone()],
            ..f.clone()
        };
        let reducer = f
            .nodes
            .iter()
            .enumerate()
            .find_map(|(i, node)| match (&node.op, output) {
                (
                    Op::Scan {
                        reducer,
                        exclusive,
                        reverse,
                        ..
                    },
                    Output::Store { value, .. },
                ) if *value == i => Some(format!("{reducer} {exclusive} {reverse}")),
                _ => None,
            });
        (one, reducer.unwrap_or_default())
    });
    each.collect()
}
