//! Measures a benchmark on this chip and prints the results for the test that reads them.

use lopa_tests::benchmark::{Measure, Report, STEPS};
use semihosting::println;

use crate::counter::Counter;
use crate::stack;

/// Steps that are counted at once: all of them would overflow the timer of a slow chip.
const PART: u32 = 10;
const PARTS: u32 = (STEPS - 1) / PART;
const _: () = assert!(PARTS * PART == STEPS - 1, "every step but the first is counted");

/// Measures a benchmark: the stack of its first step, and the instructions of the others.
pub fn measure(benchmark: fn(Measure<'_>) -> Report) {
    let mut counter = Counter::new();
    let (mut depth, mut instructions) = (0, 0);
    let report = benchmark(&mut |step| {
        depth = stack::depth(step);
        for _ in 0..PARTS {
            instructions += counter.count(|| (0..PART).for_each(|_| step()));
        }
    });
    println!("instructions {}", instructions / u64::from(PARTS * PART));
    println!("stack {depth}");
    println!("ram {}", report.ram);
    println!("predicted {}", report.predicted);
    println!("data {}", report.data);
    println!("hash {:016x}", report.hash);
}
