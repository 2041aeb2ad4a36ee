//! Rows times vectors on a host: many rows at once in the widest vectors of the machine.

use core::cell::Cell;
use std::vec::Vec;

use super::{LANES, add_lanes, in_chunks, shortest};
use crate::widest;

/// How many rows are read at once. The lanes of one row wait for their own last sum, but the rows of a block do not wait
/// for each other.
pub(crate) const ROWS: usize = 8;

/// Half of the rows.
const HALF: usize = ROWS / 2;

/// One chunk of every row of a block, as floats. Aligned, because an access of 64 bytes would otherwise touch two lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Chunk([[f32; LANES]; ROWS]);

/// The rows of a block as floats: rows are read twice, but converted only once. Chunks that are zero in all rows are left
/// out.
pub(crate) struct Converted {
    values: Vec<Chunk>,
    /// Where each chunk is in the rows.
    places: Vec<usize>,
    next: Next,
}

/// The rows of the block after this one. They are fetched while this one is computed.
#[derive(Clone, Copy)]
struct Next {
    /// Where they begin in memory.
    rows: [*const u8; ROWS],
    /// The bytes of a chunk.
    chunk: usize,
}

impl Next {
    /// Asks for a chunk of one of the rows from `first` on. Other chunks ask for other rows: a line of memory has four chunks
    /// of bytes. Not all at once, because a processor has few requests under way at a time.
    #[inline(always)]
    fn fetch(&self, first: usize, place: usize) {
        widest::fetch(self.rows[first + place % HALF].wrapping_add(place * self.chunk));
    }
}

std::thread_local! {
    // Kept, because filling it with zeros for every batch would cost as much as it saves.
    static CONVERTED: Cell<Converted> = const { Cell::new(Converted::EMPTY) };
}

impl Converted {
    const EMPTY: Self = Self {
        values: Vec::new(),
        places: Vec::new(),
        next: Next { rows: [core::ptr::null(); ROWS], chunk: 0 },
    };

    /// Memory for rows of `width` features, lent by the thread.
    pub(crate) fn lend<R>(width: usize, work: impl FnOnce(&mut Self) -> R) -> R {
        let mut converted = CONVERTED.replace(Self::EMPTY);
        let chunks = width.div_ceil(LANES);
        if converted.values.len() < chunks {
            converted.values.resize(chunks, Chunk([[0.0; LANES]; ROWS]));
        }
        let result = work(&mut converted);
        CONVERTED.set(converted);
        result
    }

    /// Names the rows of the block after this one.
    #[inline(always)]
    pub(crate) fn expect<T>(&mut self, rows: [&[T]; ROWS]) {
        let rows = rows.map(|row| row.as_ptr().cast());
        self.next = Next { rows, chunk: LANES * size_of::<T>() };
    }

    /// Reads only the chunks that are marked in one of the rows, or all of them without marks.
    #[inline(always)]
    pub(crate) fn choose(&mut self, width: usize, marks: Option<[&[u64]; ROWS]>) {
        self.places.clear();
        let Some(marks) = marks else {
            self.places.extend(0..width.div_ceil(LANES));
            return;
        };
        for word in 0..marks[0].len() {
            let mut union = marks.iter().fold(0, |all, row| all | row[word]);
            while union != 0 {
                self.places.push(word * 64 + union.trailing_zeros() as usize);
                union &= union - 1;
            }
        }
    }
}

/// The sums of `value(row[i]) * vector[i]` for each row and vector, each as [`reduce`](super::reduce) computes it, of the
/// chunks that were chosen. With `KEEP`, keeps what it converts.
// A chunk of zeros adds +0 or -0 to lanes that are never -0, which changes nothing.
#[inline(always)]
pub(crate) fn dots<T: Copy, const V: usize, const KEEP: bool, const MANY_REGISTERS: bool>(
    rows: [&[T]; ROWS],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
    converted: &mut Converted,
) -> [[f32; V]; ROWS] {
    let len = shortest(&rows).min(shortest(&vectors));
    let (rows, rows_rest) = in_chunks::<T, LANES, ROWS>(rows, len);
    let (vectors, vectors_rest) = in_chunks::<f32, LANES, V>(vectors, len);
    let Converted { values, places, next } = converted;
    // As many sums as the machine keeps in registers.
    let memory = (&mut values[..], &places[..], &*next);
    let mut lanes = match (MANY_REGISTERS, V) {
        (true, 1) => few_at_once::<T, 8, V, KEEP>(rows, vectors, &value, memory),
        (true, _) | (false, 1) => few_at_once::<T, 4, V, KEEP>(rows, vectors, &value, memory),
        (false, _) => few_at_once::<T, 2, V, KEEP>(rows, vectors, &value, memory),
    };
    if !len.is_multiple_of(LANES) && places.last() == Some(&(len / LANES)) {
        // Zeros after the end, which again change nothing.
        let mut vectors = [[0.0; LANES]; V];
        for v in 0..V {
            vectors[v] = padded(vectors_rest[v], |a| a);
        }
        for b in 0..ROWS {
            let row = padded(rows_rest[b], &value);
            if KEEP && let Some(kept) = values.get_mut(places.len() - 1) {
                kept.0[b] = row;
            }
            for v in 0..V {
                lanes[b][v] = add_products(lanes[b][v], row, vectors[v]);
            }
        }
    }
    let mut sums = [[0.0; V]; ROWS];
    for v in 0..V {
        let mut own = [[0.0; LANES]; ROWS];
        for b in 0..ROWS {
            own[b] = lanes[b][v];
        }
        let own = add_lanes_of_all(own);
        for b in 0..ROWS {
            sums[b][v] = own[b];
        }
    }
    sums
}

/// [`add_lanes`] for all rows together: the halves of two rows fill one vector, so no lane is idle.
#[inline(always)]
fn add_lanes_of_all([a, b, c, d, e, f, g, h]: [[f32; LANES]; ROWS]) -> [f32; ROWS] {
    let (ab, cd) = (add_halves::<8>(a, b), add_halves::<8>(c, d));
    let (ef, gh) = (add_halves::<8>(e, f), add_halves::<8>(g, h));
    let (abcd, efgh) = (add_halves::<4>(ab, cd), add_halves::<4>(ef, gh));
    let all = add_halves::<2>(abcd, efgh);
    let all = add_halves::<1>(all, all);
    [all[0], all[8], all[4], all[12], all[2], all[10], all[6], all[14]]
}

/// Adds lanes that are `BY` apart: those of `a` where the lane's number does not have the bit `BY`, those of `b` elsewhere.
#[inline(always)]
fn add_halves<const BY: usize>(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    let (mut low, mut high) = ([0.0; LANES], [0.0; LANES]);
    for i in 0..LANES {
        low[i] = if i & BY == 0 { a[i] } else { b[i ^ BY] };
        high[i] = if i & BY == 0 { a[i ^ BY] } else { b[i] };
    }
    for i in 0..LANES {
        low[i] += high[i];
    }
    low
}

/// The lanes of each row and vector, of `FEW` rows at once.
#[inline(always)]
fn few_at_once<T: Copy, const FEW: usize, const V: usize, const KEEP: bool>(
    rows: [&[[T; LANES]]; ROWS],
    vectors: [&[[f32; LANES]]; V],
    value: &impl Fn(T) -> f32,
    (values, places, next): (&mut [Chunk], &[usize], &Next),
) -> [[[f32; LANES]; V]; ROWS] {
    let mut lanes = [[[0.0; LANES]; V]; ROWS];
    let few = rows.as_chunks::<FEW>().0.iter().zip(lanes.as_chunks_mut::<FEW>().0);
    for (at, (&rows, lanes)) in few.enumerate() {
        *lanes =
            whole_chunks::<T, FEW, V, KEEP>(at * FEW, rows, vectors, value, (values, places, next));
    }
    lanes
}

/// The same for the rows after the first `from`. A function of its own, with lanes that are only indexed by constants:
/// otherwise they would be kept in memory.
#[inline(always)]
fn whole_chunks<T: Copy, const B: usize, const V: usize, const KEEP: bool>(
    from: usize,
    rows: [&[[T; LANES]]; B],
    vectors: [&[[f32; LANES]]; V],
    value: &impl Fn(T) -> f32,
    (values, places, next): (&mut [Chunk], &[usize], &Next),
) -> [[[f32; LANES]; V]; B] {
    let mut lanes = [[[0.0_f32; LANES]; V]; B];
    for (kept, &place) in values.iter_mut().zip(places) {
        // Only the last chunk can be beyond: one that ends early.
        if place >= rows[0].len() {
            break;
        }
        if from == 0 {
            next.fetch(0, place);
        }
        // Read once for all rows: otherwise again after each that is kept, as if that could have changed them.
        let mut parts = [[0.0; LANES]; V];
        for v in 0..V {
            parts[v] = vectors[v][place];
        }
        for b in 0..B {
            let mut row = [0.0; LANES];
            for i in 0..LANES {
                row[i] = value(rows[b][place][i]);
            }
            if KEEP {
                kept.0[from + b] = row;
            }
            for v in 0..V {
                lanes[b][v] = add_products(lanes[b][v], row, parts[v]);
            }
        }
    }
    lanes
}

/// `out[i] += factor * row[i]` for one converted row after the other, in one pass over `out`.
#[inline(always)]
pub(crate) fn add_converted(out: &mut [f32], converted: &Converted, factors: [f32; ROWS]) {
    let (out, out_rest) = out.as_chunks_mut::<LANES>();
    for (chunk, &place) in converted.values.iter().zip(&converted.places) {
        converted.next.fetch(HALF, place);
        if let Some(out) = out.get_mut(place) {
            let mut sums = *out;
            for (factor, row) in factors.iter().zip(&chunk.0) {
                for (sum, a) in sums.iter_mut().zip(row) {
                    *sum += factor * a;
                }
            }
            *out = sums;
        } else {
            for (i, out) in out_rest.iter_mut().enumerate() {
                for (factor, row) in factors.iter().zip(&chunk.0) {
                    *out += factor * row[i];
                }
            }
        }
    }
}

/// `out[i] += factor * value(row[i])` for one row after the other, in one pass over `out`.
#[inline(always)]
pub(crate) fn add_rows<T: Copy>(
    out: &mut [f32],
    rows: [&[T]; ROWS],
    factors: [f32; ROWS],
    value: impl Fn(T) -> f32,
) {
    let len = out.len().min(shortest(&rows));
    let (rows, rows_rest) = in_chunks::<T, LANES, ROWS>(rows, len);
    let (out, out_rest) = out[..len].as_chunks_mut::<LANES>();
    for (chunk, out) in out[..len / LANES].iter_mut().enumerate() {
        let mut sums = *out;
        for b in 0..ROWS {
            for i in 0..LANES {
                sums[i] += factors[b] * value(rows[b][chunk][i]);
            }
        }
        *out = sums;
    }
    if !out_rest.is_empty() {
        let mut sums = padded(out_rest, |a| a);
        for b in 0..ROWS {
            sums = add_scaled(sums, factors[b], padded(rows_rest[b], &value));
        }
        out_rest.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
    }
}

/// One step of every lane, for one factor.
#[inline(always)]
fn add_scaled(mut sums: [f32; LANES], factor: f32, a: [f32; LANES]) -> [f32; LANES] {
    for i in 0..LANES {
        sums[i] += factor * a[i];
    }
    sums
}

/// The sums of `value(row[i]) * vector[i]` for each vector, each as [`reduce`](super::reduce) computes it, in one pass.
#[inline(always)]
pub(crate) fn dots_of_row<T: Copy, const V: usize>(
    row: &[T],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
) -> [f32; V] {
    let len = row.len().min(shortest(&vectors));
    let ([row], [row_rest]) = in_chunks::<T, LANES, 1>([row], len);
    let (vectors, vectors_rest) = in_chunks::<f32, LANES, V>(vectors, len);
    let mut lanes = [[0.0_f32; LANES]; V];
    for (chunk, row) in row.iter().enumerate() {
        let mut values = [0.0; LANES];
        for i in 0..LANES {
            values[i] = value(row[i]);
        }
        for v in 0..V {
            lanes[v] = add_products(lanes[v], values, vectors[v][chunk]);
        }
    }
    let mut sums = [0.0; V];
    for v in 0..V {
        let rest = add_products(lanes[v], padded(row_rest, &value), padded(vectors_rest[v], |a| a));
        sums[v] = add_lanes(rest, LANES);
    }
    sums
}

/// The values of a chunk that may end early, and zeros.
// In parts of fixed sizes at fixed places: those that are written one by one would be waited for when all are read at once.
#[inline(always)]
pub(crate) fn padded<T: Copy>(rest: &[T], value: impl Fn(T) -> f32) -> [f32; LANES] {
    let mut chunk = [0.0; LANES];
    match (rest.first_chunk::<LANES>(), rest.split_first_chunk::<8>()) {
        (Some(all), _) => set(&mut chunk, 0, all, &value),
        (None, Some((eight, rest))) => {
            set(&mut chunk, 0, eight, &value);
            pad_four(&mut chunk, 8, rest, &value);
        }
        (None, None) => pad_four(&mut chunk, 0, rest, &value),
    }
    chunk
}

/// At most seven values from `at` on.
#[inline(always)]
fn pad_four<T: Copy>(chunk: &mut [f32; LANES], at: usize, rest: &[T], value: &impl Fn(T) -> f32) {
    match rest.split_first_chunk::<4>() {
        Some((four, rest)) => {
            set(chunk, at, four, value);
            pad_two(chunk, at + 4, rest, value);
        }
        None => pad_two(chunk, at, rest, value),
    }
}

/// At most three values from `at` on.
#[inline(always)]
fn pad_two<T: Copy>(chunk: &mut [f32; LANES], at: usize, rest: &[T], value: &impl Fn(T) -> f32) {
    match *rest {
        [] => {}
        [a] => set(chunk, at, &[a], value),
        [a, b] => set(chunk, at, &[a, b], value),
        [a, b, c, ..] => set(chunk, at, &[a, b, c], value),
    }
}

#[inline(always)]
fn set<T: Copy, const N: usize>(
    chunk: &mut [f32; LANES],
    at: usize,
    raw: &[T; N],
    value: &impl Fn(T) -> f32,
) {
    for i in 0..N {
        chunk[at + i] = value(raw[i]);
    }
}

/// One step of every lane. A function of its own, so that it becomes one vector operation before the loops around it are
/// unrolled.
#[inline(always)]
fn add_products(mut lanes: [f32; LANES], a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    for i in 0..LANES {
        lanes[i] += a[i] * b[i];
    }
    lanes
}
