//! Statements and loops.

use super::{ALL_TYPES, Array, Gen, MAX_SIZE, Var};
use crate::tree::{Ex, Stmt};
use crate::types::{Typed, common, promoted, spelled};
use tensorize_ir::scalar::ScalarType::{self, *};

/// What a loop's body may do besides.
#[derive(Clone, Copy, PartialEq)]
enum Jumps {
    No,
    /// A `continue` would skip the increment.
    Break,
    Both,
}

impl Gen {
    /// A few statements in a scope of their own.
    pub(super) fn block(&mut self, depth: usize) -> Vec<Stmt> {
        self.scope(|g| {
            let n = 1 + g.rng.below(4);
            (0..n).flat_map(|_| g.stmt(depth, Jumps::No)).collect()
        })
    }

    fn scope<T>(&mut self, body: impl FnOnce(&mut Gen) -> T) -> T {
        let (vars, arrays) = (self.vars.len(), self.arrays.len());
        let done = body(self);
        self.vars.truncate(vars);
        self.arrays.truncate(arrays);
        done
    }

    /// Loop nests one after the other.
    pub(super) fn tidy_body(&mut self) -> Vec<Stmt> {
        let mut out = vec![];
        if self.chance(3) {
            out.push(self.declaration(1));
        }
        if self.chance(4) {
            if self.chance(3) {
                out.extend(self.some_loop(0));
            }
            if self.chance(4) {
                out.push(self.assignment());
            }
            out.push(self.over_time());
            if self.chance(3) {
                out.extend(self.some_loop(0));
            }
            return out;
        }
        for _ in 0..1 + self.rng.below(2) {
            let depth = 1 + self.rng.below(2) as usize;
            out.extend(self.some_loop(depth));
        }
        out
    }

    /// A loop of which each round goes over arrays that the one before may have changed, and sometimes leaves a number to the
    /// next one, too.
    fn over_time(&mut self) -> Stmt {
        let bound = self.bound();
        let types: &[ScalarType] = match bound.lo {
            0.. => &[I32, I32, I64, U32],
            _ => &[I32, I64],
        };
        let ty = *self.rng.pick(types);
        let (t, name) = (spelled(ty, &mut self.rng), self.fresh("t"));
        let (head, lo) = match self.rng.below(4) {
            0 => (
                format!("for ({t} {name} = ({t}){{}}; {name} > 0; {name}--)"),
                1,
            ),
            1 => (
                format!("for ({t} {name} = 1; {name} <= ({t}){{}}; {name} += 2)"),
                1,
            ),
            _ => (
                format!("for ({t} {name} = 0; {name} < ({t}){{}}; {name}++)"),
                0,
            ),
        };
        let (carried, few) = (self.chance(6), 1 + self.rng.below(3));
        let body = self.scope(|g| {
            g.vars.push(Var {
                name,
                ty,
                lo,
                hi: bound.hi,
                assignable: false,
                counter: true,
            });
            let mut body = vec![];
            for _ in 0..few {
                let depth = g.rng.below(2) as usize;
                body.extend(g.some_loop(depth));
            }
            if carried {
                body.push(g.assignment());
            }
            body
        });
        Stmt::new(&head, vec![bound.ex]).block(body, "", vec![])
    }

    fn stmt(&mut self, depth: usize, jumps: Jumps) -> Vec<Stmt> {
        if self.budget == 0 {
            return vec![self.store()];
        }
        self.budget -= 1;
        match self.rng.below(22) {
            0..=4 => vec![self.store()],
            5..=7 => vec![self.declaration(2)],
            8 | 9 => vec![self.assignment()],
            10 => vec![self.step()],
            11 | 12 if depth > 0 => vec![self.branch(depth)],
            13 if depth > 0 => vec![self.switch(depth)],
            14 if jumps != Jumps::No => {
                let c = self.condition(1);
                vec![Stmt::new("if ({})", vec![c]).block(
                    vec![Stmt::new("break;", vec![])],
                    "",
                    vec![],
                )]
            }
            15 if jumps == Jumps::Both => {
                let c = self.condition(1);
                vec![Stmt::new("if ({}) continue;", vec![c])]
            }
            16 if self.chance(3) => {
                let c = self.condition(1);
                let value = self.returns.map(|ty| self.value_of(ty, 1));
                vec![match value {
                    Some(v) => Stmt::new("if ({}) return {};", vec![c, v]),
                    None => Stmt::new("if ({}) return;", vec![c]),
                }]
            }
            17 => vec![self.scratch()],
            18 if depth > 0 && self.loops < 4 && self.chance(2) => vec![self.shrinking(depth - 1)],
            18.. if depth > 0 && self.loops < 4 => self.some_loop(depth - 1),
            _ => vec![self.store()],
        }
    }

    fn declaration(&mut self, depth: usize) -> Stmt {
        let ty = *self.rng.pick(&[I32, I32, I64, U32, U8, I16, F32, F64]);
        let value = self.value_of(ty, depth);
        let name = self.fresh("t");
        let format = format!("{} {name} = {{}};", spelled(ty, &mut self.rng));
        self.declare(name, ty, true);
        Stmt::new(&format, vec![value])
    }

    /// A local array.
    fn scratch(&mut self) -> Stmt {
        let elem = *self.rng.pick(&ALL_TYPES);
        let name = self.fresh("s");
        let (a, b) = (self.value_of(elem, 1), self.value_of(elem, 1));
        let ty = spelled(elem, &mut self.rng);
        let stmt = Stmt::new(&format!("{ty} {name}[8] = {{ {{}}, {{}} }};"), vec![a, b]);
        self.arrays.push(Array {
            name,
            elem,
            spelled: ty,
            writable: true,
            len: 8,
        });
        stmt
    }

    fn store(&mut self) -> Stmt {
        let (place, array) = self.writable();
        if self.chance(4) {
            return self.compound(place, array.elem);
        }
        let depth = if self.tidy { 3 } else { 2 };
        let value = self.value_of(array.elem, depth);
        Stmt::new("{} = {};", vec![place, value])
    }

    /// A scalar variable that may be assigned.
    fn assignable(&mut self) -> Option<Var> {
        let vars: Vec<Var> = self.vars.iter().filter(|v| v.assignable).cloned().collect();
        (!vars.is_empty()).then(|| self.rng.pick(&vars).clone())
    }

    fn assignment(&mut self) -> Stmt {
        let Some(var) = self.assignable() else {
            return self.store();
        };
        if self.chance(2) {
            return self.compound(Ex::leaf(var.name), var.ty);
        }
        let value = self.value_of(var.ty, 2);
        Stmt::new("{} = {};", vec![Ex::leaf(var.name), value])
    }

    /// `place op= value`, or the same written out where the operation could overflow.
    fn compound(&mut self, place: Ex, ty: ScalarType) -> Stmt {
        let mut e = self.expr(2);
        if ty.is_int() && e.ty.is_float() {
            e = self.convertible(e, ty);
        }
        let wide = common(ty, e.ty);
        let own = Typed::any(place.clone(), ty);
        let op = *self
            .rng
            .pick(&["+", "+", "-", "*", "&", "|", "^", "<<", ">>", "/"]);
        match op {
            "+" | "-" | "*" => {
                let op = op.chars().next().unwrap_or('+');
                let sum = self.arithmetic(op, own, e.clone());
                // Written as a cast of an unsigned sum: that could have overflowed.
                let careful = self.guarded
                    && !self.wraps
                    && wide.is_signed()
                    && sum.lo == wide.min_value()
                    && wide.is_int();
                if careful {
                    return Stmt::new("{} = {};", vec![place, sum.ex]);
                }
                Stmt::new(&format!("{{}} {op}= {{}};"), vec![place, e.ex])
            }
            "&" | "|" | "^" if ty.is_int() => {
                Stmt::new(&format!("{{}} {op}= {{}};"), vec![place, e.ex])
            }
            ">>" if ty.is_int() => {
                let count = self.rng.below(u64::from(promoted(ty).bits()));
                Stmt::new("{} >>= {};", vec![place, Ex::leaf(count.to_string())])
            }
            "<<" if ty.is_int() && (!promoted(ty).is_signed() || self.wraps) => {
                let count = self.rng.below(u64::from(ty.bits()));
                Stmt::new("{} <<= {};", vec![place, Ex::leaf(count.to_string())])
            }
            "/" if ty.is_int() => {
                let by = 1 + self.rng.below(9);
                Stmt::new("{} /= {};", vec![place, Ex::leaf(by.to_string())])
            }
            _ => Stmt::new("{} = {};", vec![place, e.ex]),
        }
    }

    /// `x++` and the like, where it can't overflow.
    fn step(&mut self) -> Stmt {
        let format = *self.rng.pick(&["{}++;", "{}--;", "++{};", "--{};"]);
        match self.assignable() {
            Some(v)
                if !promoted(v.ty).is_signed()
                    || v.ty.bits() < 32
                    || self.wraps
                    || !self.guarded =>
            {
                Stmt::new(format, vec![Ex::leaf(v.name)])
            }
            _ => self.store(),
        }
    }

    fn branch(&mut self, depth: usize) -> Stmt {
        let c = self.condition(2);
        let then = self.block(depth - 1);
        let stmt = Stmt::new("if ({})", vec![c]);
        if self.chance(2) {
            return stmt.block(then, "", vec![]);
        }
        let otherwise = self.block(depth - 1);
        stmt.block(then, " else", vec![])
            .block(otherwise, "", vec![])
    }

    fn switch(&mut self, depth: usize) -> Stmt {
        let e = loop {
            let e = self.expr(1);
            if e.ty.is_int() {
                break e;
            }
        };
        let mut body = vec![];
        for label in ["case 0:", "case 1: case 5:", "case 2:", "default:"] {
            if self.chance(5) {
                continue;
            }
            body.push(Stmt::new(label, vec![]).block(self.block(depth - 1), "", vec![]));
            body.push(Stmt::new("break;", vec![]));
        }
        Stmt::new("switch ({} & 3)", vec![e.ex]).block(body, "", vec![])
    }

    /// A loop and what has to stand before it.
    fn some_loop(&mut self, depth: usize) -> Vec<Stmt> {
        self.loops += 1;
        let bound = self.bound();
        let unsigned_counter = bound.lo >= 0;
        let ty = if self.tidy && self.chance(2) {
            // The counter that most people write.
            I32
        } else if unsigned_counter {
            *self
                .rng
                .pick(&[I32, I32, I32, U32, U64, I64, U8, I16, bound.ty])
        } else {
            *self.rng.pick(&[I32, I32, I64, I16])
        };
        let t = spelled(ty, &mut self.rng);
        let i = self.fresh("i");
        let mut out = vec![];
        let accumulator = self.chance(3).then(|| self.accumulator(&mut out));
        let counter = |lo, hi| Var {
            name: i.clone(),
            ty,
            lo,
            hi,
            assignable: false,
            counter: true,
        };
        let upper = bound.hi;
        let last = |g: &mut Gen, body: &mut Vec<Stmt>| {
            if let Some((name, ty)) = &accumulator {
                body.push(g.accumulate(name, *ty));
            }
        };
        let n = bound.ex;
        match self.rng.below(if self.tidy { 9 } else { 12 }) {
            0..=3 => {
                let step = *self
                    .rng
                    .pick(&["{I}++", "++{I}", "{I} += 1", "{I} = {I} + 1"]);
                let head = format!("for ({t} {i} = 0; {i} < {{}}; {})", step.replace("{I}", &i));
                let mut body = self.rounds(counter(0, upper - 1), depth, Jumps::Both);
                last(self, &mut body);
                out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
            }
            4 => {
                let step = 2 + self.rng.below(2);
                let from = self.rng.below(2);
                let head = format!("for ({t} {i} = {from}; {i} < {{}}; {i} += {step})");
                let mut body = self.rounds(counter(from.into(), upper - 1), depth, Jumps::Both);
                last(self, &mut body);
                out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
            }
            5 if ty.is_signed() => {
                let head = format!("for ({t} {i} = ({t}){{}} - 1; {i} >= 0; {i}--)");
                let mut body = self.rounds(counter(0, upper - 1), depth, Jumps::Both);
                last(self, &mut body);
                out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
            }
            6 if bound.lo >= 0 => {
                let head = format!("for ({t} {i} = {{}}; {i}-- > 0;)");
                let mut body = self.rounds(counter(0, upper - 1), depth, Jumps::Both);
                last(self, &mut body);
                out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
            }
            7 => out.extend(self.walk(n, bound.lo, depth)),
            8 => {
                let head = format!("for ({t} {i} = 1; {i} <= {{}}; {i}++)");
                let mut body = self.rounds(counter(1, upper), depth, Jumps::Both);
                last(self, &mut body);
                out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
            }
            9 => {
                out.push(Stmt::new(&format!("{t} {i} = 0;"), vec![]));
                let mut body = self.rounds(counter(0, upper - 1), depth, Jumps::Break);
                last(self, &mut body);
                body.push(Stmt::new(&format!("{i}++;"), vec![]));
                let head = format!("while ({i} < {{}})");
                out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
            }
            10 => {
                out.push(Stmt::new(&format!("{t} {i} = 0;"), vec![]));
                let mut body = self.rounds(counter(0, upper - 1), depth, Jumps::Break);
                last(self, &mut body);
                let after = format!(" while (++{i} < {{}});");
                let again = Stmt::new("do", vec![]).block(body, &after, vec![n.clone()]);
                out.push(Stmt::new("if ({} > 0)", vec![n]).block(vec![again], "", vec![]));
            }
            _ => {
                out.push(Stmt::new(&format!("{t} {i} = 0;"), vec![]));
                let mut body = vec![Stmt::new(&format!("if ({i} >= {{}})"), vec![n]).block(
                    vec![Stmt::new("break;", vec![])],
                    "",
                    vec![],
                )];
                body.extend(self.rounds(counter(0, upper - 1), depth, Jumps::Break));
                last(self, &mut body);
                body.push(Stmt::new(&format!("++{i};"), vec![]));
                out.push(Stmt::new("for (;;)", vec![]).block(body, "", vec![]));
            }
        }
        if let Some((name, ty)) = accumulator {
            // What was accumulated is used.
            let (place, array) = self.writable();
            let value = self.convertible(Typed::any(Ex::leaf(name), ty), array.elem);
            out.push(Stmt::new("{} = {};", vec![place, value.ex]));
        }
        out
    }

    /// A loop that ends because a number gets smaller by a factor in each round.
    fn shrinking(&mut self, depth: usize) -> Stmt {
        self.loops += 1;
        let ty = *self.rng.pick(&[U32, U32, I32, U8, I16, U64, I64, F32, F64]);
        let (t, v) = (spelled(ty, &mut self.rng), self.fresh("v"));
        let first = self.expr(1);
        // An infinity would never get smaller.
        let finite = if ty.is_float() { I16 } else { ty };
        let first = self.convertible(first, finite).ex;
        let first = Ex::new(
            &format!("({}){{}}", spelled(finite, &mut self.rng)),
            vec![first],
        );
        let least = self.rng.below(3);
        let step = match self.rng.below(3) {
            0 if ty.is_int() && !ty.is_signed() => format!("{v} &= {v} - 1"),
            1 if ty.is_int() => format!("{v} >>= {}", 1 + self.rng.below(4)),
            _ => format!("{v} /= {}", 2 + self.rng.below(9)),
        };
        let shifts = step.contains(">>");
        let goes_on = match self.rng.below(3) {
            0 if ty.is_int() && !(shifts && ty.is_signed()) => v.clone(),
            1 => format!("{least} < {v}"),
            _ => format!("{v} > {least}"),
        };
        let own = |name: &String| (name.clone(), ty);
        let round = |g: &mut Gen, jumps| {
            g.scope(|g| {
                let (name, ty) = own(&v);
                g.declare(name, ty, false);
                (0..1 + g.rng.below(2))
                    .flat_map(|_| g.stmt(depth, jumps))
                    .collect::<Vec<_>>()
            })
        };
        let declared = Stmt::new(&format!("{t} {v} = {{}};"), vec![first.clone()]);
        let body = match self.rng.below(3) {
            0 => {
                let head = format!("for ({t} {v} = {{}}; {goes_on}; {step})");
                let body = round(self, Jumps::Both);
                return Stmt::new(&head, vec![first]).block(body, "", vec![]);
            }
            1 => {
                let mut body = round(self, Jumps::Break);
                body.push(Stmt::new(&format!("{step};"), vec![]));
                Stmt::new(&format!("while ({goes_on})"), vec![]).block(body, "", vec![])
            }
            _ => {
                let mut body = round(self, Jumps::Break);
                body.push(Stmt::new(&format!("{step};"), vec![]));
                Stmt::new("do", vec![]).block(body, &format!(" while ({goes_on});"), vec![])
            }
        };
        Stmt::new("if (1)", vec![]).block(vec![declared, body], "", vec![])
    }

    /// How far a loop runs: a size, an outer counter, or a number.
    fn bound(&mut self) -> Typed {
        let vars: Vec<Var> = self
            .vars
            .iter()
            .filter(|v| v.ty.is_int() && v.hi <= MAX_SIZE && v.lo >= -1)
            .cloned()
            .collect();
        if vars.is_empty() || self.chance(8) {
            let n = i128::from(1 + self.rng.below(5));
            return Typed::within(Ex::leaf(n.to_string()), I32, n, n);
        }
        let v = self.rng.pick(&vars).clone();
        Typed::within(Ex::leaf(v.name), v.ty, v.lo, v.hi)
    }

    /// The body of a loop with this counter.
    fn rounds(&mut self, counter: Var, depth: usize, jumps: Jumps) -> Vec<Stmt> {
        self.scope(|g| {
            g.vars.push(counter);
            if g.tidy {
                let mut body = vec![];
                if depth > 0 && g.loops < 4 {
                    body.extend(g.some_loop(depth - 1));
                }
                if body.is_empty() || g.chance(4) {
                    body.push(g.store());
                }
                if g.chance(6) {
                    let c = g.condition(1);
                    let then = vec![g.store()];
                    body.push(Stmt::new("if ({})", vec![c]).block(then, "", vec![]));
                }
                return body;
            }
            let n = 1 + g.rng.below(3);
            (0..n).flat_map(|_| g.stmt(depth, jumps)).collect()
        })
    }

    /// Declares a variable that the next loop adds up in.
    fn accumulator(&mut self, out: &mut Vec<Stmt>) -> (String, ScalarType) {
        let ty = *self.rng.pick(&[I32, I32, U32, I64, F32, F64, U8]);
        let name = self.fresh("acc");
        let init = *self.rng.pick(&["0", "0", "1"]);
        let text = format!("{} {name} = {init};", spelled(ty, &mut self.rng));
        out.push(Stmt::new(&text, vec![]));
        self.declare(name.clone(), ty, false);
        (name, ty)
    }

    fn accumulate(&mut self, name: &str, ty: ScalarType) -> Stmt {
        if self.chance(4) {
            let e = self.value_of(ty, 1);
            let op = *self.rng.pick(&["<", ">"]);
            let format = format!("if ({{}} {op} {name}) {name} = {{}};");
            return Stmt::new(&format, vec![e.clone(), e]);
        }
        self.compound(Ex::leaf(name), ty)
    }

    /// Walking pointers.
    fn walk(&mut self, n: Ex, lo: i128, depth: usize) -> Vec<Stmt> {
        let from = self.rng.pick(&self.arrays).clone();
        let writable: Vec<Array> = self.arrays.iter().filter(|a| a.writable).cloned().collect();
        let to = self.rng.pick(&writable).clone();
        let (p, q, v, k) = (
            self.fresh("p"),
            self.fresh("q"),
            self.fresh("v"),
            self.fresh("k"),
        );
        let mut out = vec![
            Stmt::new(
                &format!("const {} *{p} = {};", from.spelled, from.name),
                vec![],
            ),
            Stmt::new(&format!("{} *{q} = {};", to.spelled, to.name), vec![]),
        ];
        let body = self.scope(|g| {
            let mut body = vec![Stmt::new(
                &format!("{} {v} = *{p}++;", spelled(from.elem, &mut g.rng)),
                vec![],
            )];
            g.declare(v.clone(), from.elem, true);
            if depth > 0 && !g.tidy {
                body.extend(g.stmt(depth - 1, Jumps::Break));
            }
            let e = g.expr(1);
            let own = Typed::any(Ex::leaf(v.clone()), from.elem);
            let sum = g.arithmetic('+', own, e);
            let value = g.convertible(sum, to.elem);
            body.push(Stmt::new(&format!("*{q}++ = {{}};"), vec![value.ex]));
            body
        });
        if self.chance(2) && lo >= 0 {
            out.push(Stmt::new(&format!("int {k} = {{}};"), vec![n]));
            let head = format!("while ({k}--)");
            out.push(Stmt::new(&head, vec![]).block(body, "", vec![]));
        } else {
            let head = format!("for (int {k} = 0; {k} < (int){{}}; {k}++)");
            out.push(Stmt::new(&head, vec![n]).block(body, "", vec![]));
        }
        out
    }
}
