//! Locks that outlive a thread that panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. What a thread that panicked held is still whole: what locks protect here is changed in single steps.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
