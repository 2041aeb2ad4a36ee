//! One simulation in several processes, on one machine or on many.
//!
//! - [`Split`]: which part has which nodes; [`Border`]: what it sends to the others;
//! - [`message`]: what parts say to each other; [`Mesh`]: what carries it;
//! - [`Distributed`]: a part of a network; [`serve`]: what all parts do but the first.
//!
//! All parts compute a round at the same time. Then each sends one message to every other part: the vectors of its nodes that
//! have neighbours there. Every node mixes them in the order of their numbers, as in one process, so the bits do not depend on
//! how the network is divided.
//!
//! The first part belongs to the process that the user started. It tells the others when to make a round and when to report
//! their nodes, which it measures, saves and shows. It has room for all nodes; the others have only their own.

pub mod message;

mod distributed;
mod mesh;
mod split;
#[cfg(test)]
mod tests;

#[cfg(feature = "zenoh")]
mod session;
#[cfg(not(feature = "zenoh"))]
#[path = "no_session.rs"]
mod session;

pub use distributed::{Distributed, Place, serve};
pub use mesh::{Gone, Mesh};
pub use session::Joined;
pub use split::{Border, Split};
