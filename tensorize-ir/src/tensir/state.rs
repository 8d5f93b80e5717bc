//! What rounds leave to the next ones besides the caller's arrays.

use super::Function;
use crate::index::{Idx, Sym};
use crate::loopir::Param;
use crate::scalar::ScalarType;

/// An array of the function's own that lasts over all rounds. It holds nothing that could be relied on before a round has
/// stored it. A number that goes from round to round is one of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its name, which no parameter and no counter has.
    pub name: Sym,
    /// Element type.
    pub elem: ScalarType,
    /// How many elements, over the kernel's integer parameters; nothing until a proof has said how far it is touched.
    pub len: Option<Idx>,
    /// Whether its first element, as the last round has left it, is what the kernel returns.
    pub returned: bool,
}

impl State {
    /// One number.
    pub fn number(name: Sym, elem: ScalarType) -> State {
        State {
            name,
            elem,
            len: Some(Idx::constant(1)),
            returned: false,
        }
    }

    /// Whether it is one number.
    pub fn is_number(&self) -> bool {
        self.len.as_ref().and_then(Idx::as_constant) == Some(1)
    }

    /// The same as a parameter: nothing else overlaps with it.
    pub fn param(&self) -> Param {
        Param::Array {
            name: self.name.clone(),
            elem: self.elem,
            is_const: false,
            restrict: true,
        }
    }
}

impl Function {
    /// The function that has its state as parameters after its own, and returns nothing.
    pub fn exposed(&self) -> Function {
        let mut function = self.clone();
        let state = std::mem::take(&mut function.state);
        function.params.extend(state.iter().map(State::param));
        function
    }

    /// The function of which the last parameters are this state.
    pub fn with_state(mut self, state: &[State]) -> Function {
        let own = self.params.len().saturating_sub(state.len());
        self.params.truncate(own);
        self.state = state.to_vec();
        self
    }
}
