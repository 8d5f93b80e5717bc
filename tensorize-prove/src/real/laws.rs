//! The laws of sums and powers that [`super::equal`] uses besides those of a field.

/// A law, as a claim that can be tested by numbers and proven by induction.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// What it is called.
    pub name: &'static str,
    /// As people write it.
    pub text: &'static str,
    /// The claim about `n` steps, in SMT-LIB, where folds are functions of the number of steps that are defined by
    /// their two equations; empty if the law is no claim about steps.
    pub claim: &'static str,
}

macro_rules! laws {
    ($($(#[$meta:meta])* $name:ident = $text:literal, $claim:literal;)*) => {
        $($(#[$meta])* pub const $name: Law = Law { name: stringify!($name), text: $text, claim: $claim };)*
        /// All of them.
        pub const LAWS: &[Law] = &[$($name),*];
    };
}

laws! {
    /// A fold of one step more is one more step.
    SUM_ONE_MORE = "Σ_{j<n+1} f(j) = Σ_{j<n} f(j) + f(n)", "(= (sum_f (+ n 1)) (+ (sum_f n) (f n)))";
    /// Sums add up.
    SUM_OF_SUM = "Σ (f(j) + g(j)) = Σ f(j) + Σ g(j)", "(= (sum_f_plus_g n) (+ (sum_f n) (sum_g n)))";
    /// What does not depend on the variable is a factor of the sum.
    SUM_FACTOR = "Σ c·f(j) = c·Σ f(j)", "(= (sum_c_f n) (* c (sum_f n)))";
    /// Ones add up to how many there are.
    SUM_OF_ONES = "Σ_{j<n} 1 = n", "(= (sum_one n) (to_real n))";
    /// A sum may be taken from its other end: the claim, at `n = m`, is that. `down_f` takes `f(m - 1 - j)`.
    SUM_REVERSED = "Σ_{j<n} f(n-1-j) = Σ_{j<n} f(j)", "(= (+ (down_f n) (sum_f (- m n))) (sum_f m))";
    /// Multiplying by the same again and again is a power.
    PRODUCT_OF_SAME = "Π_{j<n} c, from i = i·c^n", "(= (product_c n) (* i (power_c n)))";
    /// A power of one more is one more factor; also the definition of a power.
    POWER_ONE_MORE = "c^(n+1) = c·c^n", "(= (power_c (+ n 1)) (* c (power_c n)))";
    /// Powers of e multiply by adding exponents.
    EXP_OF_SUM = "e^(a+b) = e^a·e^b", "";
    /// The power of nothing.
    EXP_OF_ZERO = "e^0 = 1", "";
    /// The larger of two.
    LARGER = "max(a, b) = a < b ? b : a", "";
    /// The smaller of two.
    SMALLER = "min(a, b) = a < b ? a : b", "";
}
