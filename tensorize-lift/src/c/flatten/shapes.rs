//! Shapes in arrays: members of the caller's structs that are arrays of a few integers, of which only elements with constant
//! numbers are read (`shape.dims[2]`). Each is a parameter then, as a size of its own would be.

use super::Node;
use crate::c::lower::Lower;
use std::collections::{BTreeSet, HashMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Param, Stmt, Visited, each_expr_mut, visit};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{Number, Shape};

/// What has more elements is data.
const MOST: u64 = 16;

/// Which elements of an array are read; `None` if there is more to it.
type Read = Option<BTreeSet<u64>>;

impl Lower<'_, '_> {
    /// Makes such elements parameters, in the body and in what is known of the source's parameters.
    pub fn name_shapes(&mut self, body: &mut [Stmt]) {
        let mut candidates = HashMap::new();
        for root in self.flat.roots.iter().filter(|r| r.global.is_none()) {
            if let Node::Struct { fields, .. } = &root.node {
                let members = fields.iter();
                members.for_each(|(_, node)| collect(node, &mut candidates));
            }
        }
        candidates.retain(|name, _| !self.written.contains(name));
        if candidates.is_empty() {
            return;
        }
        let constants = constants(body);
        let mut read: HashMap<Sym, Read> = HashMap::new();
        let mut note = |e: &Expr| {
            if let Expr::Load { array, index, .. } = e
                && let Some(len) = candidates.get(array)
            {
                let at = constant(index, &constants).and_then(|i| u64::try_from(i).ok());
                let found = read.entry(array.clone()).or_insert(Some(BTreeSet::new()));
                match at.filter(|at| at < len) {
                    Some(at) => _ = found.as_mut().map(|all| all.insert(at)),
                    None => *found = None,
                }
            }
        };
        visit(body, &mut |v| {
            if let Visited::Expr(e) = v {
                note(e);
            }
        });
        let mut named: HashMap<(Sym, u64), Sym> = HashMap::new();
        for (array, at) in read {
            for at in at.into_iter().flatten() {
                let name = self.flat_name(&format!("{array}_{at}"));
                named.insert((array.clone(), at), name);
            }
        }
        each_expr_mut(body, &mut |e| {
            if let Expr::Load { array, elem, index } = e
                && let Some(at) = constant(index, &constants).and_then(|i| u64::try_from(i).ok())
                && let Some(name) = named.get(&(array.clone(), at))
            {
                *e = Expr::Var(name.clone(), *elem);
            }
        });
        for root in &mut self.flat.roots {
            replace(&mut root.node, &named);
        }
    }
}

/// Arrays of a few integers that are members.
fn collect(node: &Node<'_>, into: &mut HashMap<Sym, u64>) {
    match node {
        Node::Struct { fields, .. } => fields.iter().for_each(|(_, node)| collect(node, into)),
        Node::Leaf(Shape::Place { len, .. }, params) => {
            if let [Param::Array { name, elem, .. }] = &params[..]
                && elem.is_int()
                && *elem != ScalarType::I1
                && (2..=MOST).contains(len)
            {
                into.insert(name.clone(), *len);
            }
        }
        Node::Leaf(..) => {}
    }
}

fn replace(node: &mut Node<'_>, named: &HashMap<(Sym, u64), Sym>) {
    match node {
        Node::Struct { fields, .. } => fields.iter_mut().for_each(|(_, node)| replace(node, named)),
        Node::Leaf(shape @ Shape::Place { .. }, params) => {
            let [Param::Array { name, elem, .. }] = &params[..] else {
                return;
            };
            let own = named.iter().filter(|((array, _), _)| array == name);
            let mut own: Vec<(u64, Sym)> = own.map(|((_, at), to)| (*at, to.clone())).collect();
            if own.is_empty() {
                return;
            }
            own.sort();
            let ty = *elem;
            *shape = Shape::Numbers {
                pointer: false,
                at: own
                    .iter()
                    .map(|(index, to)| Number {
                        index: *index,
                        to: to.to_string(),
                    })
                    .collect(),
            };
            *params = own
                .into_iter()
                .map(|(_, name)| Param::Scalar { name, ty })
                .collect();
        }
        Node::Leaf(..) => {}
    }
}

/// Variables that are never assigned anything but the same constant: a helper's parameters, mostly.
fn constants(body: &[Stmt]) -> HashMap<Sym, i128> {
    let mut found = HashMap::new();
    let mut others = HashSet::new();
    visit(body, &mut |v| {
        if let Visited::Stmt(Stmt::Assign { var, value, .. }) = v {
            let constant = match value {
                Expr::Const(v) if v.ty.is_int() => Some(v.as_int()),
                _ => None,
            };
            match constant {
                Some(v) if *found.entry(var.clone()).or_insert(v) == v => {}
                _ => _ = others.insert(var.clone()),
            }
        }
    });
    found.retain(|var, _| !others.contains(var));
    found
}

/// The value of an index, if it is always the same.
fn constant(e: &Expr, known: &HashMap<Sym, i128>) -> Option<i128> {
    Some(match e {
        Expr::Const(v) if v.ty.is_int() => v.as_int(),
        Expr::Var(v, _) => *known.get(v)?,
        Expr::Convert(ScalarType::I64, inner) if inner.ty() != ScalarType::U64 => {
            constant(inner, known)?
        }
        Expr::Binary(op, a, b) if e.ty() == ScalarType::I64 => {
            let (a, b) = (constant(a, known)?, constant(b, known)?);
            match op {
                BinOp::Add => a.checked_add(b)?,
                BinOp::Subtract => a.checked_sub(b)?,
                BinOp::Multiply => a.checked_mul(b)?,
                _ => return None,
            }
        }
        _ => return None,
    })
}
