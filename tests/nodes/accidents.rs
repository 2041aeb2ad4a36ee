//! Boards that lose power: the others continue, to the optimum of those that remain.

use std::time::Duration;

use lopa_host::fleet::{Accident, Emulated};
use lopa_host::quadratics::QuadraticRecipe;
use lopa_host::run::Prepared;

use super::{fleet, prepared, run};
use crate::reference::optimum::optimum;

const NODES: usize = 5;
/// Short, because these tests wait for it. On a busy machine more nodes are declared dead, but they return, and the result
/// is the same.
const SILENCE: Duration = Duration::from_secs(10);
const RECIPE: QuadraticRecipe = QuadraticRecipe::new(6, 4, 1.0, 11);

fn ring(rounds: u64) -> Prepared {
    let QuadraticRecipe { outer, inner, seed, .. } = RECIPE;
    prepared(&format!(
        r#"
        network = {{ nodes = {NODES} }}
        problem = {{ kind = "quadratic", outer = {outer}, inner = {inner}, heterogeneity = 1.0 }}
        run = {{ iterations = {rounds}, seed = {seed}, checkpoint_every = 20, metrics = ["hypergradient"] }}
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

/// The largest distance of any x from the joint optimum of these nodes, in f64.
fn distance(fleet: &mut Emulated, of: &[u32]) -> f64 {
    let data: Vec<_> = of.iter().map(|&node| RECIPE.node(node)).collect();
    let problems: Vec<_> = data.iter().map(|data| data.problem().unwrap()).collect();
    let optimum = optimum(&problems);
    let far = |x: &Vec<f32>| {
        x.iter().zip(&optimum).map(|(x, o)| (f64::from(*x) - o).abs()).fold(0.0, f64::max)
    };
    fleet.readings().unwrap().values().map(|reading| far(&reading.variables[0])).fold(0.0, f64::max)
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn when_a_board_dies_the_others_reach_their_own_optimum() {
    // After the accident, twice as many as it takes to get that close.
    const ROUNDS: u64 = 250;
    let prepared = ring(ROUNDS);
    let mut fleet = fleet(&prepared, None, SILENCE, None);
    run(&prepared, &mut fleet, &[Accident::kill("2@50").unwrap()], SILENCE);
    let readings = fleet.readings().unwrap();
    assert_eq!(readings.keys().copied().collect::<Vec<u32>>(), [0, 1, 3, 4]);
    for (node, reading) in &readings {
        let dead = u8::from([1, 3].contains(node));
        assert_eq!((reading.status.dead, reading.status.round), (dead, ROUNDS), "node {node}");
    }
    let (right, wrong) =
        (distance(&mut fleet, &[0, 1, 3, 4]), distance(&mut fleet, &[0, 1, 2, 3, 4]));
    println!("{right:e} from the optimum of the others, {wrong:e} from the optimum of all");
    assert!(right < 1e-4 && wrong > 1e-2, "{right:e} {wrong:e}");
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_board_that_was_declared_dead_rejoins() {
    // More, because the others continue while it boots.
    const ROUNDS: u64 = 400;
    let prepared = ring(ROUNDS);
    let mut fleet = fleet(&prepared, None, SILENCE, None);
    let accidents = [Accident::kill("2@50").unwrap(), Accident::restart("2@100").unwrap()];
    run(&prepared, &mut fleet, &accidents, SILENCE);
    let readings = fleet.readings().unwrap();
    for (node, reading) in &readings {
        let status = reading.status;
        assert_eq!((status.round, status.met, status.dead), (ROUNDS, 2, 0), "node {node}");
    }
    assert_eq!((readings.len(), readings[&2].status.session), (NODES, 2));
    let far = distance(&mut fleet, &[0, 1, 2, 3, 4]);
    println!("{far:e} from the optimum of all");
    assert!(far < 1e-4, "{far:e}");
}
