//! Measures a benchmark on this chip and prints the results for the test that reads them.

use lopa_tests::benchmark::{Measure, Report, STEPS};
use semihosting::println;

use crate::counter::Counter;
use crate::stack;

/// Measures a benchmark: the stack of its first step, and the instructions of the others.
pub fn measure(benchmark: fn(Measure<'_>) -> Report) {
    let mut counter = Counter::new();
    let (mut depth, mut instructions) = (0, 0);
    let report = benchmark(&mut |step| {
        depth = stack::depth(step);
        instructions = counter.count(|| {
            for _ in 1..STEPS {
                step();
            }
        });
    });
    println!("instructions {}", instructions / u64::from(STEPS - 1));
    println!("stack {depth}");
    println!("ram {}", report.ram);
    println!("predicted {}", report.predicted);
    println!("data {}", report.data);
    println!("hash {:016x}", report.hash);
}
