//! The exchange over simulated links: the bits of a run in-process, whatever the links do; and a way back to the
//! optimum, whatever happens to nodes.

mod bits;
mod chaos;
mod fleet;
mod forge;
mod membership;
mod neighbours;
mod rebooting;
mod resilience;

#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../reference/matrix.rs"]
mod matrix;
#[path = "../reference/optimum.rs"]
mod optimum;
