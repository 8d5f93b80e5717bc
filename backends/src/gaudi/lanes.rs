//! How elements get from tensors into lanes of 32 bits and back.
//!
//! Elements of one width need no order: a vector of bytes is taken apart with shifts, and put together with them. Where
//! widths differ, all tensors have to bring the same elements at a time. A member of the index space then computes
//! `64·R` elements in `R` rounds, `R` of the narrowest elements to a word. In round `q`, lane `16·d + i` holds
//! element `16·R·d + 16·q + i`: that is a dual group (64 bytes, 16 lanes) of each of four places. Of a tensor with
//! `r` elements to a word,
//!
//! * a shuffle inside of dual groups puts the elements `i, 16 + i, …` into the bytes of word `i`,
//! * dual groups are moved to where the round wants them, and
//! * the round's element is shifted out of the word.
//!
//! Results go the same way back.

use super::kernel::vector_of;
use super::{Plan, Tensor};
use tensorize_ir::scalar::ScalarType;

/// The name that the intrinsics give to a tensor's elements, and the vector that a load gives.
fn memory(elem: ScalarType) -> (&'static str, &'static str) {
    match elem {
        ScalarType::U8 => ("u8", "uchar256"),
        ScalarType::I8 => ("i8", "char256"),
        ScalarType::U16 => ("u16", "ushort128"),
        ScalarType::I16 => ("i16", "short128"),
        ScalarType::F32 => ("f32", "float64"),
        _ => ("i32", "int64"),
    }
}

/// Statements, each with how far it is indented.
pub(super) struct Lines(pub Vec<(usize, String)>);

impl Lines {
    fn line(&mut self, depth: usize, text: String) {
        self.0.push((depth, text));
    }

    fn body(&mut self, depth: usize, plan: &Plan) {
        for l in &plan.lines {
            self.line(depth, l.clone());
        }
    }
}

/// What a member of the index space does, which starts at element `start` of its row.
pub(super) fn statements(plan: &Plan, start: &str) -> Lines {
    let mut lines = Lines(vec![]);
    let tensors = || plan.inputs.iter().chain(&plan.outputs);
    if tensors().any(|t| t.elem.bytes() != plan.width) {
        several_widths(plan, start, &mut lines);
        return lines;
    }
    lines.line(0, format!("at[0] = {start};"));
    let name = if plan.width == 4 { "x" } else { "all" };
    for (at, t) in plan.inputs.iter().enumerate() {
        let (short, vector) = memory(t.elem);
        let load = format!("const {vector} {name}{at} = v_{short}_ld_tnsr_b(at, in{at});");
        lines.line(0, load);
    }
    match plan.width {
        4 => words(plan, &mut lines),
        _ => one_width(plan, &mut lines),
    }
    lines
}

fn words(plan: &Plan, lines: &mut Lines) {
    lines.body(0, plan);
    for (at, (t, value)) in plan.outputs.iter().zip(&plan.results).enumerate() {
        let short = memory(t.elem).0;
        lines.line(0, format!("v_{short}_st_tnsr(at, out{at}, {value});"));
    }
}

fn one_width(plan: &Plan, lines: &mut Lines) {
    let bits = 8 * plan.width;
    for at in 0..plan.outputs.len() {
        lines.line(0, format!("int64 y{at} = 0;"));
    }
    lines.line(
        0,
        format!("for (int shift = 0; shift < 32; shift += {bits}) {{"),
    );
    for (at, t) in plan.inputs.iter().enumerate() {
        let word = format!("*(const int64 *)&all{at}");
        let value = element(t.elem, &word, "shift");
        lines.line(1, format!("const int64 x{at} = {value};"));
    }
    lines.body(1, plan);
    for (at, (t, value)) in plan.outputs.iter().zip(&plan.results).enumerate() {
        let bits = in_word(t.elem, value, "shift");
        lines.line(1, format!("y{at} = v_i32_or_b(y{at}, {bits});"));
    }
    lines.line(0, "}".into());
    for (at, t) in plan.outputs.iter().enumerate() {
        let (short, vector) = memory(t.elem);
        lines.line(
            0,
            format!("v_{short}_st_tnsr(at, out{at}, *(const {vector} *)&y{at});"),
        );
    }
}

/// The element of a type that stands so many bits up in each word.
fn element(elem: ScalarType, word: &str, shift: &str) -> String {
    let bits = elem.bits();
    if bits == 32 {
        return word.into();
    }
    let part = format!(
        "v_i32_and_b(v_i32_shr_b({word}, {shift}), {})",
        (1u64 << bits) - 1
    );
    let half = 1u64 << (bits - 1);
    match elem.is_signed() {
        true => format!("v_i32_sub_b(v_i32_xor_b({part}, {half}), {half})"),
        false => part,
    }
}

/// Words with nothing but the element, so many bits up.
fn in_word(elem: ScalarType, value: &str, shift: &str) -> String {
    let mask = (1u64 << elem.bits()) - 1;
    format!("v_i32_shl_b(v_i32_and_b({value}, {mask}), {shift})")
}

/// Where the elements of a tensor lie, in a kernel with `rounds` rounds.
struct Order {
    /// Rounds.
    rounds: usize,
    /// Elements in a word.
    in_word: usize,
}

impl Order {
    fn of(plan: &Plan, t: &Tensor) -> Order {
        Order {
            rounds: 4 / plan.width,
            in_word: 4 / t.elem.bytes(),
        }
    }

    /// Vectors of a member.
    fn vectors(&self) -> usize {
        self.rounds / self.in_word
    }

    /// The vector and its dual group that hold what dual group `to` needs in a round.
    fn source(&self, round: usize, to: usize) -> (usize, usize) {
        let at = self.rounds * to + round;
        let whole = 4 * self.in_word;
        (at / whole, at % whole / self.in_word)
    }

    /// Whether every dual group is where the rounds want it.
    fn is_in_place(&self) -> bool {
        self.vectors() == 1
    }

    /// How far up in a word a round's element is.
    fn shift(&self, round: usize) -> usize {
        round % self.in_word * (32 / self.in_word)
    }
}

/// The variable with the shuffle that puts elements into words, and what it holds: for each byte of a dual group, which
/// one comes there.
fn spread(in_word: usize) -> (String, &'static str) {
    let value = match in_word {
        4 => "v_i32_add_b(v_i32_mul_b(lane, 0x01010101).v1, (int)0xb0a09080)",
        _ => "v_i32_add_b(v_i32_mul_b(lane, 0x02020202).v1, (int)0xa1a08180)",
    };
    (format!("spread{in_word}"), value)
}

/// The shuffle that undoes the other.
fn gather(in_word: usize) -> (String, &'static str) {
    let value = match in_word {
        4 => {
            "v_i32_add_b(v_i32_mul_b(v_i32_or_b(v_i32_shl_b(v_i32_and_b(lane, 3), 4), v_i32_shr_b(lane, 2)), 0x01010101).v1, (int)0x8c888480)"
        }
        _ => {
            "v_i32_add_b(v_i32_mul_b(v_i32_or_b(v_i32_shl_b(v_i32_and_b(lane, 7), 3), v_i32_shl_b(v_i32_shr_b(lane, 3), 1)), 0x01010101).v1, (int)0x85848180)"
        }
    };
    (format!("gather{in_word}"), value)
}

fn shuffled(bytes: &str, by: &str) -> String {
    format!("v_u8_shuffle_b(*(const uchar256 *)&{bytes}, *(const uchar256 *)&{by}, 0, 0)")
}

fn moved(value: &str, (from, to): (usize, usize), income: &str) -> String {
    format!(
        "v_i32_mov_dual_group_b({value}, 0xffffffff, {from}, {to}, SW_WR_LOWER_GROUP | SW_WR_UPPER_GROUP, {income})"
    )
}

fn several_widths(plan: &Plan, start: &str, lines: &mut Lines) {
    let mut shuffles = Vec::new();
    let orders = |list: &[Tensor]| -> Vec<Order> {
        let of = |t| Order::of(plan, t);
        list.iter().map(of).collect()
    };
    let (inputs, outputs) = (orders(&plan.inputs), orders(&plan.outputs));
    shuffles.extend(inputs.iter().map(|o| (o.in_word, spread as fn(_) -> _)));
    shuffles.extend(outputs.iter().map(|o| (o.in_word, gather as fn(_) -> _)));
    let mut known: Vec<String> = Vec::new();
    lines.line(
        0,
        "const int64 lane = v_i32_and_b(read_lane_id_4b_b(), 15);".into(),
    );
    for (in_word, shuffle) in shuffles.into_iter().filter(|(n, _)| *n > 1) {
        let (name, value): (String, &str) = shuffle(in_word);
        if !known.contains(&name) {
            lines.line(0, format!("const int64 {name} = {value};"));
            known.push(name);
        }
    }
    let place = |order: &Order, at: usize| match 64 * order.in_word * at {
        0 => format!("at[0] = {start};"),
        more => format!("at[0] = {start} + {more};"),
    };
    for (i, (t, order)) in plan.inputs.iter().zip(&inputs).enumerate() {
        let (short, vector) = memory(t.elem);
        for at in 0..order.vectors() {
            lines.line(0, place(order, at));
            let loaded = format!("in{i}_{at}");
            let load = format!("const {vector} {loaded} = v_{short}_ld_tnsr_b(at, in{i});");
            lines.line(0, load);
            if order.in_word > 1 {
                let bytes = shuffled(&loaded, &spread(order.in_word).0);
                lines.line(0, format!("const uchar256 {loaded}_words = {bytes};"));
            }
        }
    }
    for (i, order) in outputs.iter().enumerate() {
        for at in 0..order.vectors() {
            lines.line(0, format!("int64 out{i}_{at} = 0;"));
        }
    }
    for round in 0..4 / plan.width {
        lines.line(0, "{".into());
        for (i, (t, order)) in plan.inputs.iter().zip(&inputs).enumerate() {
            let words = |at: usize| match order.in_word {
                1 => format!("*(const int64 *)&in{i}_{at}"),
                _ => format!("*(const int64 *)&in{i}_{at}_words"),
            };
            let mut word = words(0);
            if !order.is_in_place() {
                for to in 0..4 {
                    let (at, from) = order.source(round, to);
                    let (income, so_far) = match to {
                        0 => ("0".to_string(), "int64 "),
                        _ => (format!("w{i}"), ""),
                    };
                    let value = moved(&words(at), (from, to), &income);
                    lines.line(1, format!("{so_far}w{i} = {value};"));
                }
                word = format!("w{i}");
            }
            let value = match t.elem {
                ScalarType::F32 => format!("*(const float64 *)&{word}"),
                elem => element(elem, &word, &order.shift(round).to_string()),
            };
            let vector = vector_of(t.elem);
            lines.line(1, format!("const {vector} x{i} = {value};"));
        }
        lines.body(1, plan);
        for (i, (t, order)) in plan.outputs.iter().zip(&outputs).enumerate() {
            let value = &plan.results[i];
            let bits = match t.elem {
                ScalarType::F32 => {
                    lines.line(1, format!("const float64 f{i} = {value};"));
                    format!("*(const int64 *)&f{i}")
                }
                elem if elem.bits() == 32 => value.clone(),
                elem => in_word(elem, value, &order.shift(round).to_string()),
            };
            if order.is_in_place() {
                lines.line(1, format!("out{i}_0 = v_i32_or_b(out{i}_0, {bits});"));
                continue;
            }
            lines.line(1, format!("const int64 b{i} = {bits};"));
            for from in 0..4 {
                let (at, to) = order.source(round, from);
                let value = moved(&format!("b{i}"), (from, to), "0");
                let name = format!("out{i}_{at}");
                lines.line(1, format!("{name} = v_i32_or_b({name}, {value});"));
            }
        }
        lines.line(0, "}".into());
    }
    for (i, (t, order)) in plan.outputs.iter().zip(&outputs).enumerate() {
        let (short, vector) = memory(t.elem);
        for at in 0..order.vectors() {
            let mut name = format!("out{i}_{at}");
            if order.in_word > 1 {
                let bytes = shuffled(&name, &gather(order.in_word).0);
                lines.line(0, format!("const uchar256 {name}_bytes = {bytes};"));
                name += "_bytes";
            }
            lines.line(0, place(order, at));
            lines.line(
                0,
                format!("v_{short}_st_tnsr(at, out{i}, *(const {vector} *)&{name});"),
            );
        }
    }
}
