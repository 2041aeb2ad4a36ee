//! Fleets: boards that learn, emulated or real, and the host that looks after them.
//!
//! - [`image`]: the [boards'](crate::chips) programs, built; [`Layout`]: a network on them;
//! - [`emulator`]: a board as a process; [`Emulated`]: a fleet of them, wired as its blobs say;
//! - [`Port`]: where a line is plugged in; [`Switchboard`]: the host in between, as a router or a source of faults;
//!   [`Client`]: the host at a node's control link, the same for emulated and real boards;
//! - [`Course`]: a run, with [`Accident`]s on request; [`mod@reference`]: the result it should have;
//! - [`Account`]: the result it had; [`Overview`]: how boards are doing while they learn;
//! - [`flash`]: real boards flashed; [`Connected`]: real boards that are plugged in; [`Process`]: a node that is a process;
//! - [`gateway`]: one fleet on several machines.
//!
//! A fleet learns the same bits as the simulation: links decide when, never what.

mod accident;
mod account;
mod client;
mod connected;
mod course;
mod emulated;
pub mod emulator;
pub mod flash;
pub mod gateway;
pub mod image;
mod kept;
mod layout;
mod line;
mod offered;
mod overview;
mod port;
mod process;
pub mod reference;
mod switchboard;
mod tcp;
mod watched;

pub use accident::{Accident, AccidentError, Until};
pub use account::{Account, Basis};
pub use client::{Client, Reading, Silence};
pub use connected::{BAUD_WITHOUT_BLOB, ConnectError, Connected};
pub use course::{Course, CourseError, patient};
pub use emulated::{Emulated, FleetError};
pub use kept::KeptError;
pub use layout::Layout;
pub use overview::Overview;
pub use port::{Port, PortError, Stream};
pub use process::{Doing, Process, ProcessError};
pub use switchboard::{Eavesdropper, Entrance, Passed, Recorded, Switchboard, Uplink};
pub use tcp::Address;
