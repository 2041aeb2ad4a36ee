//! The algorithm against what it should be: derivatives, trajectories, exact solutions, and what theory promises.

mod derivatives;
mod exact;
mod files;
mod heterogeneity;
mod trajectories;
