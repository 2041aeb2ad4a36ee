//! What limits the reference job: measures what this machine could do at most, and how long the job takes in the same run.
//!
//! See roofline.md in this folder, which has the numbers of one machine.
#![allow(unsafe_code, reason = "code for instructions that the processor is known to have")]

use std::hint::black_box;
use std::time::Instant;

use crate::bare;
use crate::job::{self, JOBS, Outcome};

/// The job: batches of 40 rows for three oracles, each multiplied by one or two vectors and added to one.
const ROWS: f64 = 120.0;
const WIDTH: f64 = 784.0;
/// Multiply-adds per node and iteration.
const PRODUCTS: f64 = 7.0 * 40.0 * WIDTH;
/// Of each vector that is read from the first cache while rows are multiplied and added, and written once per block of 8 rows.
const VECTOR_BYTES: f64 = 4.0 * WIDTH * ROWS / 8.0;
/// The share of zeros in chunks of 16 pixels of MNIST's zeros and ones.
const ZERO_CHUNKS: f64 = 0.43;

/// Prints the peaks, the time of the job, and what limits it.
pub fn report() -> Outcome<()> {
    let data = tempfile::tempdir()?;
    let mnist = job::mnist(data.path())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    // Peaks before and after the job: the best of both counts, because other programs only make them smaller.
    let before = peaks();
    let job = pool.install(|| bare::run(&JOBS[0], &mnist).map_err(|error| error.to_string()))?;
    let after = peaks();
    let peaks: Vec<Peak> = before
        .into_iter()
        .zip(after)
        .map(|(a, b)| if a.per_nanosecond > b.per_nanosecond { a } else { b })
        .collect();
    println!(
        "| peak | per nanosecond | needed per node and iteration | microseconds at the peak |"
    );
    println!("|---|---:|---:|---:|");
    for Peak { name, per_nanosecond, needed, unit } in &peaks {
        if *needed > 0.0 {
            let time = needed / per_nanosecond / 1e3;
            println!("| {name} | {per_nanosecond:.1} {unit} | {needed:.0} {unit} | {time:.2} |");
        } else {
            println!("| {name} | {per_nanosecond:.1} {unit} | - | - |");
        }
    }
    println!("\nThe reference job: {:.2} µs per node and iteration in a bare loop.", job.time);
    let [products, conversions, .., scattered] = &peaks[..] else { return Ok(()) };
    let time = |peak: &Peak| peak.needed / peak.per_nanosecond / 1e3;
    let sum = time(products) + time(conversions);
    println!(
        "Arithmetic and conversion share the vector units: {sum:.2} µs together, {:.2} without chunks of zeros; \
         fetching the rows takes {:.2} µs if nothing else runs meanwhile.",
        sum * (1.0 - ZERO_CHUNKS),
        time(scattered)
    );
    let bound = sum.max(time(scattered));
    let which = if sum > time(scattered) { "arithmetic" } else { "fetching rows" };
    println!("The limit is {which}: the job reaches {:.0} % of it.", 100.0 * bound / job.time);
    Ok(())
}

/// What the machine can do, and how much of it the job needs.
struct Peak {
    name: &'static str,
    per_nanosecond: f64,
    needed: f64,
    unit: &'static str,
}

fn peaks() -> Vec<Peak> {
    let first: Vec<f32> = vec![1.0; 4_096];
    let second: Vec<f32> = vec![1.0; 256 * 1_024];
    let bytes: Vec<u8> = (0..2_048_u32).map(|i| i as u8).collect();
    let mut floats = vec![0.0; 2_048];
    // Ten nodes' training and validation samples.
    let rows: Vec<u8> = (0..12_000 * 784_u32).map(|i| (i % 251) as u8).collect();
    let order: Vec<usize> = (0..12_000).map(|i| (i * 7_919 + 13) % 12_000).collect();
    let mut part = 0;
    let bytes_of = |floats: &[f32]| size_of_val(floats) as f64;
    vec![
        Peak {
            name: "multiply, then add",
            per_nanosecond: rate(|| run(MultiplyAdd(1_000)) * 1_000.0),
            needed: PRODUCTS,
            unit: "products",
        },
        Peak {
            name: "u8 to f32",
            per_nanosecond: rate(|| run(Convert(&bytes, &mut floats))),
            needed: ROWS * WIDTH,
            unit: "numbers",
        },
        Peak {
            name: "read from the first cache",
            per_nanosecond: rate(|| {
                run(Read(&first));
                bytes_of(&first)
            }),
            needed: 7.0 * VECTOR_BYTES,
            unit: "bytes",
        },
        Peak {
            name: "read from the second cache",
            per_nanosecond: rate(|| {
                run(Read(&second));
                bytes_of(&second)
            }),
            needed: 0.0,
            unit: "bytes",
        },
        Peak {
            name: "read scattered rows of 784 bytes, out of 9 MB",
            per_nanosecond: rate(|| {
                // Other rows each time, as in other iterations.
                part = (part + 1) % 100;
                run(Scattered(&rows, &order[120 * part..120 * (part + 1)]))
            }),
            needed: ROWS * WIDTH,
            unit: "bytes",
        },
    ]
}

/// The best rate of many tries, because other programs only make it smaller: units per nanosecond.
fn rate(mut work: impl FnMut() -> f64) -> f64 {
    let (start, mut best) = (Instant::now(), 0.0_f64);
    while start.elapsed().as_millis() < 500 {
        let began = Instant::now();
        let mut units = 0.0;
        for _ in 0..10 {
            units += work();
        }
        best = best.max(units / (1e9 * began.elapsed().as_secs_f64()));
    }
    best
}

/// Something to measure, compiled for the widest vectors of the processor.
trait Kernel {
    fn run(self) -> f64;
}

#[cfg(target_arch = "x86_64")]
fn run<K: Kernel>(kernel: K) -> f64 {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    fn widest<K: Kernel>(kernel: K) -> f64 {
        kernel.run()
    }
    #[target_feature(enable = "avx2")]
    fn wide<K: Kernel>(kernel: K) -> f64 {
        kernel.run()
    }
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
    {
        // SAFETY: the processor has these instructions.
        unsafe { widest(kernel) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions.
        unsafe { wide(kernel) }
    } else {
        kernel.run()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn run<K: Kernel>(kernel: K) -> f64 {
    kernel.run()
}

const LANES: usize = 16;

/// All lanes of `a`, times those of `b`. A function of values, so that it becomes one instruction.
#[inline(always)]
fn multiply(mut a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    for i in 0..LANES {
        a[i] *= b[i];
    }
    a
}

/// The same with sums.
#[inline(always)]
fn add(mut a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    for i in 0..LANES {
        a[i] += b[i];
    }
    a
}

/// Products and sums in registers, this many times; the result is the number of products per turn.
struct MultiplyAdd(u32);

impl Kernel for MultiplyAdd {
    #[inline(always)]
    fn run(self) -> f64 {
        // Four chains of products, each added to a chain of sums: enough that no unit waits for a result.
        let factor = black_box([0.999_f32; LANES]);
        let [mut p, mut q, mut r, mut s] = [[1.0_f32; LANES]; 4];
        let [mut a, mut b, mut c, mut d] = [[0.0_f32; LANES]; 4];
        for _ in 0..self.0 {
            (p, q) = (multiply(p, factor), multiply(q, factor));
            (r, s) = (multiply(r, factor), multiply(s, factor));
            (a, b) = (add(a, p), add(b, q));
            (c, d) = (add(c, r), add(d, s));
        }
        black_box([a, b, c, d, p, q, r, s]);
        (4 * LANES) as f64
    }
}

/// Bytes into floats, both in the first cache.
struct Convert<'a>(&'a [u8], &'a mut [f32]);

impl Kernel for Convert<'_> {
    #[inline(always)]
    fn run(self) -> f64 {
        for (float, &byte) in self.1.iter_mut().zip(self.0) {
            *float = f32::from(byte);
        }
        black_box(self.1);
        self.0.len() as f64
    }
}

/// Floats, added up.
struct Read<'a>(&'a [f32]);

impl Kernel for Read<'_> {
    #[inline(always)]
    fn run(self) -> f64 {
        let [mut a, mut b, mut c, mut d] = [[0.0_f32; LANES]; 4];
        let (chunks, _) = self.0.as_chunks::<LANES>();
        let (groups, _) = chunks.as_chunks::<4>();
        for [p, q, r, s] in groups {
            (a, b, c, d) = (add(a, *p), add(b, *q), add(c, *r), add(d, *s));
        }
        black_box([a, b, c, d]);
        0.0
    }
}

/// Rows at random places: every byte is looked at.
struct Scattered<'a>(&'a [u8], &'a [usize]);

impl Kernel for Scattered<'_> {
    #[inline(always)]
    fn run(self) -> f64 {
        let mut seen = [0_u8; 64];
        for &row in self.1 {
            let (chunks, _) = self.0[784 * row..784 * (row + 1)].as_chunks::<64>();
            for chunk in chunks {
                for i in 0..64 {
                    seen[i] |= chunk[i];
                }
            }
        }
        black_box(seen);
        (784 * self.1.len()) as f64
    }
}
