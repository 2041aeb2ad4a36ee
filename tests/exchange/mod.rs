//! The exchange over simulated links: the bits of an in-process run, whatever the links do, and a return to the optimum,
//! whatever happens to nodes.

mod bits;
mod chaos;
mod fleet;
mod forge;
mod fuzz;
mod fuzzing;
mod membership;
mod neighbours;
mod node;
mod rebooting;
mod resilience;
mod wire;
