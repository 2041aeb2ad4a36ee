//! What `nohup` asks for: a command goes on when its terminal is closed.
#![allow(unsafe_code, reason = "no library of safe functions asks how a signal is handled")]

/// Whether this process ignores that its terminal is closed, because whoever started it wanted so.
pub(super) fn is_ignored() -> bool {
    // SAFETY: without a new action, only the present one is written, for which zeroes are a valid value.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) == 0;
        known && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Ignores it, instead of a handler.
pub(super) fn ignore() {
    // SAFETY: no code runs when a signal is ignored.
    unsafe {
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
    }
}
