//! Bar charts of labels: their heights, and their place in runs and studies.

use std::fs;

use crate::common::{lopa, network, said};
use lopa_host::config::Experiment;
use lopa_host::plot::{Bars, png};
use lopa_host::report::{Drawing, Figure, Report, labels};
use lopa_host::run::{Material, Prepared};
use resvg::usvg::roxmltree::{Document, Node};

fn bars(parts: &[&str], counts: &[&[usize]]) -> Bars {
    Bars {
        title: "labels".into(),
        x_title: "node".into(),
        y_title: "samples".into(),
        part_title: "class".into(),
        parts: parts.iter().map(|&part| part.to_owned()).collect(),
        counts: counts.iter().map(|counts| counts.to_vec()).collect(),
    }
}

/// A segment of a bar: its description, colour and extent.
struct Piece {
    says: String,
    colour: String,
    left: f64,
    width: f64,
    top: f64,
    height: f64,
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// The segments of all bars; checks that they are within the picture.
fn pieces(svg: &str) -> Vec<Piece> {
    let document = Document::parse(svg).unwrap();
    let [wide, high] = ["width", "height"].map(|name| number(document.root_element(), name));
    let rects = document.descendants().filter(|node| node.has_tag_name("rect"));
    let mut all = Vec::new();
    for rect in rects.filter(|rect| rect.attribute("class") != Some("paper")) {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(rect, name));
        assert!(x >= 0.0 && y >= 0.0 && x + width <= wide && y + height <= high, "{x} {y}");
        if let Some(says) = rect.children().find(|node| node.has_tag_name("title")) {
            all.push(Piece {
                says: says.text().unwrap().to_owned(),
                colour: rect.parent().unwrap().attribute("fill").unwrap().to_owned(),
                left: x,
                width,
                top: y,
                height,
            });
        }
    }
    all
}

/// The text, without tooltips.
fn words(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| Some(node.children().find(Node::is_text)?.text()?.to_owned())).collect()
}

#[test]
fn bar_segments_are_stacked_and_as_high_as_their_counts() {
    let svg = bars(&["cat", "cow", "dog"], &[&[300, 0, 100], &[50, 0, 150]]).svg();
    assert_eq!(svg, bars(&["cat", "cow", "dog"], &[&[300, 0, 100], &[50, 0, 150]]).svg());
    assert!(png(&svg, 1.0).unwrap().starts_with(b"\x89PNG"));
    let pieces = pieces(&svg);
    let of = |says: &str| pieces.iter().find(|piece| piece.says == says).unwrap();
    // No node has a cow, but the legend still shows its colour.
    assert_eq!(pieces.len(), 4);
    assert!(words(&svg).iter().any(|word| word == "cow"), "{:?}", words(&svg));
    let sample = of("node 0, cat: 300").height / 300.0;
    for (says, count) in
        [("node 0, dog: 100", 100.0), ("node 1, cat: 50", 50.0), ("node 1, dog: 150", 150.0)]
    {
        assert!((of(says).height / sample - count).abs() < 0.1, "{says}");
    }
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.03, "{a} {b}");
    let (cats, dogs) = (of("node 0, cat: 300"), of("node 0, dog: 100"));
    near(dogs.top + dogs.height, cats.top);
    near(dogs.left, cats.left);
    let foot = of("node 1, cat: 50");
    near(foot.top + foot.height, cats.top + cats.height);
    assert!(foot.left > cats.left + cats.width);
    assert!(cats.colour == foot.colour && cats.colour != dogs.colour);
    for word in ["0", "1", "node", "samples", "class", "cat", "dog", "labels", "400"] {
        assert!(words(&svg).iter().any(|own| own == word), "{word} is not in {:?}", words(&svg));
    }
}

#[test]
fn ten_classes_have_ten_colours() {
    let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let svg = bars(&names, &[&[1; 10]]).svg();
    let mut colours: Vec<String> = pieces(&svg).into_iter().map(|piece| piece.colour).collect();
    colours.sort_unstable();
    colours.dedup();
    assert_eq!(colours.len(), 10);
}

#[test]
fn bars_for_one_node_many_nodes_and_no_nodes() {
    assert_eq!(pieces(&bars(&["a"], &[&[7]]).svg()).len(), 1);
    let many: Vec<&[usize]> =
        (0..100).map(|node| if node % 2 == 0 { &[3, 4][..] } else { &[0, 9] }).collect();
    let svg = bars(&["a", "b"], &many).svg();
    let pieces_of_many = pieces(&svg);
    assert_eq!(pieces_of_many.len(), 50 + 100);
    let mut lefts: Vec<f64> = pieces_of_many.iter().map(|piece| piece.left).collect();
    lefts.sort_unstable_by(f64::total_cmp);
    lefts.dedup();
    assert_eq!(lefts.len(), 100);
    assert!(lefts.windows(2).all(|two| two[0] + pieces_of_many[0].width < two[1]));
    // There is no room for the numbers of all hundred nodes.
    let numbers = words(&svg).iter().filter(|word| word.parse::<u32>().is_ok()).count();
    assert!(numbers < 40, "{:?}", words(&svg));
    // An empty chart says so; rows that are too short or too long do no harm.
    for strange in
        [bars(&[], &[]), bars(&["a"], &[&[]]), bars(&["a"], &[&[0], &[0]]), bars(&[], &[&[3]])]
    {
        assert!(pieces(&strange.svg()).is_empty());
    }
    assert_eq!(pieces(&bars(&["a", "b"], &[&[1], &[1, 2, 3]]).svg()).len(), 3);
    assert_eq!(pieces(&bars(&["a"; 300], &[&[usize::MAX; 300]]).svg()).len(), 300);
}

#[test]
fn names_are_escaped() {
    let hostile = "<script>alert('1')</script> ]]> & \"quoted\" \u{0}\u{1b}\n--> é 漢字";
    let name = hostile.repeat(5);
    let all = Bars {
        title: hostile.into(),
        x_title: hostile.into(),
        y_title: hostile.into(),
        part_title: hostile.into(),
        parts: vec![hostile.into(), name],
        counts: vec![vec![1, 2]],
    };
    let svg = all.svg();
    assert!(pieces(&svg).len() == 2 && !svg.contains("<script") && png(&svg, 1.0).is_ok());
    let figures = vec![Figure::new("labels", Vec::new(), Drawing::Bars(all))];
    let page = Report { figures, ..Report::default() }.html();
    assert!(!page.contains("<script") && page.contains("<h3>&lt;script&gt;"));
}

#[test]
fn the_bars_of_a_network_show_its_partition() {
    let prepared = |changes: &[(&str, &str)]| {
        Prepared::new(Experiment::parse(&network(changes)).unwrap()).unwrap()
    };
    let labels =
        |own: &Prepared| labels(own.material().shards(), own.experiment().data.validation());
    let own = prepared(&[]);
    let Drawing::Bars(bars) = labels(&own).unwrap().drawing else { panic!("no bars") };
    assert_eq!(bars.parts, ["-1", "+1"]);
    let Material::Samples(shards, _) = own.material() else { panic!("no samples") };
    for (counts, shard) in bars.counts.iter().zip(shards) {
        let total = shard.train.len() + shard.validation.len();
        assert_eq!((counts.iter().sum::<usize>(), counts), (total, &shard.counts()));
    }
    // Samples used by both levels are counted once.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.csv");
    let rows: String = (0..60).map(|row| format!("{},{row},{}\n", row % 2, row * row)).collect();
    fs::write(&file, rows).unwrap();
    let source = format!("source = \"csv\"\nfile = {file:?}\nvalidation = \"same\"");
    let own = prepared(&[("source = \"synthetic\"", &source)]);
    let Drawing::Bars(bars) = labels(&own).unwrap().drawing else { panic!("no bars") };
    // A sixth is kept for validation.
    assert_eq!(bars.counts.iter().flatten().sum::<usize>(), 50);
    let quadratic = "kind = \"quadratic\"\nouter = 3\ninner = 2";
    assert!(labels(&prepared(&[("kind = \"logistic\"", quadratic)])).is_none());
}

#[test]
fn a_run_shows_its_labels() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.toml"), network(&[])).unwrap();
    let output = lopa(dir.path(), &["run", "a.toml", "--out", "o"]);
    assert!(output.status.success(), "{}", said(&output));
    let svg = fs::read_to_string(dir.path().join("o/figures/labels.svg")).unwrap();
    assert!(pieces(&svg).len() >= 4 && dir.path().join("o/figures/labels.png").is_file());
    let page = fs::read_to_string(dir.path().join("o/report.html")).unwrap();
    assert!(page.contains("<h3>Labels</h3>"));
}
