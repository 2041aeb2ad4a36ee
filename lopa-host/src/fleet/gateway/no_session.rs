//! Stands in for the session where this program is built without Zenoh.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use super::{GatewayError, Site, Unaware};
use crate::fleet::Switchboard;
use crate::meeting::MeetingError;

/// A session, which there is none of.
#[derive(Debug)]
pub struct Joined(Infallible);

impl Joined {
    /// Says how to get one.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Site, _: Option<&Path>) -> Result<Self, GatewayError> {
        Err(MeetingError::Feature.into())
    }

    /// Carries frames between the boards here and those elsewhere.
    ///
    /// # Errors
    /// Never: there is no session.
    pub fn carry(&mut self, _: &Site, _: &Switchboard) -> Result<(), GatewayError> {
        match self.0 {}
    }

    /// Reports that the nodes here have finished.
    pub fn finish(&mut self) {
        match self.0 {}
    }

    /// Takes back that the nodes here have finished.
    pub fn resume(&mut self) {
        match self.0 {}
    }

    /// Reports that the nodes of all gateways have finished, as far as is known here.
    pub fn know(&mut self) {
        match self.0 {}
    }

    /// Whether the nodes of all gateways have finished.
    #[must_use]
    pub fn all_finished(&self, _: &Site) -> bool {
        match self.0 {}
    }

    /// The gateways that may not know that all nodes have finished.
    #[must_use]
    pub fn unaware(&self, _: &Site) -> Unaware {
        match self.0 {}
    }

    /// What has happened to other gateways since the last call.
    pub fn news(&mut self) -> Vec<String> {
        match self.0 {}
    }

    /// Waits for news, for at most so long.
    pub fn rest(&self, _: Duration) {
        match self.0 {}
    }
}
