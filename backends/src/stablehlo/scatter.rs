//! Results of which the data says where each round goes: StableHLO's scatter, which leaves out what goes nowhere.

use super::element::Scope;
use super::program::{Program, Value};
use crate::Unsupported;
use crate::array::scatter::{Scatter, all};
use tensorize_ir::element::ElemRef;
use tensorize_ir::index::Idx;

impl Program<'_> {
    /// The tensor of this shape, if its elements are such results.
    pub(super) fn scatter(
        &mut self,
        e: &ElemRef,
        shape: &[Idx],
    ) -> Result<Option<Value>, Unsupported> {
        let Some(s) = Scatter::of(e, shape.len()) else {
            return Ok(None);
        };
        let Some(op) = s.op else {
            let why = "of several that go to one place, StableHLO says not which one stays";
            return Err(Unsupported::new(why));
        };
        let elem = e.ty();
        self.host.float_step(elem)?;
        let (places, rest) = shape.split_at(s.told.len());
        let flat = |n: Idx| [&[n], rest].concat();
        let x = self.element(&s.x, &Scope::over(s.axes(rest)))?;
        let x = self.reshape(&x, &flat(s.count()))?;
        let at = self.element(&s.place(places).0, &Scope::over(s.rounds.clone()))?;
        let at = self.reshape(&at, &[s.count()])?;
        let start = self.element(s.start, &Scope::of(shape))?;
        let start = self.reshape(&start, &flat(all(places)))?;
        let [result, a, b] = ["scattered", "a", "b"].map(|stem| Value {
            name: self.fresh(stem),
            shape: vec![],
            elem,
        });
        let window: Vec<usize> = (1..=rest.len()).collect();
        self.line(&format!(
            "%{} = \"stablehlo.scatter\"(%{}, %{}, %{}) <{{scatter_dimension_numbers = #stablehlo.scatter<\
             update_window_dims = {window:?}, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], \
             index_vector_dim = 1>}}> ({{",
            result.name, start.name, at.name, x.name
        ));
        let ty = self.ty(&a)?;
        self.line(&format!("^bb0(%{}: {ty}, %{}: {ty}):", a.name, b.name));
        self.block(|p| {
            let next = p.binary(op, &a, &b, None)?;
            p.line(&format!("stablehlo.return %{} : {ty}", next.name));
            Ok(())
        })?;
        let (from, to) = (self.types(&[start.clone(), at, x])?, self.ty(&start)?);
        self.line(&format!("}}) : ({from}) -> {to}"));
        let result = Value {
            shape: start.shape,
            ..result
        };
        self.reshape(&result, shape).map(Some)
    }
}
