//! Whatever is raised has the value that its closed form has, on random terms.

#[path = "raise/common.rs"]
mod common;

use common::raised;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::inputs::Rng;
use tensorize_ir::loopir::Param;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Node, Op, Output, TensorType, View, dim};

use ScalarType::*;

const ARRAYS: [(&str, ScalarType); 5] = [("x", F32), ("y", F64), ("z", I32), ("b", U8), ("w", I64)];

/// Makes terms; `vars` are the indices in scope.
struct Terms {
    rng: Rng,
    vars: Vec<Sym>,
    bound: usize,
}

impl Terms {
    fn one_in(&mut self, n: u64) -> bool {
        self.rng.below(n) == 0
    }

    /// A location, an extent or a number to compare.
    fn idx(&mut self) -> Idx {
        let mut idx = Idx::constant(self.rng.below(4) as i128 - 1);
        for v in self.vars.clone() {
            if self.one_in(2) {
                let by = match self.rng.below(5) {
                    0 => Idx::sym("n"),
                    1 => Idx::constant(2),
                    2 => Idx::constant(-1),
                    _ => Idx::constant(1),
                };
                idx = &idx + &(&by * &Idx::sym(v));
            }
        }
        match self.rng.below(12) {
            0 => &idx + &Idx::sym("n"),
            1 => idx.floor_div(&Idx::constant(2)),
            2 => idx.modulo(&Idx::constant(3)),
            _ => idx,
        }
    }

    fn leaf(&mut self, ty: ScalarType) -> ElemRef {
        match self.rng.below(6) {
            0 => Elem::constant(common::value(ty, &mut self.rng)),
            1 if ty != I1 => Elem::of_idx(ty, self.idx()),
            2 if ty == F32 => Arc::new(Elem::Param("alpha".into(), F32)),
            _ => match ARRAYS.iter().find(|a| a.1 == ty) {
                Some((name, _)) => {
                    let mut index = self.idx();
                    if self.one_in(12) {
                        let i = self.idx();
                        index = Idx::value(Elem::read("b", U8, i));
                    }
                    Elem::read(*name, ty, index)
                }
                None => {
                    let from = *self.rng.pick(&ARRAYS);
                    Elem::convert(ty, Elem::read(from.0, from.1, self.idx()))
                }
            },
        }
    }

    fn truth(&mut self, depth: u32) -> ElemRef {
        let cmp = *self.rng.pick(CmpOp::ALL);
        match self.rng.below(5) {
            0 => Elem::index_compare(cmp, self.idx(), self.idx()),
            1 => Elem::not(self.truth(depth / 2)),
            2 => {
                let (p, q) = (self.truth(depth / 2), self.truth(depth / 2));
                let flag = Elem::constant(Scalar::bool(self.one_in(2)));
                if self.one_in(2) {
                    Elem::select(p, flag, q)
                } else {
                    Elem::select(p, q, flag)
                }
            }
            _ => {
                let ty = *self.rng.pick(&[I32, U8, F32, F64]);
                Elem::compare(cmp, self.term(ty, depth / 2), self.term(ty, depth / 2))
            }
        }
    }

    fn term(&mut self, ty: ScalarType, depth: u32) -> ElemRef {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.rng.below(10) {
            0 | 1 => self.leaf(ty),
            2 => {
                let ops: Vec<UnOp> = UnOp::ALL
                    .iter()
                    .copied()
                    .filter(|o| o.accepts(ty))
                    .collect();
                let op = *self.rng.pick(&ops);
                Elem::unary(op, self.term(ty, depth - 1))
            }
            3..5 => {
                let ops: Vec<BinOp> = BinOp::ALL
                    .iter()
                    .copied()
                    .filter(|o| o.accepts(ty))
                    .collect();
                let op = *self.rng.pick(&ops);
                let a = self.term(ty, depth - 1);
                let b = if self.one_in(6) {
                    a.clone()
                } else {
                    self.term(ty, depth - 1)
                };
                Elem::binary(op, a, b)
            }
            5 => {
                let from = *self.rng.pick(&[I32, U8, F32, F64, I64]);
                Elem::convert(ty, self.term(from, depth - 1))
            }
            6 => {
                // As C promotes and converts back.
                let wide = if ty.is_int() { I64 } else { F64 };
                let op = *self
                    .rng
                    .pick(&[BinOp::Add, BinOp::Subtract, BinOp::Multiply]);
                let (a, b) = (self.term(ty, depth - 1), self.term(ty, depth - 1));
                Elem::convert(
                    ty,
                    Elem::binary(op, Elem::convert(wide, a), Elem::convert(wide, b)),
                )
            }
            7 => {
                let (a, b) = (self.term(ty, depth - 1), self.term(ty, depth - 1));
                let c = match self.one_in(2) {
                    true => Elem::compare(*self.rng.pick(CmpOp::ALL), a.clone(), b.clone()),
                    false => self.truth(depth - 1),
                };
                if self.one_in(2) {
                    Elem::select(c, a, b)
                } else {
                    Elem::select(c, b, a)
                }
            }
            _ => self.fold(ty, depth - 1),
        }
    }

    fn fold(&mut self, ty: ScalarType, depth: u32) -> ElemRef {
        self.bound += 1;
        let (var, acc): (Sym, Sym) = (
            format!("k{}", self.bound).into(),
            format!("a{}", self.bound).into(),
        );
        let extent = match self.rng.below(8) {
            0 => self.idx(),
            1 => Idx::constant(3),
            _ => Idx::sym("n"),
        };
        let init = if self.one_in(3) {
            self.term(ty, depth / 2)
        } else {
            self.leaf(ty)
        };
        self.vars.push(var.clone());
        let before = Arc::new(Elem::Acc(acc.clone(), ty));
        let step = self.step(&before, ty, depth);
        self.vars.pop();
        Arc::new(Elem::Fold(Arc::new(Fold {
            acc,
            var,
            extent,
            init,
            step,
            order: Order::Sequential,
            others: vec![],
        })))
    }

    fn step(&mut self, acc: &ElemRef, ty: ScalarType, depth: u32) -> ElemRef {
        let x = self.term(ty, depth);
        let ops: Vec<BinOp> = BinOp::ALL
            .iter()
            .copied()
            .filter(|o| o.accepts(ty))
            .collect();
        let cmp = *self.rng.pick(CmpOp::ALL);
        match self.rng.below(9) {
            0 => Elem::binary(*self.rng.pick(&ops), x, acc.clone()),
            1 | 2 => Elem::binary(*self.rng.pick(&ops), acc.clone(), x),
            3 => {
                let (p, q) = if self.one_in(2) {
                    (x.clone(), acc)
                } else {
                    (acc.clone(), &x)
                };
                let c = Elem::compare(cmp, p, q.clone());
                let c = if self.one_in(4) { Elem::not(c) } else { c };
                match self.one_in(2) {
                    true => Elem::select(c, x, acc.clone()),
                    false => Elem::select(c, acc.clone(), x),
                }
            }
            4 => {
                let then = self.step(acc, ty, depth / 2);
                let c = self.truth(depth / 2);
                match self.one_in(2) {
                    true => Elem::select(c, then, acc.clone()),
                    false => Elem::select(c, acc.clone(), then),
                }
            }
            5 => {
                // `if (c && x > m) m = x;`
                let c = Elem::compare(cmp, x.clone(), acc.clone());
                let no = Elem::constant(Scalar::bool(false));
                Elem::select(Elem::select(self.truth(depth / 2), c, no), x, acc.clone())
            }
            6 => {
                let inner = self.fold(ty, depth / 2);
                let Elem::Fold(f) = &*inner else { return inner };
                let init = if self.one_in(4) {
                    self.step(acc, ty, 0)
                } else {
                    acc.clone()
                };
                Arc::new(Elem::Fold(Arc::new(Fold {
                    init,
                    ..(**f).clone()
                })))
            }
            7 if ty.is_int() && ty != I1 => {
                let wide = Elem::binary(
                    *self
                        .rng
                        .pick(&[BinOp::Add, BinOp::Subtract, BinOp::Multiply]),
                    Elem::convert(I64, acc.clone()),
                    Elem::convert(I64, x),
                );
                Elem::convert(ty, wide)
            }
            _ => {
                let next = self.step(acc, ty, depth / 2);
                Elem::binary(*self.rng.pick(&ops), next, x)
            }
        }
    }
}

fn params() -> Vec<Param> {
    let array = |(name, elem): (&str, ScalarType)| Param::Array {
        name: name.into(),
        elem,
        is_const: true,
        restrict: false,
    };
    let mut all: Vec<Param> = ARRAYS.into_iter().map(array).collect();
    all.push(Param::Scalar {
        name: "n".into(),
        ty: I32,
    });
    all.push(Param::Scalar {
        name: "m".into(),
        ty: I64,
    });
    all.push(Param::Scalar {
        name: "alpha".into(),
        ty: F32,
    });
    for ty in [I1, I32, I64, U8, F32, F64] {
        all.push(Param::Array {
            name: format!("out_{ty}").into(),
            elem: ty,
            is_const: false,
            restrict: true,
        });
    }
    all
}

fn random(seed: u64) -> Function {
    let mut f = Function {
        name: "f".into(),
        params: params(),
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let mut t = Terms {
        rng: Rng::new(seed),
        vars: vec![],
        bound: 0,
    };
    let types = [I1, I32, I64, U8, F32, F64];
    let first = t.rng.below(6) as usize;
    for i in 0..1 + t.rng.below(2) as usize {
        let ty = types[(first + i) % 6];
        let rank = t.rng.below(3) as usize;
        t.vars = (0..rank).map(dim).collect();
        let shape = [Idx::sym("n"), Idx::sym("m")][..rank].to_vec();
        let value = if ty == I1 { t.truth(3) } else { t.term(ty, 4) };
        let index = match rank {
            2 => &(&Idx::sym("#0") * &Idx::sym("m")) + &Idx::sym("#1"),
            1 => Idx::sym("#0"),
            _ => Idx::default(),
        };
        let ty = TensorType::new(shape, ty);
        let view = View {
            array: format!("out_{}", ty.elem).into(),
            index,
        };
        f.nodes.push(Node {
            op: Op::Generic(value),
            args: vec![],
            ty,
        });
        f.outputs.push(Output::Store {
            value: f.nodes.len() - 1,
            view,
        });
    }
    f
}

#[test]
fn raising_keeps_every_bit() {
    let (mut operators, mut index_notation) = (0, 0);
    for seed in 0..300 {
        let f = raised(&random(seed));
        for node in f.nodes {
            match node.op {
                Op::Generic(_) => index_notation += 1,
                Op::Reduce { .. } | Op::DotGeneral { .. } => operators += 1,
                _ => {}
            }
        }
    }
    // The generator must not drift to where there is nothing to see.
    assert!(
        operators > 40,
        "{operators} reductions, {index_notation} generic"
    );
}
