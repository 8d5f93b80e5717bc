//! The parts of operators that take some thought: regroupings, slices, indices that mostly lie inside.

use super::*;

impl Case {
    pub(super) fn reducer(&mut self) -> Reducer {
        match self.below(3) {
            0 => Reducer::TakeIf(self.pick(CmpOp::ALL)),
            1 => Reducer::KeepIf(self.pick(CmpOp::ALL)),
            _ => Reducer::Op(self.pick(&[BinOp::Add, BinOp::Maximum, BinOp::Subtract])),
        }
    }

    /// What folds start from: a scalar, or a tensor of the result's shape.
    pub(super) fn start(&mut self, result: Shape, elem: ScalarType, below: usize) -> NodeId {
        match self.chance() {
            true => self.scalar_node(elem),
            false => self.operand(result, elem, below),
        }
    }

    /// A shape with a dimension or more, and one of them.
    pub(super) fn with_a_dimension(&mut self, mut shape: Shape) -> (Shape, usize) {
        if shape.is_empty() {
            shape.push(Idx::sym("n"));
        }
        let dimension = self.below(shape.len());
        (shape, dimension)
    }

    /// The same number of elements in other dimensions: neighbours merged, ones put in, all reversed.
    pub(super) fn regrouped(&mut self, shape: Shape) -> Shape {
        let mut to = Shape::new();
        for e in shape {
            match to.last_mut() {
                Some(last) if self.chance() => *last = &*last * &e,
                _ => to.push(e),
            }
            if self.below(3) == 0 {
                to.push(Idx::constant(1));
            }
        }
        if self.below(3) == 0 {
            to.reverse();
        }
        to
    }

    pub(super) fn slice(&mut self, shape: Shape, elem: ScalarType, depth: usize) -> NodeId {
        let stride: Vec<i64> = shape.iter().map(|_| 1 + self.below(3) as i64).collect();
        let start = self.shape(shape.len());
        let from = (0..shape.len())
            .map(|d| {
                let stride = Idx::constant(stride[d].into());
                let last = &start[d] + &(&(&shape[d] - &Idx::constant(1)) * &stride);
                // Now and then the last elements lie outside.
                let short = usize::from(self.below(6) == 0);
                &last + &Idx::constant(1 - short as i128)
            })
            .collect();
        let a = self.operand(from, elem, depth);
        self.add(Op::Slice { start, stride }, vec![a], shape, elem)
    }

    pub(super) fn gather(&mut self, shape: Shape, elem: ScalarType, depth: usize) -> NodeId {
        let extent = self.extent();
        let operand = self.operand(vec![extent.clone()], elem, depth);
        let index = self.pick(&[ScalarType::U8, ScalarType::I32, ScalarType::I64]);
        let indices = self.view(shape, index);
        // Most indices lie within the vector.
        let Op::View(view) = self.function.nodes[indices].op.clone() else {
            unreachable!()
        };
        let size = self.size(&extent).max(1) as usize;
        let wild = self.below(4) == 0;
        let len = self.inputs.arrays[&view.array].data.len();
        for i in 0..len {
            let value = Scalar::int(index, self.below(size) as i128);
            if !wild || self.chance() {
                self.inputs.arrays.get_mut(&view.array).unwrap().data[i] = value;
            }
        }
        self.inferred(Op::Gather, vec![operand, indices])
    }

    pub(super) fn dot_general(&mut self, depth: usize) -> NodeId {
        let elem = self.number();
        let (batches, sums) = (self.below(2), self.below(3));
        let shared = self.shape(batches + sums);
        let side = |case: &mut Case| {
            let free = case.below(2);
            let mut unordered = shared.clone();
            unordered.extend(case.shape(free));
            let permutation = case.permutation(unordered.len());
            let mut shape = unordered.clone();
            permutation
                .iter()
                .enumerate()
                .for_each(|(i, &d)| shape[d] = unordered[i].clone());
            (case.operand(shape, elem, depth), permutation)
        };
        let (left, l) = side(self);
        let (right, r) = side(self);
        let pairs: Vec<_> = l.into_iter().zip(r).take(batches + sums).collect();
        let (batch, contracting) = pairs.split_at(batches);
        let op = Op::DotGeneral {
            batch: batch.to_vec(),
            contracting: contracting.to_vec(),
        };
        let zero = self.scalar_node(elem);
        let result = self.function.infer(&op, &[left, right, zero]).unwrap();
        let init = self.start(result.shape, elem, depth);
        self.inferred(op, vec![left, right, init])
    }
}
