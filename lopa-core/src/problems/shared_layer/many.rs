//! Many samples at once, on a host: one lane of a vector for each, with the bits of one after the other.

mod group;

use super::{Pass, SharedLayer};
#[cfg(feature = "integer")]
use crate::problems::integer::Layer;
use crate::samples::Arithmetic;
use crate::vector::CompensatedSum;
use crate::vector::known::Ticket;
use crate::vector::matrix::{Column, Matrix, ROWS};
use crate::widest::{self, Simd, WithSimd};

use self::group::Group;

/// Adds `scale` times the mean over the batch of coefficients ⊗ (s, 1) to a vector shaped like θ.
pub(super) fn add_to_head(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    pass.run(Goal::Head { share: scale * pass.batch.weight(), out }, pass.ticket(workspace));
}

/// Adds `scale` times the mean over the batch of (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x.
pub(super) fn add_to_layer(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    pass.add_to_layer(scale, Part::Whole, out, workspace);
}

/// Writes the sum of two such means to a vector shaped like x, each times its scale.
pub(super) fn sum_to_layer(passes: [(Pass<'_>, f32); 2], out: &mut [f32], workspace: &mut [f32]) {
    // Listed, samples are added to vectors that are turned: once for both.
    if passes.iter().all(|(pass, _)| pass.is_listed()) {
        for ((pass, scale), part) in passes.into_iter().zip([Part::First, Part::Last]) {
            pass.add_to_layer(scale, part, out, workspace);
        }
        return;
    }
    out.fill(0.0);
    for (pass, scale) in passes {
        super::add_to_layer(pass, scale, out, workspace);
    }
}

/// The mean cross-entropy over the batch.
pub(super) fn cross_entropy(pass: Pass<'_>, _: &mut [f32]) -> f32 {
    let mut sum = CompensatedSum::default();
    pass.run(Goal::Loss(&mut sum), Ticket::issue());
    sum.value() * pass.batch.weight()
}

/// Calls `each` with the number of every sample and the class of its largest logit.
pub(super) fn classify(pass: Pass<'_>, each: &mut dyn FnMut(usize, f32)) {
    pass.run(Goal::Classes(each), Ticket::issue());
}

/// Notes that x does not change for the oracles that follow: what they compute from it is computed once.
pub(super) fn prepare(model: &SharedLayer<'_>, workspace: &mut [f32]) {
    let (_, _, change) = model.cut(workspace);
    Ticket::issue().keep(change);
}

/// What is computed from a batch.
enum Goal<'o> {
    Head { share: f32, out: &'o mut [f32] },
    Layer { share: f32, part: Part, out: &'o mut [f32] },
    Loss(&'o mut CompensatedSum),
    Classes(&'o mut dyn FnMut(usize, f32)),
}

/// Which part of a sum a batch is.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// All of it, with what was there before.
    Whole,
    /// The first of several batches; nothing was there before.
    First,
    /// The last one.
    Last,
}

/// Weights in integers: there are none here.
#[cfg(not(feature = "integer"))]
struct Layer<'a>(core::convert::Infallible, core::marker::PhantomData<&'a ()>);

#[cfg(not(feature = "integer"))]
impl Layer<'_> {
    fn multiply(&self, _: &[usize], _: &mut [Column]) {
        match self.0 {}
    }

    fn add_to(&self, _: &[usize], _: &[Column], _: &mut [f32]) -> bool {
        match self.0 {}
    }
}

impl<'a> Pass<'a> {
    /// The ticket that [`prepare`] kept, in a part of the workspace that is used for nothing else if no oracle needs groups of
    /// a chip.
    fn ticket(&self, workspace: &mut [f32]) -> Ticket {
        #[cfg(feature = "integer")]
        if self.model.train.arithmetic() == Arithmetic::Integer
            && ![&self.model.train, &self.model.validation].into_iter().all(Layer::takes)
        {
            return Ticket::issue();
        }
        let (_, _, change) = self.model.cut(workspace);
        Ticket::kept(change)
    }

    /// Whether the samples are lists, in an oracle.
    fn is_listed(&self) -> bool {
        let samples = self.samples.for_products(self.model.hidden);
        samples.arithmetic() == Arithmetic::Float && samples.are_listed()
    }

    fn add_to_layer(self, scale: f32, part: Part, out: &mut [f32], workspace: &mut [f32]) {
        let share = scale * self.batch.weight();
        self.run(Goal::Layer { share, part, out }, self.ticket(workspace));
    }

    fn run(self, goal: Goal<'_>, ticket: Ticket) {
        #[cfg(feature = "integer")]
        if let Goal::Head { .. } | Goal::Layer { .. } = goal
            && self.samples.arithmetic() == Arithmetic::Integer
        {
            let (weights, _) = self.model.layer(self.at.x);
            return Layer::lend(self.samples, weights, ticket, |layer| match (layer, goal) {
                (Some(layer), goal) => self.run_in(goal, ticket, Some(layer)),
                (None, Goal::Head { out, .. } | Goal::Layer { out, .. }) => out.fill(f32::NAN),
                (None, _) => {}
            });
        }
        self.run_in(goal, ticket, None);
    }

    /// In integers, or else in floats.
    fn run_in(self, goal: Goal<'_>, ticket: Ticket, integers: Option<&Layer<'a>>) {
        let SharedLayer { hidden, classes, .. } = *self.model;
        // For each unit its activation and a factor; for each class its probability and their change.
        let columns = 2 * hidden + 2 * classes;
        Matrix::lend(self.model.train.width(), columns, |matrix, columns| {
            widest::run_with(Groups { pass: self, goal, ticket, integers, matrix, columns });
        });
    }
}

/// Goes through a batch in groups of as many samples as a [`Matrix`] holds.
struct Groups<'a, 'g, 'o> {
    pass: Pass<'a>,
    goal: Goal<'g>,
    ticket: Ticket,
    integers: Option<&'o Layer<'a>>,
    matrix: &'o mut Matrix,
    columns: &'o mut [Column],
}

impl WithSimd for Groups<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { pass, mut goal, ticket, integers, matrix, columns } = self;
        let (hidden, columns) = columns.split_at_mut(pass.model.hidden);
        let (factors, columns) = columns.split_at_mut(pass.model.hidden);
        let (output, change) = columns.split_at_mut(pass.model.classes);
        let samples = pass.samples.for_products(pass.model.hidden);
        // As everywhere in integers, rows beyond the end are left out.
        let exists = |index: &usize| integers.is_none() || *index < samples.len();
        let mut indices = pass.batch.indices().filter(exists);
        let weights = pass.model.hidden * pass.model.train.width();
        if let Goal::Layer { part, out, .. } = &mut goal
            && pass.is_listed()
            && let Some((weights, biases)) = out.split_at_mut_checked(weights)
        {
            match part {
                Part::Whole => matrix.begin(simd, weights),
                Part::First => {
                    matrix.begin_at_zero(pass.model.hidden);
                    biases.fill(0.0);
                }
                Part::Last => {}
            }
        }
        loop {
            let (mut chosen, mut classes, mut count) = ([0; ROWS], [0; ROWS], 0);
            for (chosen, index) in chosen.iter_mut().zip(&mut indices) {
                *chosen = index;
                count += 1;
            }
            let chosen = &chosen[..count];
            if chosen.is_empty() {
                break;
            }
            let mut lists = None;
            if integers.is_none() {
                chosen.iter().for_each(|&index| samples.fetch(index));
                lists = samples.lists_of(chosen);
                if lists.is_none() {
                    matrix.clear();
                    chosen.iter().for_each(|&index| samples.push_to(matrix, index));
                }
            }
            for (class, &index) in classes.iter_mut().zip(chosen) {
                *class = samples.class(index);
            }
            let (lists, classes) = (lists.as_ref(), &classes[..count]);
            let integers = integers.map(|layer| (layer, chosen));
            let mut group =
                Group { pass, ticket, integers, lists, classes, hidden, output, change };
            group.activate(simd, matrix);
            group.logits(simd);
            match &mut goal {
                Goal::Loss(sum) => group.add_losses(simd, sum),
                Goal::Classes(each) => {
                    for (b, &index) in chosen.iter().enumerate() {
                        each(index, group.largest(b) as f32);
                    }
                }
                Goal::Head { share, out } => {
                    group.coefficients(simd);
                    group.add_to_head(simd, *share, out);
                }
                Goal::Layer { share, out, .. } => {
                    group.coefficients(simd);
                    group.add_to_layer(simd, *share, matrix, factors, out);
                }
            }
        }
        if let Goal::Layer { part: Part::Whole | Part::Last, out, .. } = goal
            && pass.is_listed()
            && let Some(out) = out.get_mut(..weights)
        {
            matrix.end(simd, out);
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "integer")]
    use super::super::grouped;
    use super::super::one;
    use super::*;
    use crate::batch::Batch;
    use crate::draw::{Draws, Purpose, Stream};
    use crate::problem::{Dimensions, Point, Predict, Problem};
    use crate::samples::{Arithmetic, Features, Labels, Samples, Scale};

    const SAMPLES: usize = 90;

    fn stream(seed: u64) -> Stream {
        Draws { seed, node: 0 }.stream(0, Purpose::custom(1))
    }

    fn floats(stream: &mut Stream, len: usize) -> Vec<f32> {
        (0..len).map(|_| (stream.next() >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    /// Compares every oracle and the loss on batches of several sizes, bit for bit.
    fn assert_same_bits(samples: Samples<'_>, hidden: usize, classes: usize) {
        let model = SharedLayer::new(samples, samples, hidden, classes, 0.1).unwrap();
        let mut stream = stream(7);
        let (n, p) =
            (SharedLayer::outer(samples.width(), hidden), SharedLayer::inner(hidden, classes));
        let (mut x, theta, v) =
            (floats(&mut stream, n), floats(&mut stream, p), floats(&mut stream, p));
        // So small that wide rows leave units where they have a slope.
        x.iter_mut().for_each(|x| *x *= (50.0 / samples.width() as f32).min(1.0));
        let at = Point { x: &x, theta: &theta };
        let mut workspace = vec![0.0; model.dimensions().workspace];
        let mut numbers = 0..samples.len();
        model.predict_all(at, &samples, &mut vec![0.0; workspace.len()], &mut |index, class| {
            assert_eq!(Some(index), numbers.next());
            let one = model.predict(at, samples.row(index), &mut workspace);
            assert!(class.to_bits() == one.to_bits(), "sample {index}: {class} instead of {one}");
        });
        assert_eq!(numbers.next(), None);
        for size in [1, 15, 16, 17, 64, 65, 131] {
            let batch = Batch::drawn(stream.clone(), size.try_into().unwrap(), SAMPLES);
            let pass = Pass::new(&model, &samples, &batch, at);
            for pass in [pass, pass.along(&v)] {
                type Oracle = fn(Pass<'_>, f32, &mut [f32], &mut [f32]);
                let others: [Oracle; 2] = match samples.arithmetic() {
                    Arithmetic::Float => [one::add_to_head, one::add_to_layer],
                    #[cfg(feature = "integer")]
                    Arithmetic::Integer => [grouped::add_to_head, grouped::add_to_layer],
                    #[cfg(not(feature = "integer"))]
                    Arithmetic::Integer => unreachable!(),
                };
                let oracles: [(Oracle, Oracle, usize); 2] =
                    [(add_to_head, others[0], p), (add_to_layer, others[1], n)];
                for (many, one, len) in oracles {
                    let (mut ours, mut theirs) = (vec![0.5; len], vec![0.5; len]);
                    many(pass, -1.5, &mut ours, &mut workspace);
                    one(pass, -1.5, &mut theirs, &mut workspace);
                    assert!(ours.iter().any(|&a| a != 0.5));
                    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                        let same = ours.to_bits() == theirs.to_bits();
                        assert!(same, "element {i} of {len}: {ours} instead of {theirs}");
                    }
                }
            }
            let losses = [cross_entropy, one::cross_entropy].map(|f| f(pass, &mut workspace));
            assert_eq!(losses[0].to_bits(), losses[1].to_bits());
        }
    }

    /// Compares the hypergradient with the sum of its terms: bit for bit, and again after x has changed where it is.
    fn assert_same_hypergradient(train: Samples<'_>, validation: Samples<'_>, hidden: usize) {
        let model = SharedLayer::new(train, validation, hidden, 10, 0.1).unwrap();
        let mut stream = stream(3);
        let Dimensions { outer, inner, workspace } = model.dimensions();
        let (theta, v) = (floats(&mut stream, inner), floats(&mut stream, inner));
        let mut x = floats(&mut stream, outer);
        let mut workspace = vec![0.0; workspace];
        // Whatever was there before counts for nothing.
        let mut out = vec![7.0; outer];
        for round in 0..2 {
            let batch = |size: u32| Batch::drawn(stream.clone(), size.try_into().unwrap(), SAMPLES);
            let batches = [batch(50 + round), batch(70)];
            model.prepare(&x, &mut workspace);
            let at = Point { x: &x, theta: &theta };
            model.inner_gradient(at, &batches[0], 1.0, &mut vec![0.0; inner], &mut workspace);
            model.hypergradient(at, &v, batches.each_ref(), &mut out, &mut workspace);
            let (mut terms, unprepared) = (vec![0.0; outer], &mut vec![0.0; workspace.len()]);
            model.outer_gradient_outer(at, &batches[0], 1.0, &mut terms, unprepared);
            model.cross_vector(at, &v, &batches[1], -1.0, &mut terms, unprepared);
            for (i, (sum, terms)) in out.iter().zip(&terms).enumerate() {
                let same = sum.to_bits() == terms.to_bits();
                assert!(same, "round {round}, element {i}: {sum} instead of {terms}");
            }
            x.iter_mut().zip(&out).for_each(|(x, gradient)| *x -= 0.5 * gradient);
        }
    }

    #[test]
    fn the_hypergradient_has_the_bits_of_its_terms() {
        const WIDTH: usize = 33;
        let mut draws = stream(5);
        let bytes: Vec<u8> = (0..SAMPLES * WIDTH).map(|_| (draws.next() >> 8) as u8).collect();
        let labels: Vec<u8> = (0..SAMPLES).map(|i| i as u8 % 10).collect();
        let raw = Samples::new(Features::U8(&bytes), WIDTH, Labels::Class(&labels)).unwrap();
        let raw = raw.scaled(1.0 / 255.0, 0.0).unwrap();
        let lists = raw.lists().unwrap();
        let listed = raw.listed(&lists).unwrap();
        let scales = [Scale { offset: 3.0, factor: 0.01 }; WIDTH + 1];
        let own = Samples::new(Features::U8(&bytes), WIDTH, Labels::Class(&labels)).unwrap();
        let own = own.standardised(&scales).unwrap();
        for hidden in [1, 16, 28, 40] {
            for [train, validation] in
                [[listed; 2], [raw; 2], [own; 2], [raw, listed], [listed, raw], [own, listed]]
            {
                assert_same_hypergradient(train, validation, hidden);
                #[cfg(feature = "integer")]
                {
                    let sets = [train, validation].map(|set| set.computed_in(Arithmetic::Integer));
                    let [train, validation] = sets.map(Result::unwrap);
                    assert_same_hypergradient(train, validation, hidden);
                }
            }
        }
    }

    #[test]
    fn many_samples_have_the_bits_of_one_after_the_other() {
        // Lists have no more than 4096 features; 40 units are computed as 32 and 8.
        for (width, hidden, classes) in [
            (5, 1, 2),
            (16, 3, 4),
            (37, 8, 17),
            (48, 13, 3),
            (33, 28, 10),
            (50, 40, 3),
            (4_096, 8, 2),
        ] {
            let mut stream = stream(width as u64);
            // Mostly zeros, like images.
            let pixel = |a: u32| if a >> 30 == 0 { (a >> 8) as u8 } else { 0 };
            let bytes: Vec<u8> = (0..SAMPLES * width).map(|_| pixel(stream.next())).collect();
            let signed: Vec<i8> = bytes.iter().map(|&a| a.wrapping_sub(90) as i8).collect();
            let values = floats(&mut stream, SAMPLES * width);
            let labels: Vec<u8> =
                (0..SAMPLES).map(|_| (stream.next() >> 8) as u8 % classes as u8).collect();
            let set = |features| Samples::new(features, width, Labels::Class(&labels)).unwrap();
            let images = set(Features::U8(&bytes)).scaled(1.0 / 255.0, 0.0).unwrap();
            let mut marks = vec![0; Samples::marks(SAMPLES, width)];
            images.mark(&mut marks);
            let lists = images.lists().unwrap();
            let readings = set(Features::I8(&signed)).scaled(0.03, 0.0).unwrap();
            let lists_of_readings = readings.lists().unwrap();
            let scales: Vec<Scale> = (0..=width)
                .map(|i| Scale { offset: i as f32, factor: 0.01 * (1 + i % 3) as f32 })
                .collect();
            for samples in [
                images,
                images.marked(&marks).unwrap(),
                images.listed(&lists).unwrap(),
                readings.listed(&lists_of_readings).unwrap(),
                images.scaled(0.02, 99.5).unwrap(),
                set(Features::I8(&signed)).scaled(0.03, -3.0).unwrap(),
                set(Features::F32(&values)),
                set(Features::U8(&bytes)).standardised(&scales).unwrap(),
            ] {
                assert_same_bits(samples, hidden, classes);
                #[cfg(feature = "integer")]
                if let Ok(samples) = samples.computed_in(Arithmetic::Integer)
                    && Layer::takes(&samples)
                {
                    assert_same_bits(samples, hidden, classes);
                }
            }
        }
    }

    #[test]
    fn nothing_is_added_for_an_empty_batch() {
        let samples = Samples::new(Features::U8(&[1; 8]), 4, Labels::Class(&[0, 1])).unwrap();
        let model = SharedLayer::new(samples, samples, 2, 2, 0.1).unwrap();
        let batch = Batch::full(0);
        let at = Point { x: &[0.5; 10], theta: &[0.5; 6] };
        let pass = Pass::new(&model, &samples, &batch, at);
        let mut out = [0.0; 10];
        add_to_layer(pass, 1.0, &mut out, &mut []);
        assert_eq!((out, cross_entropy(pass, &mut [])), ([0.0; 10], 0.0));
    }
}
