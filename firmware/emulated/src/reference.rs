//! Measures the same steps in plain C: see `reference/` beside `src/`.
//!
//! Steps in C must end where those of the node end, up to rounding, so C cannot do less work. What is counted leaves out what a
//! plain program has no need of: drawing batches, and checks that values are finite.

use core::array;
use core::hint::black_box;
use core::ptr::null;

use lopa_core::draw::Purpose;
use lopa_core::problem::Problem;
use lopa_core::problems::{Logistic, SharedLayer};
use lopa_core::samples::Arithmetic;
use lopa_tests::benchmark::{self, HEAD, LAYER, PIXEL_COUNT, STEPS, Settings, WEIGHT};
use semihosting::println;

use crate::counter::Counter;

/// The largest difference from the node's variables, relative to the largest element of each.
const TOLERANCE: f32 = 1.0e-4;

/// The samples of a batch.
const BATCH: usize = 8;

/// The purposes of batches, as `struct job` orders them.
const PURPOSES: [Purpose; 5] = [
    Purpose::INNER_GRADIENT,
    Purpose::HESSIAN_VECTOR,
    Purpose::CROSS_VECTOR,
    Purpose::OUTER_GRADIENT_INNER,
    Purpose::OUTER_GRADIENT_OUTER,
];

/// The samples of a problem, as C reads them.
struct Data {
    features: &'static [u8],
    labels: &'static [u8],
    scaling: (f32, f32),
    mu: f32,
}

/// `struct job` of `reference/common.h`.
#[repr(C)]
struct Job {
    /// x, y, z, θ, v, δ, the direction, and the strengths.
    vectors: [*mut f32; 8],
    /// n, and the width, the hidden units and the classes of a shared layer.
    sizes: [usize; 4],
    features: *const u8,
    labels: *const u8,
    scale: f32,
    offset: f32,
    mu: f32,
    batch: usize,
    indices: [*const u32; 5],
    /// α, β, λ, γ, τ.
    steps: [f32; 5],
    weight: f32,
    neighbour: [*const f32; 2],
}

/// Half a step in C.
type Half = unsafe extern "C" fn(&Job);

unsafe extern "C" {
    fn logistic_compute(job: &Job);
    fn logistic_mix(job: &Job);
    fn logistic_compute_fused(job: &Job);
    fn logistic_mix_fused(job: &Job);
    fn logistic_compute_known(job: &Job);
    fn logistic_mix_known(job: &Job);
    fn shared_layer_compute(job: &Job);
    fn shared_layer_mix(job: &Job);
    fn shared_layer_compute_fused(job: &Job);
    fn shared_layer_mix_fused(job: &Job);
    fn shared_layer_compute_known(job: &Job);
    fn shared_layer_mix_known(job: &Job);
}

/// Both halves as the node computes; with fused operations, which the node has not; and with sizes that the compiler knows.
type Variants = [(&'static str, Half, Half); 3];

/// Logistic regression with 784 features.
pub fn logistic() {
    let variants: Variants = [
        ("", logistic_compute, logistic_mix),
        ("-fused", logistic_compute_fused, logistic_mix_fused),
        ("-known", logistic_compute_known, logistic_mix_known),
    ];
    let data = Data {
        features: &benchmark::IMAGES,
        labels: &benchmark::IMAGE_LABELS,
        scaling: benchmark::PIXELS,
        mu: 0.0,
    };
    const WORKSPACE: usize = Logistic::workspace(PIXEL_COUNT);
    let (problem, settings) = (benchmark::image_problem(), benchmark::IMAGE_SETTINGS);
    measure::<_, PIXEL_COUNT, PIXEL_COUNT, WORKSPACE>(&problem, settings, &data, variants);
}

/// The shared layer.
pub fn shared_layer() {
    let variants: Variants = [
        ("", shared_layer_compute, shared_layer_mix),
        ("-fused", shared_layer_compute_fused, shared_layer_mix_fused),
        ("-known", shared_layer_compute_known, shared_layer_mix_known),
    ];
    let data = Data {
        features: &benchmark::PATCHES,
        labels: &benchmark::PATCH_LABELS,
        scaling: benchmark::PATCH_SCALING,
        mu: benchmark::MU,
    };
    const WORKSPACE: usize = SharedLayer::workspace(benchmark::HIDDEN, benchmark::CLASSES);
    let (problem, settings) =
        (benchmark::layer_problem(Arithmetic::Float), benchmark::LAYER_SETTINGS);
    measure::<_, LAYER, HEAD, WORKSPACE>(&problem, settings, &data, variants);
}

/// Lets the node learn, then C, compares them, and prints the instructions of each half of a step in C.
fn measure<P: Problem, const N: usize, const M: usize, const W: usize>(
    problem: &P,
    settings: Settings,
    data: &Data,
    variants: Variants,
) {
    let mut counter = Counter::new();
    let all = &mut |step: &mut dyn FnMut()| (0..STEPS).for_each(|_| step());
    benchmark::learn::<P, _, N, M, W>(problem, settings, all, |node, _| {
        for (suffix, compute, mix) in variants {
            let found = learn::<N, M>(&mut counter, settings, data, (compute, mix));
            println!("instructions{suffix} {}", found.compute / u64::from(STEPS));
            println!("mixing{suffix} {}", found.mix / u64::from(STEPS));
            let state = node.state();
            compare("x", &found.outer[0], state.x);
            compare("y", &found.outer[1], state.y);
            compare("z", &found.outer[2], state.z);
            compare("theta", &found.inner[0], state.theta);
            compare("v", &found.inner[1], state.v);
        }
    });
}

/// Fails if a variable in C is not that of the node.
fn compare(name: &str, found: &[f32], expected: &[f32]) {
    let largest = expected.iter().fold(0.0_f32, |largest, a| largest.max(a.abs()));
    let apart = |(a, b): (&f32, &f32)| (a - b).abs();
    let error = found.iter().zip(expected).map(apart).fold(0.0_f32, f32::max);
    let near = largest > 0.0 && error <= TOLERANCE * largest;
    assert!(near, "{name} in C is {error:e} away from the node's, which is up to {largest:e}");
}

/// What C learned, and the instructions of all its steps.
struct Learned<const N: usize, const M: usize> {
    /// x, y, z, δ.
    outer: [[f32; N]; 4],
    /// θ, v, the direction, the strengths.
    inner: [[f32; M]; 4],
    compute: u64,
    mix: u64,
}

fn learn<const N: usize, const M: usize>(
    counter: &mut Counter,
    settings: Settings,
    data: &Data,
    (compute, mix): (Half, Half),
) -> Learned<N, M> {
    let mut outer = [[0.0; N]; 4];
    outer[0] = [settings.start; N];
    let mut inner = [[0.0; M]; 4];
    let [x, y, z, delta] = outer.each_mut().map(|vector| vector.as_mut_ptr());
    let [theta, v, direction, strengths] = inner.each_mut().map(|vector| vector.as_mut_ptr());
    let (their_x, their_y) = ([settings.start; N], [0.0; N]);
    let steps = settings.steps();
    let mut job = Job {
        vectors: [x, y, z, theta, v, delta, direction, strengths],
        sizes: [N, benchmark::PATCH, benchmark::HIDDEN, benchmark::CLASSES],
        features: data.features.as_ptr(),
        labels: data.labels.as_ptr(),
        scale: data.scaling.0,
        offset: data.scaling.1,
        mu: data.mu,
        batch: BATCH,
        indices: [null(); 5],
        steps: [steps.alpha(), steps.beta(), steps.lambda(), steps.gamma(), steps.tau()],
        weight: WEIGHT,
        neighbour: [their_x.as_ptr(), their_y.as_ptr()],
    };
    let mut sums = [0; 2];
    for round in 0..STEPS {
        let indices = PURPOSES.map(|purpose| {
            let batch = settings.sampler().batch(round.into(), purpose, data.labels.len());
            assert!(batch.len() == BATCH, "the batch has another size");
            let mut indices = batch.indices();
            array::from_fn::<u32, BATCH, _>(|_| indices.next().unwrap_or(0) as u32)
        });
        job.indices = indices.each_ref().map(|indices| indices.as_ptr());
        for (sum, half) in sums.iter_mut().zip([compute, mix]) {
            // SAFETY: every pointer is to a live vector of the length that C expects, all of them apart, and indices are
            // below the number of rows.
            *sum += counter.count(|| unsafe { half(black_box(&job)) });
        }
    }
    let [compute, mix] = sums;
    Learned { outer: black_box(outer), inner: black_box(inner), compute, mix }
}
