//! Sums over vectors, in f64.

/// A sum of products in order.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// ‖a‖.
pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// A sum of products in eight lanes, which do not wait for one another: for the long vectors of large networks. The
/// last bits differ from those of [`dot`].
pub(crate) fn dot_in_lanes(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum::<f64>() + dot(a_rest, b_rest)
}

/// ‖a‖, in eight lanes.
pub(crate) fn norm_in_lanes(a: &[f64]) -> f64 {
    dot_in_lanes(a, a).sqrt()
}

/// Subtracts the mean, which is summed in eight lanes.
pub(crate) fn centre(a: &mut [f64]) {
    let (chunks, rest) = a.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, a)| *lane += a);
    }
    let sum = lanes.iter().sum::<f64>() + rest.iter().sum::<f64>();
    let mean = sum / a.len() as f64;
    a.iter_mut().for_each(|a| *a -= mean);
}

/// Subtracts a multiple of another vector.
pub(crate) fn subtract(a: &mut [f64], scale: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a -= scale * b);
}

/// Divides a vector by its norm, which it returns; a zero vector stays as it is.
pub(crate) fn normalise(a: &mut [f64]) -> f64 {
    let length = norm(a);
    if length > 0.0 {
        a.iter_mut().for_each(|a| *a /= length);
    }
    length
}

/// Removes the components of a vector along others, which are orthonormal; twice, because rounding leaves some of them
/// after the first pass.
pub(crate) fn orthogonalise(a: &mut [f64], others: &[Vec<f64>]) {
    for other in others.iter().chain(others) {
        let along = dot(a, other);
        subtract(a, along, other);
    }
}

/// ‖a - b‖².
pub(crate) fn squared_distance<A, B>(a: &[A], b: &[B]) -> f64
where
    A: Copy + Into<f64>,
    B: Copy + Into<f64>,
{
    let square = |(&a, &b): (&A, &B)| {
        let (a, b): (f64, f64) = (a.into(), b.into());
        (a - b) * (a - b)
    };
    a.iter().zip(b).map(square).sum()
}

/// The mean of vectors of one length. The sums are divided once, at the end: the mean of equal numbers is that number.
pub(crate) fn mean<'v, A: Copy + Into<f64> + 'v>(
    vectors: impl Iterator<Item = &'v [A]>,
) -> Vec<f64> {
    let (mut sum, mut count) = (Vec::<f64>::new(), 0.0);
    for vector in vectors {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, &a)| *sum += Into::<f64>::into(a));
        count += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= count);
    sum
}
