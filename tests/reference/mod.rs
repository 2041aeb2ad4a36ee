//! The paper in f64, written from its equations and sharing no code with `lopa_core`: the reference of the tests.
//!
//! `losses` has f and g, `differences` their derivatives by differences alone, `oracles` the same derivatives by
//! formula, as dense matrices, and `algorithm` has Algorithm 1. `fixtures` makes random problems for both
//! implementations with the same numbers, `faulty` breaks them, and `fleet` runs `lopa_core` on a network.

#![allow(clippy::disallowed_methods, reason = "a reference in f64: its last bits do not matter")]

pub mod algorithm;
pub mod differences;
pub mod faulty;
pub mod fixtures;
pub mod fleet;
pub mod graphs;
pub mod losses;
pub mod matrix;
pub mod optimum;
pub mod oracles;

/// The results of the five oracles that a node evaluates in a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// ∇θ g.
    pub inner_gradient: Vec<f64>,
    /// ∇²θθ g · v.
    pub hessian_vector: Vec<f64>,
    /// ∇²xθ g · v.
    pub cross_vector: Vec<f64>,
    /// ∇θ f.
    pub outer_gradient_inner: Vec<f64>,
    /// ∇x f.
    pub outer_gradient_outer: Vec<f64>,
}

impl Answers {
    /// The five vectors with their names.
    pub fn named(&self) -> [(&'static str, &[f64]); 5] {
        [
            ("inner_gradient", &self.inner_gradient),
            ("hessian_vector", &self.hessian_vector),
            ("cross_vector", &self.cross_vector),
            ("outer_gradient_inner", &self.outer_gradient_inner),
            ("outer_gradient_outer", &self.outer_gradient_outer),
        ]
    }
}

/// The point at which the oracles are evaluated.
#[derive(Debug, Clone)]
pub struct At {
    /// The outer variable.
    pub x: Vec<f64>,
    /// The inner variable.
    pub theta: Vec<f64>,
    /// The vector of the two products.
    pub v: Vec<f64>,
}

/// The samples that each of the five oracles uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Lists {
    /// ξ₁, for ∇θ g.
    pub inner_gradient: Vec<usize>,
    /// ξ₂, for ∇²θθ g · v.
    pub hessian_vector: Vec<usize>,
    /// ξ₃, for ∇²xθ g · v.
    pub cross_vector: Vec<usize>,
    /// ς₁, for ∇θ f.
    pub outer_gradient_inner: Vec<usize>,
    /// ς₂, for ∇x f.
    pub outer_gradient_outer: Vec<usize>,
}

impl Lists {
    /// The same list for all oracles of a level.
    pub fn of(inner: &[usize], outer: &[usize]) -> Self {
        Self {
            inner_gradient: inner.to_vec(),
            hessian_vector: inner.to_vec(),
            cross_vector: inner.to_vec(),
            outer_gradient_inner: outer.to_vec(),
            outer_gradient_outer: outer.to_vec(),
        }
    }
}

/// The exact values of floats.
pub fn exact(a: &[f32]) -> Vec<f64> {
    a.iter().map(|&a| f64::from(a)).collect()
}

/// The largest absolute value; NaN if there is one.
pub fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |top, a| if a.abs() <= top { top } else { a.abs() })
}

/// The largest absolute difference of two vectors of one length; NaN if there is one.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    largest(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}
