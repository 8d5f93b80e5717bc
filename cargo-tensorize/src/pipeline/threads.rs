//! Work on several threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;

/// Deep expressions mean deep recursion. Only what is touched is taken from memory.
const STACK: usize = 256 << 20;
/// Maps the items on several threads, each with a state of its own, and keeps their order. Returns what
/// the states leave behind, too.
pub(super) fn in_parallel<T: Send, S: Leaves, R: Send>(
    items: Vec<T>,
    threads: NonZeroUsize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> (Vec<R>, Vec<S::Left>) {
    let threads = threads.get().min(items.len());
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || lock(&queue).next();
    let one_thread = || {
        let mut state = state();
        let mut done = Vec::new();
        while let Some((i, item)) = next() {
            done.push((i, work(&mut state, item)));
        }
        (done, state.leave())
    };
    let (mut results, mut left) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let spawn = |_| {
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, one_thread)
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        let mut take = |(done, l): (Vec<(usize, R)>, S::Left)| {
            results.extend(done);
            left.push(l);
        };
        for handle in handles {
            match handle.map(|h| h.join()) {
                Ok(Ok(all)) => take(all),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // No more threads to be had: this one does what is left.
                Err(_) => take(one_thread()),
            }
        }
    });
    results.sort_by_key(|(i, _)| *i);
    (results.into_iter().map(|(_, r)| r).collect(), left)
}

/// What a thread that panicked has left is still good: it took an item, or didn't.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A thread's state, and what remains of it.
pub(super) trait Leaves {
    type Left: Send;
    fn leave(self) -> Self::Left;
}

impl Leaves for () {
    type Left = ();
    fn leave(self) {}
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        let threads = NonZeroUsize::new(4).unwrap();
        let (squares, _) = in_parallel((0..100).collect(), threads, || (), |(), x: u32| x * x);
        assert_eq!(squares, (0..100).map(|x| x * x).collect::<Vec<_>>());
    }
}
