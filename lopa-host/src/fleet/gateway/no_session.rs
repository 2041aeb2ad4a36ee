//! Stands in for the session where this program is built without Zenoh.

use std::convert::Infallible;
use std::path::Path;

use super::{GatewayError, Site};
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
    ///
    /// # Errors
    /// Never: there is no session.
    pub fn finish(&mut self, _: &Site) -> Result<(), GatewayError> {
        match self.0 {}
    }

    /// Takes back that the nodes here have finished.
    ///
    /// # Errors
    /// Never: there is no session.
    pub fn resume(&mut self, _: &Site) -> Result<(), GatewayError> {
        match self.0 {}
    }

    /// Whether the nodes of all gateways have finished.
    #[must_use]
    pub fn all_finished(&self, _: &Site) -> bool {
        match self.0 {}
    }

    /// What has happened to other gateways since the last call.
    pub fn news(&mut self) -> Vec<String> {
        match self.0 {}
    }

    /// Leaves.
    pub fn close(self) {
        match self.0 {}
    }
}
