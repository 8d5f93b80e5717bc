//! Where variables are declared: LoopIR's exist from their first assignment on, C's need a block.

use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, Stmt};
use tensorize_ir::scalar::ScalarType;

/// A statement, with `for` loops recognised.
pub(super) enum Node<'a> {
    /// As it is, and no control flow.
    Plain(&'a Stmt),
    If {
        cond: &'a Expr,
        then: Vec<Node<'a>>,
        otherwise: Vec<Node<'a>>,
    },
    /// `for (var = start; cond; step) body`
    For {
        var: &'a Sym,
        ty: ScalarType,
        start: &'a Expr,
        step: &'a Expr,
        looped: &'a Loop,
        body: Vec<Node<'a>>,
    },
    While {
        looped: &'a Loop,
        body: Vec<Node<'a>>,
    },
}

/// Recognises `for` loops: an assignment, then a loop that tests the variable and ends by changing it.
pub(super) fn recognise(stmts: &[Stmt]) -> Vec<Node<'_>> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < stmts.len() {
        if let (Stmt::Assign { var, ty, value }, Some(Stmt::Loop(l))) =
            (&stmts[i], stmts.get(i + 1))
            && l.test_first
            && mentions(&l.cond, var)
            && let Some((
                Stmt::Assign {
                    var: last,
                    value: step,
                    ..
                },
                body,
            )) = l.body.split_last()
            && last == var
            && !returns(body)
        {
            let body = recognise(body);
            out.push(Node::For {
                var,
                ty: *ty,
                start: value,
                step,
                looped: l,
                body,
            });
            i += 2;
            continue;
        }
        out.push(match &stmts[i] {
            Stmt::If {
                cond,
                then,
                otherwise,
            } => Node::If {
                cond,
                then: recognise(then),
                otherwise: recognise(otherwise),
            },
            Stmt::Loop(l) => Node::While {
                looped: l,
                body: recognise(&l.body),
            },
            plain => Node::Plain(plain),
        });
        i += 1;
    }
    out
}

fn returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match s {
        Stmt::Return(_) | Stmt::Trap => true,
        Stmt::If {
            then, otherwise, ..
        } => returns(then) || returns(otherwise),
        Stmt::Loop(l) => returns(&l.body),
        _ => false,
    })
}

pub(super) fn mentions(e: &Expr, var: &Sym) -> bool {
    matches!(e, Expr::Var(v, _) if v == var) || e.children().into_iter().any(|c| mentions(c, var))
}

/// Every variable that an expression reads.
pub(super) fn for_each_var(e: &Expr, f: &mut dyn FnMut(&Sym, ScalarType)) {
    if let Expr::Var(v, ty) = e {
        f(v, *ty);
    }
    e.children().into_iter().for_each(|c| for_each_var(c, f));
}

/// Where to declare a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the top of the function.
    Top,
    /// On a line of its own before the node of this number.
    Before(usize),
    /// By the assignment, or in the head of the `for`, that is the node of this number.
    At(usize),
}

/// A mention of a variable: the blocks around it, each with the node that stands in it.
struct Mention {
    path: Vec<(usize, usize)>,
    assigns: bool,
}

/// Decides for every variable that is assigned in `nodes`. Nodes are numbered in the order of print.
pub(super) fn declarations(nodes: &[Node]) -> BTreeMap<Sym, Place> {
    let mut walk = Walk::default();
    walk.block(nodes, &[]);
    let mut out = BTreeMap::new();
    for (var, mentions) in &walk.mentions {
        if !mentions.iter().any(|m| m.assigns) {
            continue;
        }
        let first = &mentions[0];
        let shared = mentions
            .iter()
            .map(|m| {
                m.path
                    .iter()
                    .zip(&first.path)
                    .take_while(|(a, b)| a.0 == b.0)
                    .count()
            })
            .min()
            .unwrap_or(1);
        let node = first.path[shared - 1].1;
        let place = if first.assigns && first.path.len() == shared {
            Place::At(node)
        } else if walk.ready(var, first.path[shared - 1].0, nodes) {
            Place::Before(node)
        } else {
            Place::Top
        };
        out.insert(var.clone(), place);
    }
    out
}

#[derive(Default)]
struct Walk {
    blocks: usize,
    nodes: usize,
    mentions: BTreeMap<Sym, Vec<Mention>>,
}

impl Walk {
    fn note(&mut self, var: &Sym, path: &[(usize, usize)], assigns: bool) {
        self.mentions.entry(var.clone()).or_default().push(Mention {
            path: path.to_vec(),
            assigns,
        });
    }

    fn reads(&mut self, e: &Expr, path: &[(usize, usize)]) {
        for_each_var(e, &mut |v, _| self.note(v, path, false));
    }

    fn block(&mut self, nodes: &[Node], outer: &[(usize, usize)]) {
        let block = self.blocks;
        self.blocks += 1;
        for node in nodes {
            let mut path = outer.to_vec();
            path.push((block, self.nodes));
            let number = self.nodes;
            self.nodes += 1;
            match node {
                Node::Plain(Stmt::Assign { var, value, .. }) => {
                    self.reads(value, &path);
                    self.note(var, &path, true);
                }
                Node::Plain(Stmt::Store { index, value, .. }) => {
                    self.reads(index, &path);
                    self.reads(value, &path);
                }
                Node::Plain(Stmt::Return(Some(e))) => self.reads(e, &path),
                Node::Plain(_) => {}
                Node::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    self.reads(cond, &path);
                    self.block(then, &path);
                    self.block(otherwise, &path);
                }
                Node::For {
                    var,
                    start,
                    step,
                    looped,
                    body,
                    ..
                } => {
                    self.reads(start, &path);
                    // The head of a `for` is a block of its own.
                    path.push((self.blocks, number));
                    self.blocks += 1;
                    self.note(var, &path, true);
                    self.reads(&looped.cond, &path);
                    self.block(body, &path);
                    self.reads(step, &path);
                }
                Node::While { looped, body } => {
                    self.reads(&looped.cond, &path);
                    self.block(body, &path);
                }
            }
        }
    }

    /// Whether every run of the block assigns the variable before it reads it, so that nothing has to
    /// outlive one run.
    fn ready(&self, var: &Sym, block: usize, nodes: &[Node]) -> bool {
        let mut next = 0;
        find_block(nodes, block, &mut next)
            .is_some_and(|nodes| assigned(nodes, var, false).is_some())
    }
}

/// The block of this number, in [`Walk::block`]'s order.
fn find_block<'n, 'a>(
    nodes: &'n [Node<'a>],
    block: usize,
    next: &mut usize,
) -> Option<&'n [Node<'a>]> {
    if *next == block {
        return Some(nodes);
    }
    *next += 1;
    for node in nodes {
        match node {
            Node::Plain(_) => {}
            Node::If {
                then, otherwise, ..
            } => {
                for inner in [then, otherwise] {
                    if let Some(found) = find_block(inner, block, next) {
                        return Some(found);
                    }
                }
            }
            Node::For { body, .. } => {
                // The head's number; what is shared there only is a counter, which its head assigns.
                *next += 1;
                if let Some(found) = find_block(body, block, next) {
                    return Some(found);
                }
            }
            Node::While { body, .. } => {
                if let Some(found) = find_block(body, block, next) {
                    return Some(found);
                }
            }
        }
    }
    None
}

/// Whether `var` has a value after these nodes, given whether it has one before; `None` if it is read
/// without one.
fn assigned(nodes: &[Node], var: &Sym, mut has: bool) -> Option<bool> {
    let reads = |e: &Expr, has: bool| (has || !mentions(e, var)).then_some(());
    for node in nodes {
        match node {
            Node::Plain(Stmt::Assign { var: v, value, .. }) => {
                reads(value, has)?;
                has |= v == var;
            }
            Node::Plain(Stmt::Store { index, value, .. }) => {
                reads(index, has)?;
                reads(value, has)?;
            }
            Node::Plain(Stmt::Return(Some(e))) => reads(e, has)?,
            Node::Plain(_) => {}
            Node::If {
                cond,
                then,
                otherwise,
            } => {
                reads(cond, has)?;
                let (t, f) = (assigned(then, var, has)?, assigned(otherwise, var, has)?);
                has = t && f;
            }
            Node::For {
                var: v,
                start,
                step,
                looped,
                body,
                ..
            } => {
                reads(start, has)?;
                has |= *v == var;
                reads(&looped.cond, has)?;
                let inner = assigned(body, var, has)?;
                reads(step, inner)?;
            }
            Node::While { looped, body } => {
                if looped.test_first {
                    reads(&looped.cond, has)?;
                    assigned(body, var, has)?;
                } else {
                    has = assigned(body, var, has)?;
                    reads(&looped.cond, has)?;
                }
            }
        }
    }
    Some(has)
}
