//! Runs an exported model over samples, first from Rust and then from C, and prints the class and the bits of every float.
#![no_std]
#![no_main]

mod case;
mod model;
mod start;

use core::fmt::Write;
use core::hint::black_box;

use case::{FLOATS, ROWS};
use start::Output;

unsafe extern "C" {
    fn from_c(row: *const f32, floats: *mut f32) -> i32;
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let output = &mut Output::new();
    for row in &ROWS {
        let (class, floats) = case::from_rust(black_box(row));
        show(output, class as i32, floats);
    }
    for row in &ROWS {
        let mut floats = [0.0; FLOATS];
        // SAFETY: the function reads a row and writes this many floats.
        let class = unsafe { from_c(row.as_ptr(), floats.as_mut_ptr()) };
        show(output, class, floats);
    }
    start::leave()
}

fn show(output: &mut Output, class: i32, floats: [f32; FLOATS]) {
    let _ = write!(output, "{class}");
    for float in floats {
        let _ = write!(output, " {:08x}", float.to_bits());
    }
    let _ = writeln!(output);
}
