//! What the host draws random numbers for. Every purpose has a stream of its own.
//!
//! The codes are part of every result: another code gives other bits.

use lopa_core::draw::Purpose;

macro_rules! purposes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: Purpose = Purpose::custom($code);)*

        #[cfg(test)]
        const ALL: &[(u32, &str)] = &[$(($code, stringify!($name))),*];
    };
}

purposes! {
    /// Synthetic data: how a node's labels depend on the features.
    SYNTHETIC_TRUTH = 0x00_0000;
    /// Synthetic data: training samples.
    SYNTHETIC_TRAIN = 0x00_0001;
    /// Synthetic data: validation samples.
    SYNTHETIC_VALIDATION = 0x00_0002;
    /// Synthetic data: test samples.
    SYNTHETIC_TEST = 0x00_0003;
    /// The numbers of random quadratics.
    QUADRATICS = 0x00_40ad;
    /// Data: the test samples that are held out.
    HOLD_OUT = 0xda_7a00;
    /// Data: the order in which samples are dealt out.
    POOL = 0xda_7a01;
    /// Data: which of a node's samples are for validation.
    CUT = 0xda_7a02;
    /// Data: the classes of a node.
    CLASSES = 0xda_7a03;
    /// Data: which node gets a class that none has drawn.
    REPAIR = 0xda_7a04;
    /// Data: the proportions of a Dirichlet partition.
    PROPORTIONS = 0xda_7a05;
    /// Data: how far a node is from its label ratio.
    RATIO = 0xda_7a06;
    /// Data: the test samples of a node with its own mixture of classes.
    TEST = 0xda_7a07;
    /// Topology: the links of an Erdős–Rényi graph.
    ERDOS_RENYI = 0x74_6f01;
    /// Topology: the places of a geometric graph's nodes.
    GEOMETRIC = 0x74_6f02;
    /// Topology: the links of a small world that are moved.
    SMALL_WORLD = 0x74_6f03;
    /// Topology: where the search for eigenvalues starts.
    SPECTRUM = 0x74_6f04;
    /// Topology: where a drawing starts, and in which order springs are relaxed.
    LAYOUT = 0x74_6f05;
    /// Topology: the search for a graph with a given rho.
    FIND = 0x74_6f06;
    /// Where x starts.
    START = 0x00_0078;
    /// The length of a Neumann series with random truncation.
    TRUNCATION = 0x00_7240;
    /// The direction in which a Lanczos iteration starts.
    DIRECTION = 0x65_7801;
    /// The step sizes that a search tries.
    TUNE = 0x00_7e57;
    /// How long nodes over simulated links compute.
    COMPUTE = 0x00_11ac;
    /// The faults of a line.
    FAULTS = 0x00_fa17;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_purposes_share_a_code() {
        for (place, (code, name)) in ALL.iter().enumerate() {
            assert!(*code < 1 << 24, "{name}");
            for (other_code, other) in &ALL[..place] {
                assert_ne!(code, other_code, "{name} and {other}");
            }
        }
    }
}
