//! Limits of memory that hold on any machine: how often a round allocates, and how many bytes a node needs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU32;

use lopa_core::batch::Sampler;
use lopa_core::codec::Codec;
use lopa_core::footprint::Footprint;
use lopa_core::node::{Config, Scheme};
use lopa_core::problems::Logistic;
use lopa_core::steps::StepSizes;
use lopa_host::data::{Shard, synthetic::Recipe};
use lopa_host::network::{CodedSimulation, Simulation};
use lopa_host::topology::{Topology, Weights};

const RECIPE: Recipe = Recipe { features: 8, relevant: 2, samples: 20, alike: false, seed: 1 };
const NODES: u32 = 500;

/// What the current thread has allocated.
#[derive(Clone, Copy, Default)]
struct Allocated {
    calls: u64,
    /// Bytes that were not freed.
    bytes: i64,
}

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { calls: 0, bytes: 0 }) };
}

/// The allocator of the system, with a count for each thread.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(calls: u64, bytes: i64) {
    let Allocated { calls: before, bytes: held } = ALLOCATED.get();
    ALLOCATED.set(Allocated { calls: before + calls, bytes: held + bytes });
}

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; it passes every call on as it is"
)]
// SAFETY: as the allocator of the system, whose contract callers keep. Counting touches no heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What `work` returns, and what it allocated.
fn counted<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    let before = ALLOCATED.get();
    let result = work();
    let after = ALLOCATED.get();
    (result, Allocated { calls: after.calls - before.calls, bytes: after.bytes - before.bytes })
}

/// On the only thread of a pool, so that the count sees everything.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

fn ring(shards: &[Shard], scheme: Scheme) -> Simulation<Logistic<'_>> {
    let problems: Vec<_> = shards.iter().map(|shard| shard.logistic().unwrap()).collect();
    let steps = StepSizes::new(0.1, 0.1, 0.1, 0.4, 0.4).unwrap();
    let size = NonZeroU32::new(10).unwrap();
    let config = |node| Config { steps, sampler: Sampler::drawn(1, node, size) };
    let edges = Topology::ring(shards.len() as u32).metropolis();
    Simulation::new(problems, scheme, edges, |outer| vec![-4.0; outer], config).unwrap()
}

#[test]
fn a_round_allocates_nothing() {
    alone(|| {
        let shards = RECIPE.shards(50);
        for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
            let mut network = ring(&shards, scheme);
            // The first round gives every thread its scratch memory.
            let (_, first) = counted(|| network.round().unwrap());
            assert!(first.calls > 0, "the count sees what a round allocates");
            let (_, rest) = counted(|| (0..20).for_each(|_| network.round().unwrap()));
            assert_eq!(rest.calls, 0, "{scheme:?}");
            let weights = Weights::metropolis(&Topology::ring(50)).in_256ths().unwrap();
            let codec = Codec::new(4, Codec::USUAL_UNIT).unwrap();
            let nodes = ring(&shards, scheme).into_nodes();
            let mut coded = CodedSimulation::coded(nodes, weights.edges().to_vec(), codec).unwrap();
            coded.round().unwrap();
            let (_, rest) = counted(|| (0..20).for_each(|_| coded.round().unwrap()));
            assert_eq!(rest.calls, 0, "{scheme:?}, few bits");
        }
    });
}

#[test]
fn a_node_needs_little_more_than_its_variables() {
    alone(|| {
        let shards = RECIPE.shards(NODES);
        let (network, all) = counted(|| ring(&shards, Scheme::GradientTracking));
        let width = RECIPE.features;
        let own = Footprint::new(Scheme::GradientTracking, width, width, 0).state as i64;
        // The pulls on x and y, and the node itself: its samples, its settings and where its vectors are.
        let promised = own + 8 * width as i64 + 600;
        let found = all.bytes / network.nodes().len() as i64;
        assert!(found <= promised, "{found} bytes, {promised} promised");
    });
}

#[test]
fn synthetic_samples_need_little_more_than_their_numbers() {
    alone(|| {
        let (shards, all) = counted(|| RECIPE.shards(NODES));
        // For training, as many for validation, and ten times as many for the test.
        let numbers = 12 * RECIPE.samples * (RECIPE.features * size_of::<f32>() + 1);
        let promised = numbers as i64 + 700;
        let found = all.bytes / shards.len() as i64;
        assert!(found <= promised, "{found} bytes, {promised} promised");
    });
}
