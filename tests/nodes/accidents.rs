//! Boards that lose power: the others continue, to the optimum of those that remain.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lopa_host::fleet::{Accident, Course, CourseError, Reading};
use lopa_host::quadratics::QuadraticRecipe;
use lopa_host::run::Prepared;

use super::{fleet, prepared};
use crate::reference::optimum::optimum;
use crate::reference::{distance, exact};

const NODES: u32 = 5;
/// Short, because these tests wait for it. On a busy machine other boards may be declared dead, too. They return.
const SILENCE: Duration = Duration::from_secs(10);
/// Many times more than these tests need: they end when all boards are where they should be, however slow the machine is.
const ROUNDS: u64 = 20_000;
/// Boards are read when one has completed so many rounds: all accidents are over, unless this machine is very busy.
const LATER: u64 = 150;
const RECIPE: QuadraticRecipe = QuadraticRecipe::new(6, 4, 1.0, 11);

type Readings = BTreeMap<u32, Reading>;

fn ring() -> Prepared {
    let QuadraticRecipe { outer, inner, seed, .. } = RECIPE;
    prepared(&format!(
        r#"
        network = {{ nodes = {NODES} }}
        problem = {{ kind = "quadratic", outer = {outer}, inner = {inner}, heterogeneity = 1.0 }}
        run = {{ iterations = {ROUNDS}, seed = {seed}, checkpoint_every = 20, metrics = ["hypergradient"] }}
        [algorithm]
        name = "lopa-gt"
        alpha = 0.2
        beta = 0.3
        lambda = 0.3
        gamma = 0.5
        tau = 0.7
        "#
    ))
}

/// Runs the ring until all boards that are on are as wanted, and returns what was read then.
fn run_until(accidents: &[Accident], wanted: impl Fn(&Readings) -> bool) -> Readings {
    let prepared = ring();
    let mut fleet = fleet(&prepared, None, SILENCE, None);
    let links: Vec<(u32, u32)> = prepared.weights().topology().links().collect();
    let mut course = Course::new(accidents, NODES, &links, ROUNDS, SILENCE).unwrap();
    let (mut readings, reached) = (Readings::new(), AtomicBool::new(false));
    let ended = course.run(&mut fleet, &reached, |fleet, statuses| {
        // Reading boards costs them time: not while an accident is still due in a certain round.
        if statuses.iter().flatten().any(|status| status.round > LATER)
            && let Ok(found) = fleet.readings()
        {
            reached.store(wanted(&found), Ordering::Relaxed);
            readings = found;
        }
    });
    assert!(
        matches!(ended, Err(CourseError::Stopped { .. })),
        "{ended:?}, {readings:?}\n{}",
        (0..NODES).map(|node| fleet.log(node)).collect::<String>()
    );
    for (node, reading) in &readings {
        println!("node {node}: {:?}", reading.status);
    }
    readings
}

/// Whether every x is near the joint optimum of these nodes, computed in f64.
fn are_near(readings: &Readings, of: &[u32], limit: f64) -> bool {
    let data: Vec<_> = of.iter().map(|&node| RECIPE.node(node)).collect();
    let problems: Vec<_> = data.iter().map(|data| data.problem().unwrap()).collect();
    let optimum = optimum(&problems);
    readings.values().all(|reading| distance(&exact(&reading.variables[0]), &optimum) < limit)
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn when_a_board_dies_the_others_reach_their_own_optimum() {
    const OTHERS: [u32; 4] = [0, 1, 3, 4];
    let readings = run_until(&[Accident::kill("2@50").unwrap()], |readings| {
        let missed = |node| u8::from([1, 3].contains(&node));
        readings.keys().eq(&OTHERS)
            && readings.iter().all(|(node, reading)| reading.status.dead == missed(*node))
            && are_near(readings, &OTHERS, 1e-4)
    });
    assert!(!are_near(&readings, &[0, 1, 2, 3, 4], 1e-2), "the optimum of all is another");
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_board_that_was_declared_dead_rejoins() {
    let accidents = [Accident::kill("2@50").unwrap(), Accident::restart("2@100").unwrap()];
    run_until(&accidents, |readings| {
        readings.get(&2).is_some_and(|reading| reading.status.session == 2)
            && readings.len() == NODES as usize
            && readings.values().all(|Reading { status, .. }| (status.met, status.dead) == (2, 0))
            && are_near(readings, &[0, 1, 2, 3, 4], 1e-4)
    });
}
