//! Rows times the weights of a layer on a host: many vectors, each with its own unit.

use core::cell::Cell;
use std::vec::Vec;

use super::{CHUNK, Factors, Group, Of, Rows, run};
use crate::problems::integer::group::GROUP;
use crate::problems::integer::lanes::{self, Integers, Lanes, PIECE, PIECES, ROWS, WithLanes};
use crate::problems::integer::quantised::Unit;
use crate::problems::integer::scales::Scales;
use crate::samples::Samples;
use crate::vector::known::{Known, Ticket};
use crate::vector::matrix::Column;

/// Vectors that are multiplied at once, so that rows are converted once for all of them.
const VECTORS: usize = 2;

/// Vectors that rows are added to at once: as many as there are registers for.
const SUMS: usize = 4;

/// The weights of a layer as integers, and the samples that they are multiplied by.
pub(in crate::problems) struct Layer<'a> {
    rows: Rows<'a>,
    signed: bool,
    scales: Scales<'a>,
    weights: Weights,
}

/// Vectors as integers.
struct Weights {
    /// One vector after the other.
    integers: Vec<Integers>,
    /// For each vector its unit, and the sum of its integers.
    units: Vec<(Unit, i64)>,
    /// The vectors that were converted.
    known: Known,
    /// Memory for rows, and for their factors.
    rows: Cell<Vec<Integers>>,
    factors: Cell<Vec<Factors>>,
}

std::thread_local! {
    // Kept, because filling it with zeros for every batch would cost as much as it saves.
    static WEIGHTS: Cell<Weights> = const { Cell::new(Weights::new()) };
}

impl Weights {
    /// No vectors.
    const fn new() -> Self {
        let rows = Cell::new(Vec::new());
        let factors = Cell::new(Vec::new());
        Self { integers: Vec::new(), units: Vec::new(), known: Known::NOTHING, rows, factors }
    }

    /// Converts vectors; false if an element is not finite.
    fn set(&mut self, width: usize, vectors: &[f32], ticket: Ticket) -> bool {
        let known = Known::of(vectors, ticket);
        if self.known == known {
            return true;
        }
        let mut finite = true;
        self.known = Known::NOTHING;
        lanes::run(Set { memory: self, width, vectors, finite: &mut finite });
        if finite {
            self.known = known;
        }
        finite
    }
}

impl<'a> Layer<'a> {
    /// Whether samples can be multiplied here: not those whose features have their own scales, which only chips learn from.
    pub(in crate::problems) fn takes(samples: &Samples<'_>) -> bool {
        !matches!(Scales::new(samples.scaling()), Scales::Each(_))
    }

    /// Calls `work` with a layer, or with nothing if a weight is not finite.
    pub(in crate::problems) fn lend(
        samples: &'a Samples<'a>,
        weights: &[f32],
        ticket: Ticket,
        work: impl FnOnce(Option<&Self>),
    ) {
        let Some((rows, signed)) = Rows::of(samples) else { return work(None) };
        let mut memory = WEIGHTS.replace(Weights::new());
        let finite = memory.set(samples.width(), weights, ticket);
        let scales = Scales::new(samples.scaling());
        let layer = Self { rows, signed, scales, weights: memory };
        work(finite.then_some(&layer));
        WEIGHTS.set(layer.weights);
    }

    /// The scalar products of the chosen rows with every vector, a column for each.
    pub(in crate::problems) fn multiply(&self, chosen: &[usize], columns: &mut [Column]) {
        let mut memory = self.weights.rows.take();
        let work = Multiply { layer: self, chosen, columns, memory: &mut memory };
        run(self.signed, work);
        self.weights.rows.set(memory);
    }

    /// Adds the chosen rows times their factors to every vector; false if a factor is not finite.
    pub(in crate::problems) fn add_to(
        &self,
        chosen: &[usize],
        factors: &[Column],
        out: &mut [f32],
    ) -> bool {
        let mut finite = true;
        let mut memory = self.weights.factors.take();
        let work =
            Add { layer: self, chosen, factors, out, finite: &mut finite, memory: &mut memory };
        run(self.signed, work);
        self.weights.factors.set(memory);
        finite
    }
}

struct Set<'o> {
    memory: &'o mut Weights,
    width: usize,
    vectors: &'o [f32],
    finite: &'o mut bool,
}

impl WithLanes for Set<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Self { memory, width, vectors, finite } = self;
        let pieces = width.div_ceil(PIECE);
        memory.integers.resize(vectors.len() / width * pieces, Integers([0; PIECE]));
        memory.units.clear();
        let own = memory.integers.chunks_exact_mut(pieces);
        for (own, vector) in own.zip(vectors.chunks_exact(width)) {
            let Some(unit) = Unit::of(vector) else { return *finite = false };
            let own = bytemuck::cast_slice_mut::<Integers, [i16; PIECE]>(own).as_flattened_mut();
            let mut total = 0;
            for (own, part) in own.chunks_mut(CHUNK).zip(vector.chunks(CHUNK)) {
                let mut sum = 0;
                for (integer, &a) in own.iter_mut().zip(part) {
                    *integer = unit.quantise(a);
                    sum += i32::from(*integer);
                }
                total += i64::from(sum);
            }
            // After the end, where the bytes of rows are others.
            own[width..].fill(0);
            memory.units.push((unit, total));
        }
    }
}

struct Multiply<'a, 'o> {
    layer: &'o Layer<'a>,
    chosen: &'o [usize],
    columns: &'o mut [Column],
    /// The numbers of all rows.
    memory: &'o mut Vec<Integers>,
}

impl<const SIGNED: bool> WithLanes for Of<Multiply<'_, '_>, SIGNED> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Multiply { layer: Layer { rows, scales, weights, .. }, chosen, columns, memory } =
            self.0;
        let pieces = rows.pieces;
        memory.resize(GROUP * pieces, Integers([0; PIECE]));
        for (half, chosen) in chosen.chunks(GROUP).enumerate() {
            let group = Group::new(rows, chosen.iter().copied(), GROUP, |_, _| ());
            let count = group.len.next_multiple_of(ROWS);
            for (row, wide) in group.rows.iter().zip(memory.chunks_exact_mut(pieces)).take(count) {
                for (wide, bytes) in wide.iter_mut().zip(*row) {
                    *wide = lanes.widen::<SIGNED>(bytes);
                }
            }
            let filled = group.filled.clone();
            // So few rows that they stay in the first cache for all vectors.
            let few = memory[..count * pieces].chunks(2 * ROWS * pieces);
            for (first, few) in (0..).step_by(2 * ROWS).zip(few) {
                let vectors =
                    weights.integers.chunks(VECTORS * pieces).zip(columns.chunks_mut(VECTORS));
                for ((vectors, columns), units) in vectors.zip(weights.units.chunks(VECTORS)) {
                    // The last one again, if there are not as many.
                    let vector = |v: usize| {
                        &vectors[v.min(units.len() - 1) * pieces..][..pieces][filled.clone()]
                    };
                    let all: [_; VECTORS] = [vector(0), vector(1)];
                    for (block, few) in few.chunks_exact(ROWS * pieces).enumerate() {
                        let mut own = [&few[..pieces][filled.clone()]; ROWS];
                        for r in 1..ROWS {
                            own[r] = &few[r * pieces..][..pieces][filled.clone()];
                        }
                        let products = multiply(lanes, own, all);
                        let at = first + block * ROWS;
                        for v in 0..units.len() {
                            let (unit, total) = units[v];
                            let (offset, unit) =
                                (scales.offset(total), unit.value() * scales.scale());
                            let out = &mut columns[v].0.as_chunks_mut::<GROUP>().0[half];
                            let out = &mut out.as_chunks_mut::<ROWS>().0[at / ROWS];
                            for r in 0..ROWS {
                                out[r] = scales.finish(products[v][r], offset) * unit;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The scalar products of some rows with some vectors.
#[inline(always)]
fn multiply<L: Lanes>(
    lanes: L,
    rows: [&[Integers]; ROWS],
    vectors: [&[Integers]; VECTORS],
) -> [[i64; ROWS]; VECTORS] {
    let mut products = [[0; ROWS]; VECTORS];
    let len = rows[0].len();
    for start in (0..len).step_by(PIECES) {
        let end = len.min(start + PIECES);
        // All of one length, so that no index has to be checked.
        let rows = rows.map(|row| &row[start..end][..end - start]);
        let vectors = vectors.map(|vector| &vector[start..end][..end - start]);
        let mut sums = [[L::ZERO; ROWS]; VECTORS];
        for i in 0..end - start {
            for r in 0..ROWS {
                for v in 0..VECTORS {
                    sums[v][r] = lanes.multiply(sums[v][r], &rows[r][i], &vectors[v][i]);
                }
            }
        }
        for v in 0..VECTORS {
            let totals = lanes.totals(sums[v]);
            for r in 0..ROWS {
                products[v][r] += totals[r];
            }
        }
    }
    products
}

struct Add<'a, 'o> {
    layer: &'o Layer<'a>,
    chosen: &'o [usize],
    factors: &'o [Column],
    out: &'o mut [f32],
    finite: &'o mut bool,
    memory: &'o mut Vec<Factors>,
}

impl<const SIGNED: bool> WithLanes for Of<Add<'_, '_>, SIGNED> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Add { layer: Layer { rows, scales, .. }, chosen, factors, out, finite, memory } =
            self.0;
        let width = rows.samples.width();
        for (half, chosen) in chosen.chunks(GROUP).enumerate() {
            let group = Group::new(rows, chosen.iter().copied(), 0, |_, _| ());
            memory.clear();
            for factors in factors {
                let factors = &factors.0.as_chunks::<GROUP>().0[half][..group.len];
                let mut scaled = [0.0; GROUP];
                for (scaled, &factor) in scaled.iter_mut().zip(factors) {
                    *scaled = factor * scales.scale();
                }
                let Some(factors) = Factors::new(&scaled, scales) else { return *finite = false };
                memory.push(factors);
            }
            // Filled up with zeros, whose sums are not used.
            memory.resize(memory.len().next_multiple_of(SUMS), Factors::NONE);
            let pairs = group.len.div_ceil(2);
            for piece in 0..rows.pieces {
                let mut turns = [L::NO_TURNS; GROUP / 2];
                let empty = !group.filled.contains(&piece);
                let turns = if empty { &mut [] } else { &mut turns[..pairs] };
                for (turns, &[a, b]) in turns.iter_mut().zip(group.rows.as_chunks().0) {
                    *turns = lanes.in_turns::<SIGNED>([&a[piece], &b[piece]]);
                }
                let factors = memory.as_chunks::<SUMS>().0;
                for (factors, out) in factors.iter().zip(out.chunks_mut(SUMS * width)) {
                    let mut tiles = [L::EMPTY; SUMS];
                    for (pair, turns) in turns.iter().enumerate() {
                        for s in 0..SUMS {
                            let factors = factors[s].integers.as_chunks().0[pair];
                            tiles[s] = lanes.add_rows(tiles[s], *turns, factors);
                        }
                    }
                    for ((out, tile), factors) in
                        out.chunks_exact_mut(width).zip(tiles).zip(factors)
                    {
                        factors.add_to(&mut out[piece * PIECE..], lanes.in_order(tile));
                    }
                }
            }
        }
    }
}
