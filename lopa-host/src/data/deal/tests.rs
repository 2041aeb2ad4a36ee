//! What every way of dealing has in common, what each is for, and what is refused.

use super::*;
use crate::data::{Class, LabelRatio, Targets, Values};

/// Row r holds r, and classes take turns.
fn table(rows: u16, classes: u8) -> Table {
    let values: Vec<f32> = (0..rows).map(f32::from).collect();
    let labels = (0..rows).map(|row| (row % u16::from(classes)) as u8).collect();
    let classes = (0..classes).map(|c| Class::new(i16::from(c), &c.to_string())).collect();
    Table::new(Values::Floats(values.into()), 1, Targets::Class(labels), classes).unwrap()
}

const RATIO: Partition = Partition::LabelRatio(LabelRatio { first: 0.8, rest: 0.35, spread: 0.15 });
const WAYS: [Partition; 5] = [
    Partition::Iid,
    Partition::LabelSubsets { classes: 1 },
    Partition::Dirichlet { alpha: 0.5 },
    Partition::Dirichlet { alpha: 50.0 },
    RATIO,
];

fn counts(deal: &Deal, table: Table) -> Vec<Vec<usize>> {
    let shards = deal.shards(Dataset { train: table, test: None }).unwrap();
    shards.iter().map(Shard::counts).collect()
}

#[test]
fn shares_are_disjoint_complete_and_repeatable() {
    for (partition, nodes, samples, seed) in WAYS
        .into_iter()
        .flat_map(|way| [3, 10].map(|nodes| (way, nodes)))
        .flat_map(|(way, nodes)| [None, Some(457)].map(|samples| (way, nodes, samples)))
        .flat_map(|(way, nodes, samples)| [0, 1, 99].map(|seed| (way, nodes, samples, seed)))
    {
        let table = table(1003, 2);
        let deal = Deal { samples, ..Deal::new(nodes, partition, seed) };
        let shares = deal.shares(&table).unwrap();
        assert_eq!(shares, deal.shares(&table).unwrap());
        assert_ne!(shares, Deal { seed: seed + 1, ..deal }.shares(&table).unwrap());
        assert_eq!(shares.len(), nodes as usize);
        let mut rows: Vec<u32> = shares
            .iter()
            .flat_map(|share| share.train.iter().chain(&share.validation))
            .copied()
            .collect();
        rows.sort_unstable();
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "a row twice: {deal:?}");
        assert!(*rows.last().unwrap() < 1003);
        match (partition, samples) {
            // As many as the ratios allow: at least one class is used up to a row a node or two.
            (Partition::LabelRatio(_), None) => {
                let positive = rows.iter().filter(|&row| row % 2 == 1).count();
                let left = (501 - positive).min(502 - (rows.len() - positive));
                assert!(left <= 2 * nodes as usize, "{left}");
            }
            (_, samples) => assert_eq!(rows.len(), samples.unwrap_or(1003)),
        }
        for share in &shares {
            assert!(share.train.len().abs_diff(share.validation.len()) <= 1);
        }
    }
}

#[test]
fn even_shares_are_even_and_mixed() {
    let deal = Deal { validation: Validation::Part(0.2), ..Deal::new(7, Partition::Iid, 3) };
    let shares = deal.shares(&table(1000, 4)).unwrap();
    for share in &shares {
        let all = share.train.len() + share.validation.len();
        assert!((142..=143).contains(&all));
        assert!((28..=29).contains(&share.validation.len()));
    }
    // About 36 of each class, with a deviation of 5.
    let counts = counts(&deal, table(1000, 4));
    assert!(counts.iter().flatten().all(|count| (15..57).contains(count)), "{counts:?}");
}

#[test]
fn subsets_leave_no_class_out() {
    for seed in 0..200 {
        for (nodes, classes) in [(10, 1), (4, 3), (5, 2), (3, 10)] {
            let deal = Deal::new(nodes, Partition::LabelSubsets { classes }, seed);
            let counts = counts(&deal, table(1000, 10));
            let held = |node: &Vec<usize>| node.iter().filter(|&&count| count > 0).count();
            assert!(counts.iter().all(|node| held(node) == classes), "{counts:?}");
            for class in 0..10 {
                let of: Vec<usize> =
                    counts.iter().map(|node| node[class]).filter(|&count| count > 0).collect();
                assert_eq!(of.iter().sum::<usize>(), 100);
                assert!(of.iter().max().unwrap() - of.iter().min().unwrap() <= 1);
            }
        }
    }
}

#[test]
fn equal_subsets_are_equal_and_leave_no_class_out() {
    for seed in 0..100 {
        for (nodes, classes, samples) in
            [(10, 1, None), (10, 2, None), (4, 3, Some(403)), (5, 2, Some(500)), (7, 4, Some(280))]
        {
            let subsets = Partition::EqualSubsets { classes };
            let deal = Deal { samples, ..Deal::new(nodes, subsets, seed) };
            let counts = counts(&deal, table(1000, 10));
            let (mut all, mut holders) = (Vec::new(), [0; 10]);
            for node in &counts {
                let held: Vec<usize> = node.iter().copied().filter(|&count| count > 0).collect();
                assert_eq!(held.len(), classes, "{counts:?}");
                assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{held:?}");
                all.push(held.iter().sum::<usize>());
                (0..10).filter(|&class| node[class] > 0).for_each(|class| holders[class] += 1);
            }
            assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1, "{all:?}");
            assert_eq!(all.iter().sum::<usize>(), samples.unwrap_or(1000));
            let most = *holders.iter().max().unwrap();
            assert!(holders.iter().all(|&held| held > 0 && held + 1 >= most), "{holders:?}");
        }
    }
    // Classes of different sizes: the smallest one limits the rest, and asking for more names it.
    let few =
        table(1000, 10).gather(&(0..1000).filter(|r| r % 10 != 3 || *r < 200).collect::<Vec<_>>());
    let subsets = Partition::EqualSubsets { classes: 2 };
    let deal = Deal::new(10, subsets, 1);
    let shares = deal.shares(&few).unwrap();
    assert!(shares.iter().all(|share| share.train.len() + share.validation.len() == 20));
    assert_eq!(shares, deal.shares(&few).unwrap());
    assert_ne!(shares, Deal { seed: 2, ..deal }.shares(&few).unwrap());
    let refused = |deal: Deal| deal.shares(&few).unwrap_err().to_string();
    let text = refused(Deal { samples: Some(500), ..deal });
    assert!(text.contains("needs 25 samples of class \"3\""), "{text}");
    let text = refused(Deal::new(4, subsets, 1));
    assert!(text.contains("4 nodes cannot have 2 of 10 classes each"), "{text}");
    let text = refused(Deal {
        samples: Some(20),
        ..Deal::new(5, Partition::EqualSubsets { classes: 8 }, 1)
    });
    assert!(text.starts_with("node 0 gets no samples of class"), "{text}");
}

#[test]
fn a_small_alpha_makes_nodes_differ() {
    let spread = |alpha| {
        let deal = Deal::new(8, Partition::Dirichlet { alpha }, 5);
        let counts = counts(&deal, table(8000, 10));
        let off = |count: &usize| count.abs_diff(100);
        counts.iter().flatten().map(off).sum::<usize>() / 80
    };
    assert!(spread(1000.0) < 10 && spread(0.3) > 80, "{} {}", spread(1000.0), spread(0.3));
}

#[test]
fn ratios_are_the_papers() {
    let (mut low, mut high) = (1.0_f64, 0.0_f64);
    for seed in 0..50 {
        let deal = Deal { samples: Some(2000), ..Deal::new(10, RATIO, seed) };
        for (node, counts) in counts(&deal, table(6000, 2)).iter().enumerate() {
            assert_eq!(counts.iter().sum::<usize>(), 200);
            let off = counts[1] as f64 / 200.0 - if node < 5 { 0.8 } else { 0.35 };
            (low, high) = (low.min(off), high.max(off));
        }
    }
    // The whole of -0.15 to 0.15, to within a sample.
    assert!((-0.153..-0.14).contains(&low) && (0.14..0.153).contains(&high), "{low} {high}");
}

#[test]
fn the_test_part_is_kept_apart_and_in_common() {
    let data = Dataset::new(table(100, 2), Some(table(7, 2))).unwrap();
    let test = data.test.clone();
    let shards = Deal::new(4, Partition::Iid, 1).shards(data).unwrap();
    assert!(shards.iter().all(|shard| shard.test.as_deref() == test.as_ref()));
}

#[test]
fn a_matched_test_has_the_nodes_mixture() {
    let test = table(600, 3);
    let data = Dataset::new(table(900, 3), Some(test.clone())).unwrap();
    let subsets = Partition::LabelSubsets { classes: 2 };
    let deal = Deal { test: TestPart::Matched, ..Deal::new(3, subsets, 1) };
    for shard in deal.shards(data.clone()).unwrap() {
        let (own, judge) = (shard.counts(), shard.test.as_ref().unwrap().counts());
        let most = *own.iter().max().unwrap();
        // Two hundred of the class it has most of, the other in proportion, the third not at all.
        let expected: Vec<usize> = own.iter().map(|count| count * 200 / most).collect();
        assert_eq!(judge, expected, "{own:?}");
    }
    let two = test.pick(&["0", "1"]).unwrap();
    let error = deal.shards(Dataset::new(data.train, Some(two)).unwrap()).unwrap_err();
    assert!(error.to_string().contains("has samples of class \"2\", but the test part has none"));
}

#[test]
fn what_cannot_be_dealt_out_is_named() {
    let refuse =
        |deal: Deal, rows, classes| deal.shares(&table(rows, classes)).unwrap_err().to_string();
    let iid = Deal::new(4, Partition::Iid, 1);
    let subsets = |classes| Deal::new(4, Partition::LabelSubsets { classes }, 1);
    let ratio = |first, rest, spread| {
        Deal::new(4, Partition::LabelRatio(LabelRatio { first, rest, spread }), 1)
    };
    for (error, expected) in [
        (refuse(Deal { nodes: 0, ..iid }, 9, 2), "no node"),
        (refuse(iid, 7, 2), "node 3 gets 1 samples but needs 2"),
        (refuse(Deal { samples: Some(10), ..iid }, 9, 2), "10 samples are requested"),
        (
            refuse(Deal { validation: Validation::Part(1.0), ..iid }, 9, 2),
            "validation = 1 is out of range",
        ),
        (refuse(Deal { validation: Validation::Part(f64::NAN), ..iid }, 9, 2), "validation = NaN"),
        (refuse(subsets(0), 90, 9), "4 nodes cannot have 0 of 9 classes each"),
        (refuse(subsets(10), 90, 9), "4 nodes cannot have 10 of 9"),
        (refuse(subsets(2), 90, 9), "4 nodes cannot have 2 of 9"),
        (refuse(subsets(9), 18, 9), "node 0 gets no samples of class \"5\""),
        (
            refuse(Deal { partition: RATIO, ..iid }, 90, 3),
            "there are 3 classes, but two are needed",
        ),
        (refuse(ratio(0.9, 0.3, 0.15), 90, 2), "SPREAD of label-ratio = 0.15 is out of range"),
        (refuse(ratio(0.8, 0.1, 0.15), 90, 2), "SPREAD of label-ratio = 0.15 is out of range"),
        (refuse(ratio(f64::NAN, 0.1, 0.1), 90, 2), "FIRST of label-ratio = NaN is out of range"),
        (
            refuse(Deal { samples: Some(90), ..ratio(0.8, 0.8, 0.0) }, 90, 2),
            "node 2 needs 18 samples of class \"1\", but only 9 are left",
        ),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let deal = Deal { partition: Partition::Dirichlet { alpha }, ..iid };
        assert!(refuse(deal, 90, 2).contains("ALPHA of dirichlet = "));
    }
    // Two classes, each all at one node: two of four nodes stay empty.
    let deal = Deal { partition: Partition::Dirichlet { alpha: 1e-5 }, ..iid };
    assert!(refuse(deal, 90, 2).contains("samples in 100 draws with alpha = 0.00001"));
    let real = Table::new(
        Values::Floats(vec![0.0; 9].into()),
        1,
        Targets::Real(vec![0.0; 9]),
        Arc::new([]),
    )
    .unwrap();
    assert!(iid.shares(&real).is_ok());
    let error = Deal { partition: RATIO, ..iid }.shares(&real).unwrap_err().to_string();
    assert!(error.starts_with("labels are real targets"), "{error}");
}

#[test]
fn a_deal_is_pinned() {
    let pinned = |partition| {
        let deal = Deal::new(2, partition, 42);
        deal.shares(&table(12, 2)).unwrap().remove(0)
    };
    let share = |train: &[u32], validation: &[u32]| Share {
        train: train.to_vec(),
        validation: validation.to_vec(),
    };
    // The first as a Python rendering has it, too.
    assert_eq!(pinned(Partition::Iid), share(&[10, 1, 2], &[9, 4, 11]));
    let dirichlet = share(&[4, 2, 10, 0], &[9, 8, 6, 1, 11]);
    assert_eq!(pinned(Partition::Dirichlet { alpha: 1.0 }), dirichlet);
    assert_eq!(pinned(RATIO), share(&[10, 9], &[2, 1, 11]));
}
