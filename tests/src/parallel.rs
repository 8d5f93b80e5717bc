//! Work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Deep expressions mean deep recursion. Only what is touched is taken from memory.
const STACK: usize = 256 << 20;

/// Maps the numbers below `count`, in order, each thread with a state of its own.
pub fn on_all_cores<S, R: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one_thread = || {
        let mut state = state();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let result = work(&mut state, at);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, result));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, one_thread).expect("a thread");
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::on_all_cores;

    #[test]
    fn order_is_kept_and_nothing_is_left_out() {
        let squares = on_all_cores(100, || (), |(), at| at * at);
        assert_eq!(squares, (0..100).map(|at| at * at).collect::<Vec<_>>());
    }
}
