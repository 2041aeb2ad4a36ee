//! Dense matrices as rows, as simple as possible.

/// A matrix, row after row.
pub type Matrix = Vec<Vec<f64>>;

pub fn zeros(rows: usize, columns: usize) -> Matrix {
    vec![vec![0.0; columns]; rows]
}

pub fn identity(size: usize) -> Matrix {
    let mut m = zeros(size, size);
    (0..size).for_each(|i| m[i][i] = 1.0);
    m
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn times(m: &Matrix, a: &[f64]) -> Vec<f64> {
    m.iter().map(|row| dot(row, a)).collect()
}

pub fn transpose(m: &Matrix) -> Matrix {
    (0..m[0].len()).map(|j| m.iter().map(|row| row[j]).collect()).collect()
}

pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transpose(b);
    a.iter().map(|row| columns.iter().map(|column| dot(row, column)).collect()).collect()
}

/// `m += scale * a b'`.
pub fn add_outer(m: &mut Matrix, scale: f64, a: &[f64], b: &[f64]) {
    for (row, a) in m.iter_mut().zip(a) {
        for (cell, b) in row.iter_mut().zip(b) {
            *cell += scale * a * b;
        }
    }
}

/// `m += scale * a`.
pub fn add(m: &mut Matrix, scale: f64, a: &Matrix) {
    for (row, a) in m.iter_mut().zip(a) {
        for (cell, a) in row.iter_mut().zip(a) {
            *cell += scale * a;
        }
    }
}

/// The solution of m a = b, by elimination with pivots.
pub fn solve(m: &Matrix, b: &[f64]) -> Vec<f64> {
    let size = b.len();
    let mut rows: Matrix =
        m.iter().zip(b).map(|(row, &b)| row.iter().copied().chain([b]).collect()).collect();
    for i in 0..size {
        let pivot = (i..size).max_by(|&j, &k| rows[j][i].abs().total_cmp(&rows[k][i].abs()));
        rows.swap(i, pivot.unwrap());
        let (done, rest) = rows.split_at_mut(i + 1);
        for row in rest {
            let factor = row[i] / done[i][i];
            for (cell, top) in row[i..].iter_mut().zip(&done[i][i..]) {
                *cell -= factor * top;
            }
        }
    }
    let mut a = vec![0.0; size];
    for i in (0..size).rev() {
        a[i] = (rows[i][size] - dot(&rows[i][i + 1..size], &a[i + 1..])) / rows[i][i];
    }
    a
}
