//! A run in several processes: the first prepares it, and the others follow.

use std::sync::Arc;

use super::{Material, Prepared, RunError, input};
use crate::algorithms::workers::message::{self, Word};
use crate::algorithms::workers::{Gone, Place, serve};
use crate::config::Experiment;

impl Prepared {
    /// Tells the other parts what to learn, and checks that they have the same data.
    pub(super) fn lead(&self, place: &Place) -> Result<(), RunError> {
        let file = toml::to_string(&self.experiment).map_err(input)?;
        for part in 1..place.split.parts() {
            place.mesh.send(part, message::write(Word::Prepare, file.as_bytes()))?;
        }
        let own = self.common();
        for part in 1..place.split.parts() {
            let message = place.receive(part)?;
            let digest = match message::read(&message) {
                Some((Word::Ready { digest }, _)) => digest,
                Some((Word::Refused, why)) => {
                    let why = String::from_utf8_lossy(why);
                    return Err(input(format!("worker {part}: {why}")));
                }
                _ => return Err(Gone { part }.into()),
            };
            if digest != own {
                return Err(input(format!(
                    "worker {part} has another network, other data or another start: it needs the same files"
                )));
            }
        }
        Ok(())
    }

    /// A checksum of all that parts must have in common, but for the file's settings. Made-up data follow from those.
    fn common(&self) -> u32 {
        let mut digest = crc32fast::Hasher::new();
        self.digest_edges(&mut digest);
        self.digest_start(&mut digest);
        if !Material::is_made_up(&self.experiment) {
            self.material.digest(&mut digest);
        }
        digest.finalize()
    }
}

/// Learns with the nodes of one part what the process with the first part says, until the run is over. `own` is the file as
/// it is on this machine, where data may be in other places.
///
/// # Errors
/// Says what is wrong with the data, or which worker is gone.
pub fn follow(own: &Experiment, place: &Place) -> Result<(), RunError> {
    let message = place.mesh.receive(0)?;
    let experiment = match message::read(&message) {
        Some((Word::Prepare, file)) => {
            std::str::from_utf8(file).ok().and_then(|file| toml::from_str(file).ok())
        }
        // The first part gave up before it began.
        Some((Word::End, _)) => return Ok(()),
        _ => None,
    };
    let experiment: Experiment = experiment.ok_or(Gone { part: 0 })?;
    let refused = |error: &RunError| {
        // If this does not arrive, the first part sees that this one has ended.
        let _ = place.mesh.send(0, message::write(Word::Refused, error.to_string().as_bytes()));
    };
    let (prepared, digest) = prepare(own, experiment, place).inspect_err(refused)?;
    let samples = prepared.material.samples().inspect_err(refused)?;
    let mut network = prepared.network(&samples, Some(place)).inspect_err(refused)?;
    place.mesh.send(0, message::write(Word::Ready { digest }, &[]))?;
    Ok(serve(&mut *network, &*place.mesh)?)
}

/// Reads what the file of the first part names, where this machine has it, and keeps what the nodes of this part need. Returns a
/// checksum of what parts must have in common.
fn prepare(
    own: &Experiment,
    mut experiment: Experiment,
    place: &Place,
) -> Result<(Prepared, u32), RunError> {
    let mut own = own.clone();
    let (paths, theirs) = (own.paths_mut(), experiment.paths_mut());
    if paths.len() != theirs.len() {
        return Err(input("this file names other files than that of the first worker"));
    }
    theirs.into_iter().zip(paths).for_each(|(theirs, own)| theirs.clone_from(own));
    let nodes = place.split.nodes(place.part);
    let made_up = Material::is_made_up(&experiment);
    let mut prepared = Prepared::read(experiment, Some(nodes.start as u32..nodes.end as u32))?;
    let digest = prepared.common();
    let material = Arc::make_mut(&mut prepared.material);
    if !made_up {
        material.keep(nodes);
    }
    material.forget_tests();
    material.bring_together();
    Ok((prepared, digest))
}
