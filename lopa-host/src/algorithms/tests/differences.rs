//! Differences of gradients in place of products: D-SOBA-FO.

use lopa_core::batch::{Batch, Sampler};
use lopa_core::oracles::{Evaluations, Oracles};
use lopa_core::problem::{Dimensions, Point, Population, Problem};
use lopa_core::problems::Quadratic;

use super::invariants::{drawn, meta, shards, thirty_rounds};
use super::{Setting, apart, table};
use crate::algorithms::loopless::products_by_differences;
use crate::algorithms::{AlgorithmName, build};

#[test]
fn differences_of_gradients_draw_the_batches_of_products() {
    let shards = shards();
    let run = |name: AlgorithmName, seed: u64| {
        let network = thirty_rounds(shards.iter().map(meta), &drawn(name), seed);
        network.nodes().iter().flat_map(|node| node.x.to_vec()).collect::<Vec<_>>()
    };
    let products = run(AlgorithmName::DSobaSo, 7);
    let off = apart(&run(AlgorithmName::DSobaFo, 7), &products);
    let other = apart(&run(AlgorithmName::DSobaSo, 8), &products);
    assert!(off < 0.01 * other, "{off:e} apart with the same draws, {other:e} with others");
}

#[test]
fn products_by_differences_have_four_digits_whatever_the_size_of_v() {
    let shards = shards();
    let problem = shards[0].logistic().unwrap();
    let (x, theta) = ([-1.0, 0.5, -2.0, 0.0, -0.5], [0.4, -0.7, 0.2, 1.5, -0.9]);
    let at = Point { x: &x, theta: &theta };
    let (mut count, mut workspace) = (Evaluations::default(), [0.0; 5]);
    let differences =
        |oracles: &mut Oracles<'_, _>, at: Point<'_>, v: &[f32], out: [&mut [f32]; 2]| {
            let mut room = [[f32::NAN; 5]; 3];
            let [moved, low, low_cross] = room.each_mut().map(|room| &mut room[..]);
            products_by_differences(oracles, at, v, [moved, low], low_cross, out);
        };
    for size in [1.0e-20, 1.0e-3, 1.0, 1.0e3, 1.0e20] {
        let v = [0.3, -1.1, 0.8, 0.1, -0.6].map(|v: f32| v * size);
        let mut oracles =
            Oracles::new(&problem, Sampler::full(0), 0, &x, &mut count, &mut workspace);
        let [mut hessian, mut cross, mut wanted, mut by_products] = [[0.0; 5]; 4];
        differences(&mut oracles, at, &v, [&mut hessian, &mut cross]);
        oracles.hessian_vector(at, &v, &mut wanted);
        // f does not depend on x: the hypergradient is -J v.
        oracles.hypergradient(at, &v, &mut by_products);
        let cross = cross.map(|cross| -cross);
        for (found, wanted) in [(hessian, wanted), (cross, by_products)] {
            let off = apart(&found, &wanted) / f64::from(size);
            assert!(off < 1.0e-4, "{found:?}, not {wanted:?}, for v of size {size:e}");
            assert!(apart(&wanted, &[0.0_f32; 5]) / f64::from(size) > 0.1);
        }
    }
    let mut oracles = Oracles::new(&problem, Sampler::full(0), 0, &x, &mut count, &mut workspace);
    let [mut hessian, mut cross] = [[1.0; 5]; 2];
    differences(&mut oracles, at, &[0.0; 5], [&mut hessian, &mut cross]);
    assert_eq!((hessian, cross), ([0.0; 5], [0.0; 5]));
}

#[test]
fn a_problem_without_a_gradient_in_x_is_refused_by_name() {
    let setting = Setting::new(1.0);
    let problems = setting.problems().into_iter().map(NoGradientInX);
    let edges = setting.edges.clone();
    let start = |outer: usize| vec![0.2; outer];
    let error = build(&table(AlgorithmName::DSobaFo), problems, edges, start, Sampler::full);
    let said = error.unwrap_err().to_string();
    assert!(said.contains("node 0 must implement inner_gradient_outer"), "{said}");
}

/// A quadratic that offers no more than LoPA needs.
#[derive(Debug)]
struct NoGradientInX<'a>(Quadratic<'a>);

#[rustfmt::skip]
impl Problem for NoGradientInX<'_> {
    fn dimensions(&self) -> Dimensions {
        self.0.dimensions()
    }
    fn population(&self) -> Population {
        self.0.population()
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        self.0.inner_gradient(at, batch, scale, out, workspace);
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        self.0.hessian_vector(at, v, batch, scale, out, workspace);
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        self.0.cross_vector(at, v, batch, scale, out, workspace);
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        self.0.outer_gradient_inner(at, batch, scale, out, workspace);
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        self.0.outer_gradient_outer(at, batch, scale, out, workspace);
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        self.0.inner_loss(at, batch, workspace)
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        self.0.outer_loss(at, batch, workspace)
    }
}
