//! Programs for chips: their bits, their costs, their budgets, and the proof that they cannot panic.

mod boards;
pub mod budgets;
mod ciphers;
mod cost;
pub mod emulator;
mod exported;
mod panic_free;
mod same_bits;
