//! The simulated sensor: it delivers the training samples of the node's blob, in their order, over and over.
//!
//! If the ring buffer has as many rows as the blob has samples, every reading overwrites itself: the data never change, and
//! the node computes the bits of a node with fixed data. With more samples in the blob, the ring shows a part of them at a
//! time, and the node learns online.

use examples::recent::Reading;
use examples::station::FEATURES;
use lopa_core::samples::{Features, Samples};

/// The sensor.
pub struct Sensor {
    samples: Samples<'static>,
    next: usize,
}

impl Sensor {
    /// A sensor that delivers these samples, which must be floats.
    pub const fn new(samples: Samples<'static>) -> Self {
        Self { samples, next: 0 }
    }

    /// Takes a reading.
    pub fn read(&mut self) -> Reading<FEATURES> {
        let (row, mut values) = (self.next, [0.0; FEATURES]);
        self.next = (row + 1) % self.samples.len();
        let Features::F32(raw) = self.samples.features() else {
            panic!("the sensor has floats only");
        };
        values.iter_mut().zip(&raw[row * FEATURES..]).for_each(|(value, raw)| *value = *raw);
        Reading { values, positive: self.samples.label(row) > 0.0 }
    }
}
