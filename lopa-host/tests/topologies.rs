//! Topologies: known spectra, an independent solver, files and pictures.

use lopa_host::topology::{Kind, Layout, Topology, Weights, drawing, edge_list, find};

fn rho(topology: &Topology) -> f64 {
    let spectrum = Weights::metropolis(topology).spectrum();
    assert!(spectrum.error < 1e-8, "{spectrum:?}");
    spectrum.rho()
}

fn cos(part: f64) -> f64 {
    libm::cos(std::f64::consts::PI * part)
}

/// 1 - cos, with all its digits where it is small.
fn versine(part: f64) -> f64 {
    let sine = libm::sin(std::f64::consts::PI * part / 2.0);
    2.0 * sine * sine
}

/// Compares with a known spectrum: `low` and `high` are the ends of that of I - W. The known values use the weights as
/// rounded to f32, so nearly all digits must agree.
#[track_caller]
fn assert_spectrum(topology: &Topology, low: f64, high: f64) {
    let spectrum = Weights::metropolis(topology).spectrum();
    let (gap, nodes) = (low.min(2.0 - high), topology.nodes());
    assert!(
        (spectrum.gap - gap).abs() < 1e-10 * gap + 4e-16,
        "{nodes} nodes: {gap:e}, {spectrum:?}"
    );
    let off = (spectrum.rho() - (1.0 - gap) * (1.0 - gap)).abs();
    assert!(off < 1e-13 && spectrum.error < 1e-8, "{nodes} nodes: {off:e} off, {spectrum:?}");
}

#[test]
fn spectra_match_known_values() {
    let third = f64::from(1.0_f32 / 3.0);
    for m in [3, 4, 5, 10, 11, 100, 1_001] {
        let n = f64::from(m);
        let ring = |k: u32| 2.0 * third * versine(2.0 * f64::from(k) / n);
        assert_spectrum(&Topology::ring(m), ring(1), ring(m / 2));
        let path = |k: u32| 2.0 * third * versine(f64::from(k) / n);
        assert_spectrum(&Topology::path(m).unwrap(), path(1), path(m - 1));
        let equal = f64::from(1.0 / m as f32);
        assert_spectrum(&Topology::star(m).unwrap(), equal, n * equal);
        assert_spectrum(&Topology::complete(m).unwrap(), n * equal, n * equal);
    }
    let fifth = f64::from(0.2_f32);
    for (rows, columns) in [(3, 3), (4, 5), (10, 10), (30, 50), (7, 3)] {
        let side = |m: u32, k: u32| 2.0 * fifth * versine(2.0 * f64::from(k) / f64::from(m));
        let high = side(rows, rows / 2) + side(columns, columns / 2);
        let torus = Topology::torus(rows, columns).unwrap();
        assert_spectrum(&torus, side(rows.max(columns), 1), high);
    }
}

#[test]
fn rho_matches_textbook_values() {
    // In full precision: the difference comes from rounding the weight 1/3 to f32.
    for m in [5, 10, 100, 1_001] {
        let second = 1.0 / 3.0 + 2.0 / 3.0 * cos(2.0 / f64::from(m));
        let off = (rho(&Topology::ring(m)) - second * second).abs();
        assert!(off < 2e-8, "{m}: {off:e}");
    }
}

#[test]
fn spectra_of_ten_thousand_nodes_match_known_values() {
    let (third, fifth) = (f64::from(1.0_f32 / 3.0), f64::from(0.2_f32));
    let long = |part: f64| 2.0 * third * versine(part);
    assert_spectrum(&Topology::ring(10_000), long(2e-4), 4.0 * third);
    assert_spectrum(&Topology::path(10_000).unwrap(), long(1e-4), 4.0 * third);
    assert_spectrum(
        &Topology::torus(100, 120).unwrap(),
        2.0 * fifth * versine(2.0 / 120.0),
        8.0 * fifth,
    );
    assert_spectrum(&Topology::star(10_000).unwrap(), f64::from(1e-4_f32), 1.0);
    for kind in ["erdos-renyi 0.002", "geometric 0.03", "small-world 6 0.1"] {
        let topology = kind.parse::<Kind>().unwrap().build(10_000, 1).unwrap();
        let rho = rho(&topology);
        assert!(rho > 0.1 && rho < 1.0, "{kind}: {rho}");
    }
}

/// All eigenvalues of a symmetric matrix by Jacobi's rotations, ascending.
fn jacobi(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for _ in 0..50 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (upper, lower) = a.split_at_mut(q);
                for (x, y) in upper[p].iter_mut().zip(&mut lower[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn dense_rho(weights: &Weights) -> f64 {
    let n = weights.topology().nodes();
    let mut matrix = vec![vec![-1.0 / n as f64; n]; n];
    for edge in weights.edges() {
        matrix[edge.node as usize][edge.neighbour as usize] += f64::from(edge.weight);
    }
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] -= row.iter().sum::<f64>();
    }
    let values = jacobi(matrix);
    let top = values.iter().fold(0.0, |top: f64, value| value.abs().max(top));
    top * top
}

#[test]
fn a_dense_solver_agrees_on_random_graphs() {
    let mut worst: f64 = 0.0;
    for nodes in [2, 3, 5, 8, 13, 21, 34, 60] {
        for seed in 0..6 {
            let k = if nodes > 5 { 4 } else { 2 };
            let mut graphs = vec![
                Topology::erdos_renyi(nodes, 0.15, seed),
                Topology::erdos_renyi(nodes, 0.6, seed),
                Topology::geometric(nodes, 0.4, seed),
            ];
            if nodes > 2 {
                graphs.push(Topology::small_world(nodes, k, 0.3, seed));
            }
            for topology in graphs.into_iter().flatten() {
                let weights = Weights::metropolis(&topology);
                let spectrum = weights.spectrum();
                let off = (spectrum.rho() - dense_rho(&weights)).abs();
                assert!(off <= spectrum.error.max(1e-12), "{nodes} nodes, seed {seed}: {off:e}");
                worst = worst.max(off);
            }
        }
    }
    assert!(worst < 1e-12, "{worst:e}");
}

#[test]
fn a_negative_eigenvalue_can_decide() {
    // A triangle and a square with small self weights: the last eigenvalue is the largest in size.
    for text in [
        "0.02 0.49 0.49\n0.49 0.02 0.49\n0.49 0.49 0.02",
        "0.02 0.49 0 0.49\n0.49 0.02 0.49 0\n0 0.49 0.02 0.49\n0.49 0 0.49 0.02",
    ] {
        let weights = Weights::parse(text).unwrap();
        let spectrum = weights.spectrum();
        assert!(spectrum.last < 0.0 && spectrum.last.abs() > spectrum.second.abs());
        assert!((spectrum.rho() - dense_rho(&weights)).abs() < 1e-12, "{spectrum:?}");
    }
    let long = 301;
    let mut text = String::new();
    for i in 0..long {
        let near = |j: usize| (i + 1) % long == j || (j + 1) % long == i;
        let row = (0..long).map(|j| {
            if near(j) {
                "0.4999"
            } else if i == j {
                "0.0002"
            } else {
                "0"
            }
        });
        text += &(row.collect::<Vec<_>>().join(",") + "\n");
    }
    let rho = Weights::parse(&text).unwrap().spectrum().rho();
    let last = 0.0002 + 0.9998 * cos(300.0 / 301.0);
    let second = 0.0002 + 0.9998 * cos(2.0 / 301.0);
    let wanted = last.abs().max(second);
    assert!((rho - wanted * wanted).abs() < 5e-7, "{rho}");
}

#[test]
fn same_seed_same_graph_everywhere() {
    // Pinned: a change means other graphs for the same seed. A Python implementation gives the same first two.
    let digest = |kind: &str, nodes| {
        let topology = kind.parse::<Kind>().unwrap().build(nodes, 42).unwrap();
        topology.links().fold(0_u32, |sum, (a, b)| {
            sum.wrapping_mul(31).wrapping_add(a).wrapping_mul(31).wrapping_add(b)
        })
    };
    let kinds = ["erdos-renyi 0.3", "geometric 0.4", "small-world 4 0.2"];
    assert_eq!(kinds.map(|kind| digest(kind, 20)), [4_160_743_396, 3_339_404_009, 1_576_273_172]);
}

#[test]
fn the_papers_networks_are_found() {
    for wanted in [0.42, 0.79, 0.92] {
        let found = find(wanted, 10, 1).unwrap();
        assert!(found.off() < 0.01, "{found:?}");
        let again = rho(&found.topology);
        assert!((again - found.rho).abs() < 1e-12);
        let dense = dense_rho(&Weights::metropolis(&found.topology));
        assert!((dense - found.rho).abs() < 1e-10);
        assert_eq!(find(wanted, 10, 1).unwrap(), found);
    }
}

#[test]
fn other_sizes_are_found_too() {
    for (nodes, wanted, within) in [(20, 0.6, 1e-3), (50, 0.3, 1e-3), (200, 0.9, 1e-3)] {
        let found = find(wanted, nodes, 3).unwrap();
        assert!(found.off() < within, "{found:?}");
    }
}

#[test]
fn nothing_closer_exists_among_all_graphs_of_five_nodes() {
    let pairs: Vec<_> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
    let all: Vec<f64> = (0..1_u32 << pairs.len())
        .filter_map(|set| {
            let taken = pairs.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
            Topology::new(5, taken.map(|(_, &link)| link)).ok()
        })
        .map(|topology| rho(&topology))
        .collect();
    assert_eq!(all.len(), 728, "connected graphs of five labelled nodes");
    for wanted in [0.05, 0.1, 0.3, 0.5, 0.6, 0.7, 0.9] {
        let closest = all.iter().map(|rho| (rho - wanted).abs()).fold(1.0, f64::min);
        let found = find(wanted, 5, 1).unwrap();
        assert!((found.off() - closest).abs() < 1e-9, "{found:?}, but {closest}");
    }
}

#[test]
fn a_found_graph_round_trips_through_a_file() {
    let found = find(0.6, 12, 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my edges.txt");
    std::fs::write(&path, edge_list::format(&found.topology)).unwrap();
    let kind: Kind = format!("file {}", path.display()).parse().unwrap();
    assert_eq!(kind.build(None, 0).unwrap(), found.topology);
    assert_eq!(kind.build(12, 0).unwrap(), found.topology);
    let error = kind.build(5, 0).unwrap_err().to_string();
    assert!(error.contains("my edges.txt: line ") && error.contains("with 5 nodes"), "{error}");
}

/// A minimal XML reader that checks that elements nest and attributes are quoted.
fn assert_well_formed(text: &str) {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'));
        let end = start + rest[start..].find('>').expect("an element ends");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

#[test]
fn pictures_are_well_formed_complete_and_repeatable() {
    for (kind, nodes) in [
        ("path", Some(1)),
        ("path", Some(2)),
        ("ring", Some(10)),
        ("star", Some(9)),
        ("grid 3x5", None),
        ("torus 4x4", None),
        ("complete", Some(8)),
        ("erdos-renyi 0.3", Some(15)),
        ("geometric 0.35", Some(30)),
        ("small-world 4 0.2", Some(50)),
        ("geometric 0.07", Some(2_000)),
    ] {
        let kind: Kind = kind.parse().unwrap();
        let topology = kind.build(nodes, 3).unwrap();
        let weights = Weights::metropolis(&topology);
        let picture = drawing::svg(&weights, kind.layout(), &kind.to_string());
        assert_well_formed(&picture);
        assert_eq!(picture.matches("<circle").count(), topology.nodes());
        let legend = picture.matches("h30\"").count();
        assert_eq!(picture.matches("<path").count(), topology.links().count() + legend);
        assert_eq!(picture, drawing::svg(&weights, kind.layout(), &kind.to_string()));
        let numbered = picture.contains(&format!(">{}</text>", topology.nodes() - 1));
        assert_eq!(numbered, topology.nodes() <= 50, "{kind}");
    }
    let weights = Weights::metropolis(&Topology::ring(5));
    let other = drawing::svg(&weights, Layout::Springs { seed: 1 }, "");
    assert_ne!(other, drawing::svg(&weights, Layout::Springs { seed: 2 }, ""));
}
