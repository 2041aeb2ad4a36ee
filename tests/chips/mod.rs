//! Programs for chips: their bits, their costs, their budgets, and that none can panic.

mod boards;
mod budgets;
mod ciphers;
mod cost;
mod emulator;
mod panic_free;
mod same_bits;
