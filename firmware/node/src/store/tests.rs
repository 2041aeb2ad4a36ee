//! Power cuts at every step of every write.

use super::*;
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_write,
};
use lopa_core::batch::Sampler;
use lopa_core::node::{Config, GtNode, Scratch};
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;

const UNIT: usize = 256;
const N: usize = 17;
/// Two units of boots, and two slots of four.
const LEN: usize = (2 + 2 * 4) * UNIT;

/// How far a step gets when power is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// Nothing is done.
    Before,
    /// The first bytes are done.
    Half,
    /// The last bytes are done.
    OtherHalf,
    /// Some bits of every byte are done.
    Bits,
    /// All is done, but not reported.
    After,
}

const CUTS: [Cut; 5] = [Cut::Before, Cut::Half, Cut::OtherHalf, Cut::Bits, Cut::After];

/// Flash whose power is cut after some steps; a step writes a page or erases a unit.
#[derive(Debug, Clone)]
struct Flash {
    bytes: Vec<u8>,
    /// Steps left, and how the one after them ends.
    power: Option<(usize, Cut)>,
    steps: usize,
    dead: bool,
}

impl Flash {
    fn blank() -> Self {
        Self { bytes: vec![0xff; LEN], power: None, steps: 0, dead: false }
    }

    /// The same flash after power returns, to be cut again after some steps.
    fn again(&self, power: Option<(usize, Cut)>) -> Self {
        Self { bytes: self.bytes.clone(), power, steps: 0, dead: false }
    }

    /// Changes bytes like a complete step, or like one that is cut.
    fn step(&mut self, at: usize, after: &[u8]) -> Result<(), NorFlashErrorKind> {
        if self.dead {
            return Err(NorFlashErrorKind::Other);
        }
        let cut = match &mut self.power {
            Some((0, cut)) => Some(*cut),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        self.steps += 1;
        let len = after.len();
        for (i, (place, new)) in self.bytes[at..].iter_mut().zip(after).enumerate() {
            *place = match cut {
                None | Some(Cut::After) => *new,
                Some(Cut::Half) if i < len / 2 => *new,
                // Not at the end of a word.
                Some(Cut::OtherHalf) if i > len / 2 => *new,
                Some(Cut::Bits) => (*place & 0x55) | (*new & 0xaa),
                Some(_) => *place,
            };
        }
        self.dead = cut.is_some();
        if self.dead { Err(NorFlashErrorKind::Other) } else { Ok(()) }
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let at = offset as usize;
        bytes.copy_from_slice(&self.bytes[at..at + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = UNIT;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to).map_err(|error| error.kind())?;
        (from as usize..to as usize).step_by(UNIT).try_for_each(|at| self.step(at, &[0xff; UNIT]))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len()).map_err(|error| error.kind())?;
        let at = offset as usize;
        let before = &self.bytes[at..at + bytes.len()];
        assert!(before.iter().all(|&byte| byte == 0xff), "a page was written twice");
        self.step(at, bytes)
    }
}

impl Mapped for Flash {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

type TestNode = GtNode<Quadratic<'static>, N, 2>;

fn node() -> TestNode {
    let problem = Quadratic::new(QuadraticParts {
        diagonal: &[1.0, 1.5],
        spike: &[0.4, -0.3],
        coupling: &[0.3; 2 * N],
        shift: &[0.1, -0.2],
        target: &[1.0, -1.0],
        centre: &[0.2; N],
        rigidity: 0.3,
    });
    let steps = StepSizes::new(0.2, 0.3, 0.3, 0.5, 0.6).unwrap();
    let config = Config { steps, sampler: Sampler::full(0) };
    GtNode::gradient_tracking(problem.unwrap(), config, [0.5; N]).unwrap()
}

/// A node after some rounds on its own.
fn after(rounds: u64) -> TestNode {
    let mut node = node();
    for _ in 0..rounds {
        node.compute(&mut Scratch::<[f32; 2], [f32; 0]>::new()).unwrap();
        node.mix(&[0.0; N], &[0.0; N]).unwrap();
    }
    node
}

fn bits(node: &TestNode) -> Vec<u32> {
    let s = node.state();
    [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect()
}

/// What the network of these tests agrees on.
const NETWORK: u64 = 0x0123_4567_89ab_cdef;

/// The round of the checkpoint in flash, after checking every bit of it; `None` if there is none.
fn restored(flash: &Flash) -> (Store<Flash>, Option<u64>) {
    let (mut store, mut found) = (Store::new(flash.again(None)), node());
    let len = found.checkpoint_len();
    let there = store.restore(NETWORK, len, |bytes| found.restore(bytes).is_ok());
    let round = found.state().round;
    assert_eq!(bits(&found), bits(&after(round)), "round {round}");
    (store, there.then_some(round))
}

/// Writes the checkpoint of a round; power may be cut.
fn save(flash: &Flash, round: u64, power: Option<(usize, Cut)>) -> (bool, Flash) {
    let (mut store, _) = restored(flash);
    store.flash = store.flash.again(power);
    let saved = store.save(&mut after(round).checkpoint().unwrap()).is_ok();
    (saved, store.flash)
}

#[test]
fn after_any_power_cut_the_older_or_the_newer_checkpoint_is_intact() {
    let mut flash = Flash::blank();
    let mut seen = [0; 2];
    for round in 1..6 {
        let older = (round > 1).then(|| round - 1);
        let (saved, whole) = save(&flash, round, None);
        assert!(saved && restored(&whole).1 == Some(round));
        for step in 0..whole.steps {
            for cut in CUTS {
                let (saved, torn) = save(&flash, round, Some((step, cut)));
                assert!(!saved, "saved although power was cut");
                let found = restored(&torn).1;
                assert!([older, Some(round)].contains(&found), "{found:?} at {step}, {cut:?}");
                seen[usize::from(found == older)] += 1;
                // The next checkpoint is newer than all others, even if power is cut again.
                for power in [None, Some((step, cut))] {
                    let (saved, next) = save(&torn, 7, power);
                    let after = restored(&next).1;
                    assert!(after == Some(7) || (!saved && after == found), "{after:?}");
                    let (saved, next) = save(&next, 8, None);
                    assert_eq!((saved, restored(&next).1), (true, Some(8)));
                }
            }
        }
        flash = whole;
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn after_any_power_cut_boot_numbers_still_rise() {
    let mut flash = Flash::blank();
    // Often enough to fill both units twice.
    for boot in 1..=4 * (UNIT / PAGE) as u32 + 1 {
        let mut store = Store::new(flash.again(None));
        assert_eq!(store.boot(), Ok(boot));
        let whole = store.flash;
        for step in 0..whole.steps {
            for cut in CUTS {
                let mut store = Store::new(flash.again(Some((step, cut))));
                assert_eq!(store.boot(), Err(StoreError::Flash));
                // The interrupted boot did not get its number: it may be given again, but no earlier one.
                let mut last = boot - 1;
                let mut torn = store.flash;
                for again in [Some((step, cut)), None, None, None] {
                    let mut store = Store::new(torn.again(again));
                    if let Ok(number) = store.boot() {
                        assert!(number > last && number <= boot + 4, "{number} after {last}");
                        last = number;
                    }
                    torn = store.flash;
                }
                assert!(last >= boot + 2, "{last} at {boot}");
            }
        }
        flash = whole;
    }
}

#[test]
fn boots_and_checkpoints_do_not_overlap() {
    let mut flash = Flash::blank();
    for round in 1..20 {
        let mut store = Store::new(flash.again(None));
        assert_eq!(store.boot(), Ok(round as u32));
        let (saved, next) = save(&store.flash, round, None);
        assert_eq!((saved, restored(&next).1), (true, Some(round)));
        flash = next;
    }
}

#[test]
fn without_room_nothing_is_written() {
    let mut store = Store::new(Flash { bytes: vec![0xff; 6 * UNIT], ..Flash::blank() });
    let node = after(1);
    let words = &mut node.checkpoint().unwrap();
    assert_eq!(store.save(words), Err(StoreError::Room { room: 2 * UNIT }));
    assert_eq!(store.flash.steps, 0);
}

#[test]
fn a_checkpoint_of_another_network_is_not_restored() {
    let (_, flash) = save(&Flash::blank(), 3, None);
    assert_eq!(restored(&flash).1, Some(3));
    let mut store = Store::new(flash.clone());
    let len = node().checkpoint_len();
    assert!(!store.restore(NETWORK + 1, len, |_| true));
    // It stays until it is overwritten.
    assert_eq!(restored(&flash).1, Some(3));
}
