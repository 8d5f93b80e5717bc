//! Contractions, tiled in local memory: a group computes 16 × 16 elements together. Each of its items fetches one element
//! of a tile of either factor, and then all read from both tiles.
//!
//! An item still takes the steps of its own sum in their order, so that floats are rounded as before. What is fetched for
//! a place of a tile is what the loop itself would load there; that is all that is different from the proven loops.

use super::dialect::Dialect;
use super::schedule::{Hidden, Nest, Part};
use super::statements::{self, for_each_expr};
use crate::cpu::c::{Pieces, Printed, Style};
use std::fmt::Write as _;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Len, LocalArray, Loop, LoopMode, Stmt, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

use ScalarType::I64;

/// Rows and columns of a tile.
pub(super) const SIDE: i128 = 16;
/// More loads than these stay as they are: local memory is small.
const MOST: usize = 4;

/// A nest that is a contraction.
pub(super) struct Tiled {
    nest: Nest,
    /// What is done before the sum.
    before: Vec<Stmt>,
    /// The counter of the sum.
    counter: Sym,
    depth: Expr,
    /// One step, with loads from tiles.
    step: Vec<Stmt>,
    /// What is done after the sum.
    after: Vec<Stmt>,
    tiles: Vec<Tile>,
    /// The first step in the tiles.
    start: Sym,
    /// Which row and which column of the tiles is the item's.
    row: Sym,
    column: Sym,
}

/// 256 elements that the items of a group share.
pub(super) struct Shared {
    pub name: Sym,
    pub elem: ScalarType,
}

/// A part of an array in local memory.
struct Tile {
    name: Sym,
    elem: ScalarType,
    load: Expr,
    /// Whether its rows are those of the result; if not, its columns are.
    of_rows: bool,
}

/// The tiles, if a part is a sum over products of what depends on the row and what depends on the column.
pub(super) fn tiled(part: &Part) -> Option<Tiled> {
    let nest = part.nest()?;
    let [.., (i, _), (j, _)] = nest.loops.as_slice() else {
        return None;
    };
    let at = nest.body.iter().position(|s| matches!(s, Stmt::Loop(_)))?;
    let (
        Stmt::Loop(l),
        Stmt::Assign {
            var: counter,
            value: start,
            ..
        },
    ) = (&nest.body[at], nest.body.get(at.checked_sub(1)?)?)
    else {
        return None;
    };
    let depth = steps(l, counter, start)?;
    let (before, after) = (&nest.body[..at - 1], &nest.body[at + 1..]);
    let (_, step) = l.body.split_last()?;
    let plain = |s: &Stmt| matches!(s, Stmt::Assign { .. });
    // What differs between items may not decide how often they meet.
    let own = assigned(&nest.body);
    let counters = nest.loops.iter().map(|(v, _)| v);
    let differs = |e: &Expr| {
        mentions(e, &mut |v| {
            own.contains(&v) || counters.clone().any(|c| c == v)
        })
    };
    if !step.iter().all(plain) || differs(&depth) || loads(&depth) {
        return None;
    }
    let in_step = assigned(step);
    let mut step = step.to_vec();
    let mut tiles: Vec<Tile> = Vec::new();
    let [start, row, column] = ["start", "row", "column"].map(|s| Sym::from(format!("{s}'tile")));
    let stored = stored(&nest.body);
    for_each_expr(&mut step, &mut |e| {
        stage(e, &mut |load| {
            let Expr::Load { array, elem, index } = &*load else {
                return;
            };
            let uses = |v: &Sym| mentions(index, &mut |m| m == v);
            let fixed = !mentions(index, &mut |m| {
                in_step.contains(&m) || (own.contains(&m) && m != counter)
            });
            let (by_row, by_column) = (uses(i), uses(j));
            if !fixed
                || loads(index)
                || !uses(counter)
                || by_row == by_column
                || stored.contains(&array)
            {
                return;
            }
            let known = tiles.iter().position(|t| t.load == *load);
            let number = match known {
                Some(n) => n,
                None if tiles.len() == MOST => return,
                None => {
                    tiles.push(Tile {
                        name: format!("{array}_tile'{}", tiles.len()).into(),
                        elem: *elem,
                        load: load.clone(),
                        of_rows: by_row,
                    });
                    tiles.len() - 1
                }
            };
            let tile = &tiles[number];
            let i64_var = |v: &Sym| Expr::Var(v.clone(), I64);
            let k = Expr::binary(BinOp::Subtract, i64_var(counter), i64_var(&start));
            let place = if tile.of_rows {
                position(i64_var(&row), k)
            } else {
                position(k, i64_var(&column))
            };
            *load = Expr::load(tile.name.clone(), tile.elem, place);
        });
    });
    let both = tiles.iter().any(|t| t.of_rows) && tiles.iter().any(|t| !t.of_rows);
    both.then(|| Tiled {
        nest: nest.clone(),
        before: before.to_vec(),
        counter: counter.clone(),
        depth,
        step,
        after: after.to_vec(),
        tiles,
        start,
        row,
        column,
    })
}

/// How many steps a sum has that counts from 0 by 1.
fn steps(l: &Loop, counter: &Sym, start: &Expr) -> Option<Expr> {
    let Expr::Compare(CmpOp::Lt, var, depth) = &l.cond else {
        return None;
    };
    let is = |e: &Expr| matches!(e, Expr::Var(v, _) if v == counter);
    let by_one = match l.body.last()? {
        Stmt::Assign {
            var,
            value: Expr::Binary(BinOp::Add, a, b),
            ..
        } => var == counter && is(a) && matches!(&**b, Expr::Const(v) if v.as_int() == 1),
        _ => false,
    };
    let from_zero = matches!(start, Expr::Const(v) if v.as_int() == 0);
    let sequential = l.test_first && l.mode == LoopMode::Sequential;
    (is(var) && by_one && from_zero && sequential).then(|| (**depth).clone())
}

fn position(row: Expr, column: Expr) -> Expr {
    let side = Expr::int(I64, SIDE);
    Expr::binary(BinOp::Add, Expr::binary(BinOp::Multiply, row, side), column)
}

/// Calls `f` with the loads that are evaluated whatever the data are.
fn stage(e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match e {
        Expr::Load { .. } => f(e),
        Expr::Select(c, ..) => stage(c, f),
        _ => e.children_mut().into_iter().for_each(|c| stage(c, f)),
    }
}

fn mentions(e: &Expr, f: &mut dyn FnMut(&Sym) -> bool) -> bool {
    let mut found = false;
    e.visit(&mut |e| {
        if let Expr::Var(v, _) = e {
            found |= f(v);
        }
    });
    found
}

fn loads(e: &Expr) -> bool {
    statements::loads(e)
}

fn assigned(stmts: &[Stmt]) -> Vec<&Sym> {
    let mut out = Vec::new();
    visit(stmts, &mut |part| {
        if let tensorize_ir::loopir::Visited::Stmt(Stmt::Assign { var, .. }) = part {
            out.push(var);
        }
    });
    out
}

fn stored(stmts: &[Stmt]) -> Vec<&Sym> {
    let mut out = Vec::new();
    visit(stmts, &mut |part| {
        if let tensorize_ir::loopir::Visited::Stmt(Stmt::Store { array, .. }) = part {
            out.push(array);
        }
    });
    out
}

/// An expression that a text takes in as an operand.
fn operand(p: &mut Pieces<'_>, e: &Expr) -> String {
    match e {
        Expr::Var(v, _) => p.name(v),
        other => format!("({})", p.index(other)),
    }
}

impl Tiled {
    /// What the items of a group share.
    pub(super) fn shared(&self) -> Vec<Shared> {
        let shared = |t: &Tile| Shared {
            name: t.name.clone(),
            elem: t.elem,
        };
        self.tiles.iter().map(shared).collect()
    }

    /// The function that an item runs. Its last parameters are the tiles, this item's number in its group, and the group's
    /// among how many.
    pub(super) fn print(
        &self,
        name: &str,
        part: &Part,
        hidden: &Hidden,
        dialect: &Dialect,
        linkage: &str,
        style: Style,
    ) -> Printed {
        let assign = |var: &Sym, value: Expr| Stmt::Assign {
            var: var.clone(),
            ty: value.ty(),
            value,
        };
        let zero = || Expr::int(I64, 0);
        // Names and types of all that is printed.
        let mut body = self.nest.before.clone();
        body.extend(self.nest.loops.iter().map(|(v, _)| assign(v, zero())));
        body.extend(
            [&self.start, &self.row, &self.column, &self.counter].map(|v| assign(v, zero())),
        );
        body.extend(
            self.before
                .iter()
                .chain(&self.step)
                .chain(&self.after)
                .cloned(),
        );
        let not_counted = [&hidden.first, &hidden.step];
        let function = Function {
            name: name.to_owned(),
            params: (part.function.params.iter())
                .filter(|p| !not_counted.contains(&p.name()))
                .cloned()
                .collect(),
            arrays: (self.tiles.iter())
                .map(|t| LocalArray {
                    name: t.name.clone(),
                    elem: t.elem,
                    len: Len::Fixed((SIDE * SIDE) as usize),
                    init: None,
                })
                .collect(),
            body,
            ..part.function.clone()
        };
        let mut p = Pieces::new(&function, style);
        let [item, group, groups] = ["item", "group", "groups"].map(|s| p.fresh(s));
        let [tile, tiles, left, inside] = ["tile", "tiles", "left", "inside"].map(|s| p.fresh(s));
        let (start, row, column) = (p.name(&self.start), p.name(&self.row), p.name(&self.column));
        let counter = p.name(&self.counter);
        let depth = operand(&mut p, &self.depth);
        let mut params = vec![p.params()];
        for t in &self.tiles {
            params.push(format!(
                "{}{} *{}",
                dialect.local,
                t.elem.c_name(),
                p.name(&t.name)
            ));
        }
        params.extend([&item, &group, &groups].map(|n| format!("int64_t {n}")));

        let mut text = format!("\n{linkage}void {name}({}) {{\n", params.join(", "));
        text += &p.variables(1);
        text += &p.block(&self.nest.before, 1);
        let mut line = |depth: usize, line: &str| {
            let _ = writeln!(text, "{}{line}", "    ".repeat(depth));
        };
        let mut conditions: Vec<String> = Vec::new();
        for guard in &self.nest.guards {
            conditions.push(format!("({})", p.index(guard)));
        }
        let mut extents = Vec::new();
        for (_, extent) in &self.nest.loops {
            let extent = operand(&mut p, extent);
            conditions.push(format!("{extent} > 0"));
            extents.push(extent);
        }
        let d = self.nest.loops.len();
        line(1, &format!("{row} = {item} / {SIDE};"));
        line(1, &format!("{column} = {item} % {SIDE};"));
        line(1, &format!("if ({}) {{", conditions.join(" && ")));
        // The last two dimensions in tiles, those before them one by one.
        let count = |n: usize| match n + 2 >= d {
            true => format!("(({} - 1) / {SIDE} + 1)", extents[n]),
            false => extents[n].clone(),
        };
        let counts: Vec<String> = (0..d).map(count).collect();
        line(2, &format!("int64_t {tiles} = {};", counts.join(" * ")));
        line(
            2,
            &format!("for (int64_t {tile} = {group}; {tile} < {tiles}; {tile} += {groups}) {{"),
        );
        line(3, &format!("int64_t {left} = {tile};"));
        for n in (0..d).rev() {
            let var = p.name(&self.nest.loops[n].0);
            let number = match n {
                0 => left.clone(),
                _ => format!("({left} % {})", counts[n]),
            };
            let place = if n + 1 == d {
                format!("{number} * {SIDE} + {column}")
            } else if n + 2 == d {
                format!("{number} * {SIDE} + {row}")
            } else {
                number
            };
            line(3, &format!("{var} = {place};"));
            if n > 0 {
                line(3, &format!("{left} = {left} / {};", counts[n]));
            }
        }
        let (i, j) = (
            p.name(&self.nest.loops[d - 2].0),
            p.name(&self.nest.loops[d - 1].0),
        );
        let (rows, columns) = (&extents[d - 2], &extents[d - 1]);
        line(
            3,
            &format!("int {inside} = {i} < {rows} && {j} < {columns};"),
        );
        line(3, &format!("if ({inside}) {{"));
        text += &p.block(&self.before, 4);
        let mut line = |depth: usize, line: &str| {
            let _ = writeln!(text, "{}{line}", "    ".repeat(depth));
        };
        line(3, "}");
        line(
            3,
            &format!("for ({start} = 0; {start} < {depth}; {start} += {SIDE}) {{"),
        );
        for t in &self.tiles {
            let (own, there) = match t.of_rows {
                true => (&column, format!("{i} < {rows}")),
                false => (&row, format!("{j} < {columns}")),
            };
            line(4, &format!("{counter} = {start} + {own};"));
            let load = p.index(&t.load);
            line(4, &format!("if ({there} && {counter} < {depth}) {{"));
            line(5, &format!("{}[{item}] = {load};", p.name(&t.name)));
            line(4, "}");
        }
        line(4, &dialect.barrier());
        line(4, &format!("if ({inside}) {{"));
        line(
            5,
            &format!(
                "for ({counter} = {start}; {counter} < {depth} && {counter} < {start} + {SIDE}; {counter}++) {{"
            ),
        );
        text += &p.block(&self.step, 6);
        let mut line = |depth: usize, line: &str| {
            let _ = writeln!(text, "{}{line}", "    ".repeat(depth));
        };
        line(5, "}");
        line(4, "}");
        line(4, &dialect.barrier());
        line(3, "}");
        line(3, &format!("if ({inside}) {{"));
        text += &p.block(&self.after, 4);
        text += "            }\n        }\n    }\n}\n";
        p.printed(text)
    }
}
