//! How nodes and lines are doing, for a host that looks on.

use lopa_core::wire::Counters;

/// A network over links, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Every node, in order of their numbers.
    pub nodes: Vec<NodeHealth>,
    /// Every direction of every line.
    pub lines: Vec<LineHealth>,
}

/// A node's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeHealth {
    /// Rounds completed; some nodes are ahead of others.
    pub round: u64,
    /// Neighbours it has met.
    pub met: u8,
    /// Neighbours it considers dead.
    pub dead: u8,
    /// Neighbours it refuses, or that refuse it.
    pub refused: u8,
    /// What happened on its links.
    pub counters: Counters,
}

/// One direction of a line between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineHealth {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Frames that were sent.
    pub frames: u64,
    /// Frames among them that were lost or damaged on the way.
    pub spoiled: u64,
}
