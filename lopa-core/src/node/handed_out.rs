//! A round on a host, where neighbours read x and y where they are: nothing is copied to be sent.

use core::ops::Range;

use super::update::{FEW, check_length, moved};
use super::{Neighbour, Node, NodeError, Phase, Scheme, Variable};
use crate::problem::Problem;
use crate::vector::{Number, Storage, add_gap};
use crate::widest::{self, Simd, WithSimd};

impl<P: Problem, X: Storage, T: Storage, D: Storage> Node<P, X, T, D> {
    /// Hands out x and y, to be read by neighbours in the same process: the memory in `x` and `y`, whatever it holds, takes
    /// their place. [`Node::mix_handed_out`] then writes the new values there. A second call takes them back.
    ///
    /// With LG, y does not travel and is not touched.
    ///
    /// # Errors
    /// Refuses calls out of turn and memory of another length; then nothing changes.
    pub fn hand_out(&mut self, x: &mut X, y: &mut X) -> Result<(), NodeError> {
        self.check_turn()?;
        let tracking = self.scheme == Scheme::GradientTracking;
        let needed = self.buffers.x.as_ref().len();
        check_length("x", x.as_ref(), needed)?;
        if tracking {
            check_length("y", y.as_ref(), needed)?;
            core::mem::swap(&mut self.buffers.y, y);
        }
        core::mem::swap(&mut self.buffers.x, x);
        Ok(())
    }

    /// As [`Node::mix_with`], with the same bits, for a node that has [handed out](Node::hand_out) x and y: `own`.
    ///
    /// # Errors
    /// As [`Node::mix_with`]. On divergence every variable holds its last finite value.
    pub fn mix_handed_out<'a, I>(
        &mut self,
        own: [&[f32]; 2],
        neighbours: I,
    ) -> Result<(), NodeError>
    where
        I: IntoIterator<Item = Neighbour<'a>, IntoIter: Clone>,
    {
        self.check_turn()?;
        let tracking = self.scheme == Scheme::GradientTracking;
        let (x, y) = (self.buffers.x.as_mut(), self.buffers.y.as_mut());
        let neighbours = neighbours.into_iter();
        let travelling = if tracking { x.len() } else { 0 };
        let own = [own[0], if tracking { own[1] } else { &[] }];
        check_length("x", own[0], x.len())?;
        check_length("y", own[1], travelling)?;
        for Neighbour { x: their_x, y: their_y, .. } in neighbours.clone() {
            check_length("neighbour's x", their_x, x.len())?;
            if tracking {
                check_length("neighbour's y", their_y, x.len())?;
            }
        }
        let change = if tracking { self.buffers.delta.as_ref() } else { self.buffers.z.as_ref() };
        let steps = [self.config.steps.tau(), self.config.steps.alpha()];
        let len = x.len();
        let mut mix = Mix { own, neighbours, change, steps, out: [x, y] };
        let mixed = if len < widest::LONG { mix.few_by_few(0..len) } else { widest::run_with(mix) };
        if let Err(variable) = mixed {
            return Err(self.diverge(variable));
        }
        self.round = self.round.wrapping_add(1);
        self.phase = Phase::Ready;
        Ok(())
    }

    /// Refuses all turns but that between the two halves of a round.
    const fn check_turn(&self) -> Result<(), NodeError> {
        match self.phase {
            Phase::Mixing { next: 0 } => Ok(()),
            Phase::Mixing { .. } | Phase::Ready => Err(NodeError::OutOfTurn),
            Phase::Diverged(divergence) => Err(NodeError::Diverged(divergence)),
        }
    }
}

/// What a node mixes. All slices have the same length, or none: y and what neighbours have of it with LG.
struct Mix<'a, 'n, I> {
    own: [&'a [f32]; 2],
    neighbours: I,
    /// GT: δ. LG: z, which y becomes.
    change: &'a [f32],
    /// τ and α.
    steps: [f32; 2],
    out: [&'n mut [f32]; 2],
}

impl<'t, I: Iterator<Item = Neighbour<'t>> + Clone> Mix<'_, '_, I> {
    /// Whether y travels.
    const fn is_tracking(&self) -> bool {
        !self.own[1].is_empty()
    }

    /// The old y. If it does not travel, it is still where the new one will be.
    fn y(&self) -> &[f32] {
        if self.is_tracking() { self.own[1] } else { self.out[1] }
    }

    /// Some elements, a few at once, as far as they stay finite; the others stay where they were.
    fn few_by_few(&mut self, range: Range<usize>) -> Result<(), Variable> {
        for from in range.clone().step_by(FEW) {
            let part = from..range.end.min(from + FEW);
            if self.few(part.clone()).is_err() {
                return self.stop(part);
            }
        }
        Ok(())
    }

    /// Stops in a part that does not stay finite. As without handing out, a whole part stays where it was, a shorter one is
    /// mixed element by element up to the first that fails, and all after that stays where it was.
    #[cold]
    fn stop(&mut self, part: Range<usize>) -> Result<(), Variable> {
        let step = if part.len() < FEW { 1 } else { FEW };
        for at in part.step_by(step) {
            let mixed = self.few(at..at + step);
            if mixed.is_err() {
                let tracking = self.is_tracking();
                let [x, y] = &mut self.out;
                x[at..].copy_from_slice(&self.own[0][at..]);
                if tracking {
                    y[at..].copy_from_slice(&self.own[1][at..]);
                }
                return mixed;
            }
        }
        Ok(())
    }

    /// At most [`FEW`] elements, unless one of them would not be finite: then nothing is written.
    fn few(&mut self, part: Range<usize>) -> Result<(), Variable> {
        let len = part.len();
        let tracking = self.is_tracking();
        let [mut x, mut y, mut change, mut x_gap, mut y_gap] = [[0.0; FEW]; 5];
        x[..len].copy_from_slice(&self.own[0][part.clone()]);
        y[..len].copy_from_slice(&self.y()[part.clone()]);
        change[..len].copy_from_slice(&self.change[part.clone()]);
        for neighbour in self.neighbours.clone() {
            add_gap(&mut x_gap, neighbour.weight, &neighbour.x[part.clone()], &x);
            if tracking {
                add_gap(&mut y_gap, neighbour.weight, &neighbour.y[part.clone()], &y);
            }
        }
        let mut next = change;
        if tracking {
            for i in 0..FEW {
                next[i] = (Number(y[i]) + y_gap[i] + change[i]).0;
            }
        }
        let moved = moved(&x, &y, &x_gap, self.steps, &next)?;
        self.out[0][part.clone()].copy_from_slice(&moved[..len]);
        self.out[1][part].copy_from_slice(&next[..len]);
        Ok(())
    }

    /// As many elements as [`VECTORS`] vectors have, unless one of them would not be finite: then nothing is written.
    #[inline(always)]
    fn vectors<S: Simd>(&mut self, simd: S, from: usize) -> bool {
        let tracking = self.is_tracking();
        let (tau, alpha) = (simd.splat_f32s(self.steps[0]), simd.splat_f32s(self.steps[1]));
        let x = read(simd, self.own[0], from);
        let y = read(simd, self.y(), from);
        let [mut x_gap, mut y_gap] = [[simd.splat_f32s(0.0); VECTORS]; 2];
        for neighbour in self.neighbours.clone() {
            let weight = simd.splat_f32s(neighbour.weight);
            let theirs = read(simd, neighbour.x, from);
            for i in 0..VECTORS {
                let pull = simd.mul_f32s(weight, simd.sub_f32s(theirs[i], x[i]));
                x_gap[i] = simd.add_f32s(x_gap[i], pull);
            }
            if tracking {
                let theirs = read(simd, neighbour.y, from);
                for i in 0..VECTORS {
                    let pull = simd.mul_f32s(weight, simd.sub_f32s(theirs[i], y[i]));
                    y_gap[i] = simd.add_f32s(y_gap[i], pull);
                }
            }
        }
        let mut next = read(simd, self.change, from);
        let mut moved = x;
        // The largest magnitude, as an integer.
        let mut largest = simd.splat_u32s(0);
        for i in 0..VECTORS {
            if tracking {
                next[i] = simd.add_f32s(simd.add_f32s(y[i], y_gap[i]), next[i]);
            }
            let step = simd.mul_f32s(tau, simd.sub_f32s(x_gap[i], simd.mul_f32s(alpha, y[i])));
            moved[i] = simd.add_f32s(x[i], step);
            for value in [moved[i], next[i]] {
                let bits = simd.transmute_u32s_f32s(simd.abs_f32s(value));
                largest = simd.max_u32s(largest, bits);
            }
        }
        let lanes: &[u32] = bytemuck::cast_slice(core::slice::from_ref(&largest));
        let finite = lanes.iter().fold(true, |all, &bits| all & (bits < f32::INFINITY.to_bits()));
        if finite {
            for (out, values) in self.out.iter_mut().zip([moved, next]) {
                write::<S>(out, from, values);
            }
        }
        finite
    }
}

/// How many vectors of x, and as many of y, are computed at once: their sums and own values fit the registers.
const VECTORS: usize = 4;

#[inline(always)]
fn read<S: Simd>(simd: S, from: &[f32], at: usize) -> [S::f32s; VECTORS] {
    let mut values = [simd.splat_f32s(0.0); VECTORS];
    if let Some(from) = from.get(at..at + VECTORS * S::F32_LANES) {
        values.copy_from_slice(bytemuck::cast_slice(from));
    }
    values
}

#[inline(always)]
fn write<S: Simd>(to: &mut [f32], at: usize, values: [S::f32s; VECTORS]) {
    if let Some(to) = to.get_mut(at..at + VECTORS * S::F32_LANES) {
        bytemuck::cast_slice_mut::<f32, S::f32s>(to).copy_from_slice(&values);
    }
}

impl<'t, I: Iterator<Item = Neighbour<'t>> + Clone> WithSimd for Mix<'_, '_, I> {
    type Output = Result<(), Variable>;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Self::Output {
        let (len, step) = (self.out[0].len(), VECTORS * S::F32_LANES);
        let mut from = 0;
        while from + step <= len && S::F32_LANES > 1 && self.vectors(simd, from) {
            from += step;
        }
        // What is left, or what does not stay finite.
        self.few_by_few(from..len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Sampler;
    use crate::draw::{Draws, Purpose};
    use crate::node::{Buffers, Config, Scratch};
    use crate::problems::{Quadratic, QuadraticParts};
    use crate::steps::StepSizes;

    type Own<'a> = Node<Quadratic<'a>, Vec<f32>, Vec<f32>, Vec<f32>>;

    /// Numbers between -1 and 1, others for every seed.
    fn numbers(seed: u64, len: usize) -> Vec<f32> {
        let mut stream = Draws { seed, node: 0 }.stream(0, Purpose::custom(1));
        (0..len).map(|_| stream.signed_unit()).collect()
    }

    /// Two equal nodes with n = `len`, which have computed in their second round.
    fn twins(coupling: &[f32], scheme: Scheme) -> [Own<'_>; 2] {
        let parts = QuadraticParts {
            diagonal: &[1.5],
            spike: &[0.0],
            coupling,
            shift: &[0.2],
            target: &[1.0],
            centre: coupling,
            rigidity: 0.25,
        };
        let steps = StepSizes::new(0.2, 0.3, 0.3, 0.5, 0.6).unwrap();
        let config = Config { steps, sampler: Sampler::full(0) };
        let zeros = || vec![0.0; coupling.len()];
        let buffers = Buffers {
            x: numbers(9, coupling.len()),
            y: zeros(),
            z: zeros(),
            theta: vec![0.0],
            v: vec![0.0],
            delta: zeros(),
        };
        let mut node = Node::new(Quadratic::new(parts).unwrap(), scheme, config, buffers).unwrap();
        compute(&mut node);
        node.mix_with([]).unwrap();
        compute(&mut node);
        [node.clone(), node]
    }

    fn compute(node: &mut Own<'_>) {
        node.compute(&mut Scratch { direction: [0.0], workspace: [0.0; 0] }).unwrap();
    }

    fn bits(node: &Own<'_>) -> Vec<u32> {
        let state = node.state();
        [state.x, state.y, state.z, state.theta, state.v]
            .concat()
            .iter()
            .map(|a| a.to_bits())
            .collect()
    }

    /// Memory that holds nothing of use.
    fn spare(node: &Own<'_>) -> [Vec<f32>; 2] {
        let len = node.state().x.len();
        let tracking = node.scheme() == Scheme::GradientTracking;
        [vec![f32::NAN; len], vec![f32::NAN; if tracking { len } else { 0 }]]
    }

    /// Mixes one node where its vectors are and the other after it has handed them out: both must be the same.
    fn assert_same(
        [plain, handed]: &mut [Own<'_>; 2],
        neighbours: &[Neighbour<'_>],
    ) -> Result<(), NodeError> {
        let result = plain.mix_with(neighbours.iter().copied());
        let [mut x, mut y] = spare(handed);
        handed.hand_out(&mut x, &mut y).unwrap();
        assert_eq!(handed.mix_handed_out([&x, &y], neighbours.iter().copied()), result);
        assert_eq!(bits(handed), bits(plain), "{} elements, {result:?}", x.len());
        match result {
            Ok(()) => assert_eq!((handed.phase(), handed.round), (plain.phase(), plain.round)),
            Err(_) => assert!(matches!(handed.phase(), Phase::Diverged(_))),
        }
        result
    }

    const SCHEMES: [Scheme; 2] = [Scheme::LocalGradient, Scheme::GradientTracking];

    #[test]
    fn what_was_handed_out_is_mixed_with_the_same_bits() {
        for len in [1, 15, 16, 17, 63, 64, 65, 128, 129, 200, 511] {
            let (coupling, theirs) = (numbers(1, len), numbers(2, 10 * len));
            for (scheme, count) in
                SCHEMES.into_iter().flat_map(|scheme| [0, 1, 2, 5].map(|n| (scheme, n)))
            {
                let mut twins = twins(&coupling, scheme);
                let vectors = theirs.chunks_exact(2 * len).map(|both| both.split_at(len));
                let neighbours: Vec<_> = (1..=count)
                    .zip(vectors)
                    .map(|(i, (x, y))| Neighbour { weight: 0.9 / i as f32, x, y })
                    .collect();
                for _ in 0..3 {
                    assert_same(&mut twins, &neighbours).unwrap();
                    twins.iter_mut().for_each(compute);
                }
            }
        }
    }

    #[test]
    fn divergence_leaves_the_same_values() {
        const LEN: usize = 300;
        let coupling = numbers(1, LEN);
        for (scheme, at) in SCHEMES
            .into_iter()
            .flat_map(|scheme| [0, 70, 128, LEN - 7, LEN - 1].map(|at| (scheme, at)))
        {
            for bad in [f32::MAX, f32::INFINITY, f32::NAN] {
                let (mut x, mut y) = (numbers(3, LEN), numbers(4, LEN));
                x[at] = bad;
                let error = assert_same(
                    &mut twins(&coupling, scheme),
                    &[Neighbour { weight: 4.0, x: &x, y: &y }],
                );
                assert!(
                    matches!(error, Err(NodeError::Diverged(at)) if at.variable == Variable::Outer)
                );
                if scheme == Scheme::GradientTracking {
                    (x[at], y[at]) = (0.0, bad);
                    let error = assert_same(
                        &mut twins(&coupling, scheme),
                        &[Neighbour { weight: 4.0, x: &x, y: &y }],
                    );
                    assert!(
                        matches!(error, Err(NodeError::Diverged(at)) if at.variable == Variable::Direction)
                    );
                }
            }
        }
    }

    #[test]
    fn vectors_are_taken_back_and_handed_out_only_in_turn() {
        let coupling = numbers(1, 20);
        for scheme in SCHEMES {
            let [mut node, before] = twins(&coupling, scheme);
            let [mut x, mut y] = spare(&node);
            let long = NodeError::Length { name: "x", needed: 20, found: 21 };
            assert_eq!(node.hand_out(&mut vec![0.0; 21], &mut y), Err(long));
            assert_eq!(bits(&node), bits(&before));
            node.hand_out(&mut x, &mut y).unwrap();
            assert_eq!(x, before.state().x);
            node.hand_out(&mut x, &mut y).unwrap();
            assert_eq!((bits(&node), node.phase()), (bits(&before), Phase::Mixing { next: 0 }));
            node.mix_with([]).unwrap();
            let after = bits(&node);
            assert_eq!(node.hand_out(&mut x, &mut y), Err(NodeError::OutOfTurn));
            assert_eq!(node.mix_handed_out([&x, &y], []), Err(NodeError::OutOfTurn));
            assert_eq!(bits(&node), after);
        }
    }

    #[test]
    fn vectors_of_other_lengths_are_refused() {
        let coupling = numbers(1, 20);
        let [mut node, _] = twins(&coupling, Scheme::GradientTracking);
        let [mut x, mut y] = spare(&node);
        node.hand_out(&mut x, &mut y).unwrap();
        let refused = |name, found| Err(NodeError::Length { name, needed: 20, found });
        assert_eq!(node.mix_handed_out([&x[1..], &y], []), refused("x", 19));
        assert_eq!(node.mix_handed_out([&x, &y[2..]], []), refused("y", 18));
        let short = Neighbour { weight: 0.5, x: &x[3..], y: &y };
        assert_eq!(node.mix_handed_out([&x, &y], [short]), refused("neighbour's x", 17));
        let short = Neighbour { weight: 0.5, x: &x, y: &y[4..] };
        assert_eq!(node.mix_handed_out([&x, &y], [short]), refused("neighbour's y", 16));
        assert_eq!(node.phase(), Phase::Mixing { next: 0 });
    }
}
