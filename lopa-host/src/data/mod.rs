//! Data: read from files, brought to one form, dealt out to nodes.
//!
//! Files become a [`Table`]. Each of these forms may be plain or gzipped; the first bytes tell:
//!
//! - [`mnist`], [`covtype`], [`cifar`]: the public originals, as their owners publish them;
//! - [`csv`], [`libsvm`]: your own files;
//! - [`folders`]: one folder per node, already dealt out.
//!
//! [`synthetic`] data needs no files.
//!
//! [`fetch`](mod@fetch) downloads the public originals.
//!
//! [`DataTable`] does all of that as the table `data` of a file says.
//!
//! A [`Dataset`] is a table to learn from and one to test with. [`Dataset::pick`] keeps some classes, a [`Deal`] hands
//! the rest out to nodes, [`standardise`] brings the features to one scale, and [`together`] puts the samples of all nodes where they
//! are read fastest.
//!
//! ```no_run
//! use lopa_host::data::{Deal, Partition, mnist, standardise, together};
//! let digits = mnist::load("data/mnist")?.pick(&["0", "1"])?;
//! let deal = Deal { samples: Some(12_000), ..Deal::new(10, Partition::Iid, 7) };
//! let mut shards = deal.shards(digits)?;
//! standardise(&mut shards)?;
//! together(&mut shards);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same seed gives the same shards on every platform.

pub mod cifar;
pub mod covtype;
pub mod csv;
pub mod fetch;
pub mod folders;
pub mod libsvm;
pub mod mnist;
pub mod synthetic;

mod dataset;
mod deal;
mod error;
mod fresh;
mod labels;
mod marks;
mod partition;
mod raw;
mod reader;
mod rows;
mod shard;
mod shelf;
mod source;
mod standard;
mod table;
mod text;

pub use dataset::Dataset;
pub use deal::{Deal, Share, TestPart};
pub use error::{DataError, FileError, Place};
pub use fresh::Fresh;
pub use partition::{LabelRatio, Partition};
pub use rows::Rows;
pub use shard::{Shard, together};
pub use shelf::Shelf;
pub use source::{DataTable, Source, Validation};
pub(crate) use standard::scale;
pub use standard::{Standard, standardise};
pub use table::{Class, Owners, Table, Targets, Values};
