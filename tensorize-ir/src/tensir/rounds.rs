//! Kernels that do the same several times over, as loops over time do.

use super::{Function, Op, Output, State};
use crate::index::{Idx, Sym};
use crate::loopir::Param;
use crate::scalar::{Scalar, ScalarType};

/// How often a function's results are computed and stored, each time from what the arrays hold then: StableHLO's
/// `while` with a counter, the arrays being what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The number of the round, from 0; the function's nodes may speak of it as of a size of type
    /// [`Rounds::COUNTER`].
    pub counter: Sym,
    /// How many, over the kernel's integer parameters, and the counters of the rounds around these; none if it is
    /// negative.
    pub trip: Idx,
    /// What each of them consists of, if that is several rounds again.
    pub inner: Option<Box<Rounds>>,
}

impl Rounds {
    /// The counter's type.
    pub const COUNTER: ScalarType = ScalarType::I64;

    /// These, and those in them.
    pub fn all(&self) -> impl Iterator<Item = &Rounds> {
        std::iter::successors(Some(self), |r| r.inner.as_deref())
    }

    /// The counter as a parameter.
    pub fn param(&self) -> Param {
        Param::Scalar {
            name: self.counter.clone(),
            ty: Rounds::COUNTER,
        }
    }
}

impl Function {
    /// One round as a function of its own, which takes its state and then the number of the round after its other
    /// parameters, and may have rounds in turn; nothing if there is but one. It returns nothing: see [`Function::status`].
    pub fn round(&self) -> Option<Function> {
        let rounds = self.rounds.as_ref()?;
        let mut params = self.params.clone();
        params.extend(self.state.iter().map(State::param));
        params.push(rounds.param());
        Some(Function {
            name: self.name.clone(),
            params,
            nodes: self.nodes.clone(),
            outputs: self.stores().cloned().collect(),
            rounds: rounds.inner.as_deref().cloned(),
            state: vec![],
        })
    }

    /// The same, returning a number that does not depend on what it does, as many C functions return 0.
    #[must_use]
    pub fn with_status(mut self, status: Scalar) -> Function {
        let value = self.constant(status);
        self.outputs.push(Output::Return { value });
        self
    }

    /// What a function with rounds returns, if that is such a number: after all of them, and also where there is none.
    pub fn status(&self) -> Option<Scalar> {
        self.rounds.as_ref()?;
        let returned = self.outputs.iter().find_map(|o| match o {
            Output::Return { value } => Some(*value),
            Output::Store { .. } => None,
        });
        match self.nodes.get(returned?)?.op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The same function without what it returns.
    #[must_use]
    pub fn without_status(&self) -> Function {
        Function {
            outputs: self.stores().cloned().collect(),
            ..self.clone()
        }
    }

    fn stores(&self) -> impl Iterator<Item = &Output> {
        let stores = |o: &&Output| matches!(o, Output::Store { .. });
        self.outputs.iter().filter(stores)
    }

    /// The function that does `round`, as [`Function::round`] has it, so many times; nothing if that returns a value.
    pub fn of_rounds(mut round: Function, rounds: Rounds) -> Option<Function> {
        let returns = |o: &Output| matches!(o, Output::Return { .. });
        let last = round.params.pop()?;
        let fits = last == rounds.param() && rounds.inner.is_none();
        let inner = round.rounds.take().map(Box::new);
        (fits && !round.outputs.iter().any(returns)).then_some(Function {
            rounds: Some(Rounds { inner, ..rounds }),
            ..round
        })
    }

    /// What is done in the innermost rounds, which takes the numbers of all of them; the function itself if it is done once.
    pub fn innermost(&self) -> Function {
        let mut function = self.clone();
        while let Some(round) = function.round() {
            function = round;
        }
        function
    }

    /// An error if results are computed several times: for what speaks of one time only.
    pub fn is_done_once(&self) -> Result<(), String> {
        match &self.rounds {
            None => Ok(()),
            Some(rounds) => Err(format!(
                "it is done {} times, each time from what the one before has left",
                rounds.trip
            )),
        }
    }
}
