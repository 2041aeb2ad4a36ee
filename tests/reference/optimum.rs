//! The optimum of quadratics, in f64 and by elimination.

use lopa_core::problems::Quadratic;

use super::matrix;

/// The exact joint optimum of several quadratics, in f64.
pub fn optimum(problems: &[Quadratic<'_>]) -> Vec<f64> {
    let n = problems[0].parts().centre.len();
    let mean = |x: &[f64]| -> Vec<f64> {
        let mut sum = vec![0.0; n];
        for problem in problems {
            let gradient = hypergradient(problem, x);
            sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += g / problems.len() as f64);
        }
        sum
    };
    let zero = mean(&vec![0.0; n]);
    let column = |i: usize| {
        let mut e = vec![0.0; n];
        e[i] = 1.0;
        mean(&e).iter().zip(&zero).map(|(a, b)| a - b).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    // The Hessian is symmetric: its columns are its rows.
    matrix::solve(&columns, &zero.iter().map(|b| -b).collect::<Vec<_>>())
}

/// ∇Φ of one node, from its parts.
fn hypergradient(problem: &Quadratic<'_>, x: &[f64]) -> Vec<f64> {
    let parts = problem.parts();
    let wide = |a: &[f32]| a.iter().map(|&a| f64::from(a)).collect::<Vec<f64>>();
    let (a, u, b) = (wide(parts.diagonal), wide(parts.spike), wide(parts.coupling));
    let (c, t, q) = (wide(parts.shift), wide(parts.target), wide(parts.centre));
    let mut dense: Vec<Vec<f64>> =
        u.iter().map(|ui| u.iter().map(|uj| ui * uj).collect()).collect();
    a.iter().enumerate().for_each(|(i, a)| dense[i][i] += a);
    let rows: Vec<&[f64]> = b.chunks(x.len()).collect();
    let right: Vec<f64> = rows
        .iter()
        .zip(&c)
        .map(|(row, c)| row.iter().zip(x).map(|(b, x)| b * x).sum::<f64>() + c)
        .collect();
    let theta = matrix::solve(&dense, &right);
    let v = matrix::solve(&dense, &theta.iter().zip(&t).map(|(a, b)| a - b).collect::<Vec<_>>());
    let mut gradient: Vec<f64> =
        x.iter().zip(&q).map(|(x, q)| f64::from(parts.rigidity) * (x - q)).collect();
    for (row, v) in rows.iter().zip(&v) {
        gradient.iter_mut().zip(*row).for_each(|(g, b)| *g += b * v);
    }
    gradient
}
