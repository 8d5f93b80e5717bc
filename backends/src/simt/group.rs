//! Sums over whole arrays, by all items of one group.
//!
//! Every item of the group computes what stands outside of sums, and all get the same. Of a sum that may be taken in any
//! order, which the prover has seen to, each item takes every 256th term, and the partial sums are added in pairs.

use super::dialect::Dialect;
use super::schedule::{Alone, Hidden, Part};
use super::tile::Shared;
use crate::cpu::c::{Pieces, Printed, Style};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Len, LocalArray, Loop, LoopMode, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

use ScalarType::I64;

/// How many items a group has.
const GROUP: usize = 256;

/// A part that a group does together.
pub(super) struct Together<'a> {
    alone: &'a Alone,
    /// For partial sums: an array for each type of them.
    scratch: BTreeMap<ScalarType, Sym>,
}

/// The part, if there is a sum in it that a group can take, and nothing that one item must do alone.
pub(super) fn together(part: &Part) -> Option<Together<'_>> {
    let alone = part.alone()?;
    let mut scratch = BTreeMap::new();
    sums(&alone.body, &alone.outputs, &mut scratch)?;
    (!scratch.is_empty()).then_some(Together { alone, scratch })
}

impl Together<'_> {
    /// What the items of a group share.
    pub(super) fn shared(&self) -> Vec<Shared> {
        let shared = |(elem, name): (&ScalarType, &Sym)| Shared {
            name: name.clone(),
            elem: *elem,
        };
        self.scratch.iter().map(shared).collect()
    }
}

/// Notes the types of the sums. Nothing, if the statements store anything but outputs, or look at what a round of a sum
/// leaves behind.
fn sums(
    stmts: &[Stmt],
    outputs: &BTreeSet<Sym>,
    scratch: &mut BTreeMap<ScalarType, Sym>,
) -> Option<()> {
    let mut foreign = false;
    visit(stmts, &mut |part| {
        foreign |=
            matches!(part, Visited::Stmt(Stmt::Store { array, .. }) if !outputs.contains(array));
    });
    if foreign {
        return None;
    }
    let mut rest = stmts;
    while let Some((stmt, after)) = rest.split_first() {
        rest = after;
        match stmt {
            Stmt::If {
                then, otherwise, ..
            } => {
                sums(then, outputs, scratch)?;
                sums(otherwise, outputs, scratch)?;
            }
            Stmt::Assign { .. } => {
                if let Some(sum) = sum(stmt, after) {
                    let own: BTreeSet<&Sym> = sum.own.iter().copied().collect();
                    let mut looks = false;
                    visit(&after[1..], &mut |part| {
                        looks |= matches!(part, Visited::Expr(Expr::Var(v, _)) if own.contains(v));
                    });
                    // A later assignment of the same name would be another variable; there is none in what we lower.
                    if looks {
                        return None;
                    }
                    let ty = sum.ty;
                    scratch
                        .entry(ty)
                        .or_insert_with(|| format!("partial'{ty}").into());
                    rest = &after[1..];
                }
            }
            _ => {}
        }
    }
    Some(())
}

/// `var = 0; while (var < extent) { body; acc = acc ∘ term; var = var + 1 }`, whose rounds may run in any order.
struct Sum<'s> {
    counter: &'s Sym,
    extent: &'s Expr,
    op: BinOp,
    acc: &'s Sym,
    ty: ScalarType,
    /// A round, without the counter's step.
    round: &'s [Stmt],
    /// What a round assigns besides the accumulator, and the counter.
    own: Vec<&'s Sym>,
}

fn sum<'s>(start: &'s Stmt, after: &'s [Stmt]) -> Option<Sum<'s>> {
    let (
        Stmt::Assign {
            var: counter,
            value,
            ..
        },
        Some(Stmt::Loop(Loop {
            cond: Expr::Compare(CmpOp::Lt, tested, extent),
            test_first: true,
            body,
            mode: LoopMode::Simd { reductions },
            ..
        })),
    ) = (start, after.first())
    else {
        return None;
    };
    let [(op, acc)] = reductions.as_slice() else {
        return None;
    };
    let zero = matches!(value, Expr::Const(v) if v.as_int() == 0);
    let counts = matches!(&**tested, Expr::Var(v, _) if v == counter);
    let (Stmt::Assign { var: last, .. }, round) = body.split_last()? else {
        return None;
    };
    let mut own = vec![counter];
    let mut ty = None;
    let plain = round.iter().all(|s| match s {
        Stmt::Assign { var, ty: t, .. } => {
            if var == acc {
                ty = Some(*t);
            } else {
                own.push(var);
            }
            true
        }
        _ => false,
    });
    let mut steady = true;
    extent.visit(&mut |e| match e {
        Expr::Var(v, _) => steady &= !own.contains(&v) && v != acc,
        Expr::Load { .. } => steady = false,
        _ => {}
    });
    let ty = ty.filter(|_| zero && counts && plain && steady && last == counter)?;
    neutral(*op, ty)?;
    Some(Sum {
        counter,
        extent,
        op: *op,
        acc,
        ty,
        round,
        own,
    })
}

/// What changes no value under the operator.
fn neutral(op: BinOp, ty: ScalarType) -> Option<Scalar> {
    let number = |int: i128, float: f64| match ty {
        ScalarType::F32 => Scalar::f32(float as f32),
        ScalarType::F64 => Scalar::f64(float),
        _ => Scalar::int(ty, int),
    };
    Some(match op {
        // Of zeros, the negative one is neutral.
        BinOp::Add => number(0, -0.0),
        BinOp::Multiply => number(1, 1.0),
        BinOp::Or | BinOp::Xor if ty.is_int() => number(0, 0.0),
        BinOp::And if ty.is_signed() => number(-1, 0.0),
        BinOp::And if ty.is_int() => number(ty.max_value(), 0.0),
        BinOp::Maximum => number(ty.min_value(), f64::NEG_INFINITY),
        BinOp::Minimum => number(ty.max_value(), f64::INFINITY),
        _ => return None,
    })
}

impl Together<'_> {
    /// The function that an item runs. Its last parameters are what the group shares, this item's number in its group, and
    /// the group's among how many.
    pub(super) fn print(
        &self,
        name: &str,
        part: &Part,
        hidden: &Hidden,
        dialect: &Dialect,
        linkage: &str,
        style: Style,
    ) -> Printed {
        let not_counted = [&hidden.first, &hidden.step];
        let arrays = self.scratch.iter().map(|(elem, name)| LocalArray {
            name: name.clone(),
            elem: *elem,
            len: Len::Fixed(GROUP),
            init: None,
        });
        let function = Function {
            name: name.to_owned(),
            params: (part.function.params.iter())
                .filter(|p| !not_counted.contains(&p.name()))
                .cloned()
                .collect(),
            arrays: arrays.collect(),
            body: [self.alone.before.as_slice(), &self.alone.body].concat(),
            ..part.function.clone()
        };
        let mut p = Pieces::new(&function, style);
        let [item, group, groups] = ["item", "group", "groups"].map(|s| p.fresh(s));
        let mut params = vec![p.params()];
        for (elem, name) in &self.scratch {
            params.push(format!(
                "{}{} *{}",
                dialect.local,
                elem.c_name(),
                p.name(name)
            ));
        }
        params.extend([&item, &group, &groups].map(|n| format!("int64_t {n}")));
        let width = p.fresh("width");
        let mut conditions = vec![format!("{group} == 0")];
        for guard in &self.alone.guards {
            conditions.push(format!("({})", p.index(guard)));
        }
        let mut text = format!("\n{linkage}void {name}({}) {{\n", params.join(", "));
        text += &p.variables(1);
        text += &p.block(&self.alone.before, 1);
        let _ = writeln!(text, "    if ({}) {{", conditions.join(" && "));
        let mut w = Walk {
            pieces: &mut p,
            scratch: &self.scratch,
            barrier: dialect.barrier(),
            item,
            width,
            text,
        };
        w.block(&self.alone.body, 2);
        let text = w.text + "    }\n}\n";
        p.printed(text)
    }
}

struct Walk<'w, 'p> {
    pieces: &'w mut Pieces<'p>,
    scratch: &'w BTreeMap<ScalarType, Sym>,
    barrier: String,
    item: String,
    width: String,
    text: String,
}

impl Walk<'_, '_> {
    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(depth));
    }

    fn wait(&mut self, depth: usize) {
        let barrier = self.barrier.clone();
        self.line(depth, &barrier);
    }

    fn plain(&mut self, stmts: &[Stmt], depth: usize) {
        self.text += &self.pieces.block(stmts, depth);
    }

    /// Statements that all items of the group run, with the same values.
    fn block(&mut self, stmts: &[Stmt], depth: usize) {
        let mut rest = stmts;
        while let Some((stmt, after)) = rest.split_first() {
            let here = rest;
            rest = after;
            if let Some(sum) = sum(stmt, after) {
                self.sum(&sum, depth);
                rest = &after[1..];
                continue;
            }
            match stmt {
                // Together with the counter's start, so that it is printed as one loop.
                Stmt::Assign { .. } if matches!(after.first(), Some(Stmt::Loop(_))) => {
                    self.plain(&here[..2], depth);
                    rest = &after[1..];
                }
                Stmt::Store { .. } => {
                    let item = self.item.clone();
                    self.line(depth, &format!("if ({item} == 0) {{"));
                    self.plain(std::slice::from_ref(stmt), depth + 1);
                    self.line(depth, "}");
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let cond = self.pieces.value(cond);
                    self.line(depth, &format!("if ({cond}) {{"));
                    self.block(then, depth + 1);
                    if !otherwise.is_empty() {
                        self.line(depth, "} else {");
                        self.block(otherwise, depth + 1);
                    }
                    self.line(depth, "}");
                }
                other => self.plain(std::slice::from_ref(other), depth),
            }
        }
    }

    fn sum(&mut self, sum: &Sum, depth: usize) {
        let (item, width) = (self.item.clone(), self.width.clone());
        let (acc, counter) = (self.pieces.name(sum.acc), self.pieces.name(sum.counter));
        let Some(neutral) = neutral(sum.op, sum.ty) else {
            return;
        };
        let scratch = &self.scratch[&sum.ty];
        let partial = self.pieces.name(scratch);
        let at = |n: &str| Expr::load(scratch.clone(), sum.ty, Expr::var(n, I64));
        let set = |var: &Sym, value| Stmt::Assign {
            var: var.clone(),
            ty: sum.ty,
            value,
        };
        // The first item goes on from what was there.
        self.line(depth, &format!("if ({item} != 0) {{"));
        self.plain(&[set(sum.acc, Expr::Const(neutral))], depth + 1);
        self.line(depth, "}");
        let here = Expr::Var(sum.counter.clone(), I64);
        let goes_on = Expr::compare(CmpOp::Lt, here, sum.extent.clone());
        let goes_on = self.pieces.index(&goes_on);
        self.line(
            depth,
            &format!("for ({counter} = {item}; {goes_on}; {counter} += {GROUP}) {{"),
        );
        self.plain(sum.round, depth + 1);
        self.line(depth, "}");
        self.line(depth, &format!("{partial}[{item}] = {acc};"));
        self.wait(depth);
        self.line(
            depth,
            &format!("for (int {width} = {GROUP} / 2; {width} > 0; {width} /= 2) {{"),
        );
        self.line(depth + 1, &format!("if ({item} < {width}) {{"));
        let other = Expr::load(
            scratch.clone(),
            sum.ty,
            Expr::binary(
                BinOp::Add,
                Expr::var(item.as_str(), I64),
                Expr::var(width.as_str(), I64),
            ),
        );
        let both = Expr::binary(sum.op, at(&item), other);
        self.plain(
            &[Stmt::Store {
                array: scratch.clone(),
                index: Expr::var(item.as_str(), I64),
                value: both,
            }],
            depth + 2,
        );
        self.line(depth + 1, "}");
        self.wait(depth + 1);
        self.line(depth, "}");
        self.line(depth, &format!("{acc} = {partial}[0];"));
        self.wait(depth);
    }
}
