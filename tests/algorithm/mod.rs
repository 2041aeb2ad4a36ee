//! The algorithm against independent results: derivatives, trajectories, exact solutions, and the theory.

mod derivatives;
mod exact;
mod files;
mod heterogeneity;
mod small_steps;
mod trajectories;
