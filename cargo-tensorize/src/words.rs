//! Words of messages.

/// `1 kernel`, `2 kernels`.
pub fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// `f, g`; of many, the first ones and how many more there are.
pub fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, listed};

    #[test]
    fn lists_end() {
        assert_eq!(listed(&["f", "g"]), "f, g");
        let many = listed(&["f"; 1000]);
        assert!(many.ends_with("f and 980 more"), "{many}");
    }

    #[test]
    fn one_is_no_plural() {
        let words = [0, 1, 2].map(|n| counted(n, "kernel"));
        assert_eq!(words, ["0 kernels", "1 kernel", "2 kernels"]);
    }
}
