//! Learning from the last readings of a sensor: a problem whose training samples are a ring buffer.

use lopa_core::batch::Batch;
use lopa_core::problem::{Dimensions, Point, Population, Problem};
use lopa_core::problems::Logistic;
use lopa_core::samples::{Features, Labels, Samples};

/// A labelled reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading<const WIDTH: usize> {
    /// What the sensor measured.
    pub values: [f32; WIDTH],
    /// What it turned out to mean.
    pub positive: bool,
}

/// [`Logistic`] regression over the last `ROWS` readings. The validation samples are fixed.
///
/// Change it between rounds, through [`Node::problem_mut`](lopa_core::node::Node::problem_mut).
#[derive(Debug, Clone)]
pub struct Recent<'a, const WIDTH: usize, const ROWS: usize> {
    values: [[f32; WIDTH]; ROWS],
    labels: [u8; ROWS],
    /// The row that is overwritten next.
    next: usize,
    /// Readings so far.
    count: usize,
    validation: Samples<'a>,
    base: f32,
}

impl<'a, const WIDTH: usize, const ROWS: usize> Recent<'a, WIDTH, ROWS> {
    /// No readings yet. `base` is that of [`Logistic::around`], the same on all nodes.
    #[must_use]
    pub const fn new(validation: Samples<'a>, base: f32) -> Self {
        let (values, labels) = ([[0.0; WIDTH]; ROWS], [0; ROWS]);
        Self { values, labels, next: 0, count: 0, validation, base }
    }

    /// Adds a reading; the oldest makes room for it. A reading that is not finite is left out.
    pub fn push(&mut self, reading: &Reading<WIDTH>) {
        let row = self.values.get_mut(self.next).zip(self.labels.get_mut(self.next));
        if let Some((values, label)) = row
            && reading.values.iter().all(|value| value.is_finite())
        {
            (*values, *label) = (reading.values, u8::from(reading.positive));
            self.next = (self.next + 1) % ROWS;
            self.count = self.count.saturating_add(1);
        }
    }

    /// Whether there is a reading in every row: before, a node must not compute.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.count >= ROWS
    }

    /// What the model makes of a reading.
    #[must_use]
    pub fn predict(&self, theta: &[f32], reading: &Reading<WIDTH>) -> bool {
        self.validation.reading(Features::F32(&reading.values)).dot(theta) > 0.0
    }

    /// The problem as it is now. It is never refused: there are rows, and all are finite.
    fn current(&self) -> Option<Logistic<'_>> {
        let (values, labels) = (Features::F32(self.values.as_flattened()), &self.labels);
        let readings = Samples::new(values, WIDTH, Labels::Binary(labels)).ok()?;
        Logistic::new(readings, self.validation).ok()?.around(self.base).ok()
    }
}

/// Passes everything on to [`Logistic`].
#[rustfmt::skip]
impl<const WIDTH: usize, const ROWS: usize> Problem for Recent<'_, WIDTH, ROWS> {
    fn dimensions(&self) -> Dimensions {
        Dimensions { outer: WIDTH, inner: WIDTH, workspace: Logistic::workspace(WIDTH) }
    }
    fn population(&self) -> Population {
        Population { inner: ROWS, outer: self.validation.len() }
    }
    fn prepare(&self, x: &[f32], workspace: &mut [f32]) {
        if let Some(now) = self.current() { now.prepare(x, workspace) }
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        if let Some(now) = self.current() { now.inner_gradient(at, batch, scale, out, workspace) }
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        if let Some(now) = self.current() { now.hessian_vector(at, v, batch, scale, out, workspace) }
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        if let Some(now) = self.current() { now.cross_vector(at, v, batch, scale, out, workspace) }
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        if let Some(now) = self.current() { now.outer_gradient_inner(at, batch, scale, out, workspace) }
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        if let Some(now) = self.current() { now.outer_gradient_outer(at, batch, scale, out, workspace) }
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        self.current().map_or(0.0, |now| now.inner_loss(at, batch, workspace))
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        self.current().map_or(0.0, |now| now.outer_loss(at, batch, workspace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_core::batch::Sampler;
    use lopa_core::node::{Config, GtNode, Neighbour, Scratch};
    use lopa_core::steps::StepSizes;

    const VALUES: [f32; 8] = [0.5, -1.0, 0.25, 2.0, -0.75, 0.0, 1.5, -0.125];
    const LABELS: [u8; 4] = [1, 0, 0, 1];

    fn reading(row: usize) -> Reading<2> {
        Reading { values: [VALUES[2 * row], VALUES[2 * row + 1]], positive: LABELS[row] == 1 }
    }

    fn after_rounds<P: Problem>(problem: P, between: impl Fn(&mut P, usize)) -> Vec<u32> {
        let steps = StepSizes::new(0.05, 0.2, 0.2, 0.4, 0.5).unwrap();
        let config = Config { steps, sampler: Sampler::full(0) };
        let mut node = GtNode::<_, 2, 2>::gradient_tracking(problem, config, [0.0; 2]).unwrap();
        let mut scratch = Scratch::<[f32; 2], [f32; 2]>::new();
        for round in 0..20 {
            between(node.problem_mut(), round);
            node.compute(&mut scratch).unwrap();
            let (x, y) = ([0.5, -0.5], [0.01, 0.02]);
            node.mix_with([Neighbour { weight: 0.5, x: &x, y: &y }]).unwrap();
        }
        let state = node.state();
        state.x.iter().chain(state.theta).map(|value| value.to_bits()).collect()
    }

    #[test]
    fn the_same_readings_over_and_over_have_the_bits_of_fixed_samples() {
        let samples = Samples::new(Features::F32(&VALUES), 2, Labels::Binary(&LABELS)).unwrap();
        let fixed = Logistic::new(samples, samples).unwrap().around(-4.0).unwrap();
        let mut recent = Recent::<2, 4>::new(samples, -4.0);
        (0..3).for_each(|row| recent.push(&reading(row)));
        assert!(!recent.is_full());
        recent.push(&reading(3));
        assert!(recent.is_full());
        let wanted = after_rounds(fixed, |_, _| ());
        assert_eq!(
            after_rounds(recent.clone(), |now, round| now.push(&reading(round % 4))),
            wanted
        );
        // Another reading makes another model.
        let other = after_rounds(recent, |now, _| now.push(&reading(0)));
        assert_ne!(other, wanted);
    }

    #[test]
    fn a_reading_that_is_not_finite_is_left_out() {
        let samples = Samples::new(Features::F32(&VALUES), 2, Labels::Binary(&LABELS)).unwrap();
        let mut recent = Recent::<2, 1>::new(samples, 0.0);
        recent.push(&Reading { values: [f32::NAN, 0.0], positive: true });
        assert!(!recent.is_full());
        recent.push(&reading(1));
        assert!(recent.is_full() && recent.predict(&[1.0, 1.0], &reading(1)));
        assert!(!recent.predict(&[-1.0, -1.0], &reading(1)));
    }
}
