//! Charts and reports: valid whatever the values and names are, and the same bytes every time.

use lopa_host::plot::{Chart, HeatMap, Level, Levels, Line, Palette, Panel, PngError, png};
use lopa_host::record::{Column, Record, Scale};
use lopa_host::report::{Drawing, Figure, Provenance, Report, Table, averaged, charts, summary};
use lopa_host::topology::{Kind, Weights, drawing};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::{Document, ParsingOptions};

const HOSTILE: &str =
    "<script>alert('1')</script> ]]> & \"quoted\" \u{0}\u{1b}\n--> é ∇ 漢字 \u{202e}";

fn column(name: &str) -> Column {
    let powers = name.ends_with("loss") || name == "consensus";
    let scale = if powers { Scale::Logarithmic } else { Scale::Linear };
    Column { name: name.into(), title: name.replace('_', " "), scale }
}

fn read(text: &str) -> Record {
    Record::parse(text, column).unwrap()
}

/// A run as `lopa run` records it; `seed` changes the values a little.
fn run(seed: u32) -> Record {
    let mut text = "iteration,outer_loss,inner_loss,consensus,train_accuracy,validation_accuracy,test_accuracy,empty\n".to_owned();
    for k in 0..=50_u32 {
        let (left, wave) = (1.0 / f64::from(k + 1), f64::from((k * 7 + seed * 3) % 5) * 1e-3);
        let (loss, right) = (left + wave + 1e-3, 1.0 - 0.5 * left - wave);
        let apart = if k == 0 { 0.0 } else { 1e-4 * left };
        text += &format!("{},{loss},{},{apart},{right},{},,\n", 10 * k, loss / 2.0, right - 0.02);
    }
    read(&text)
}

fn chart(points: &[[f64; 2]], y_scale: Scale) -> Chart {
    let mut chart = Chart { y_scale, ..Chart::new("iteration", "outer loss") };
    chart.add(Line::new("a run", points.to_vec()));
    chart
}

/// All text elements of a picture.
fn words(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let whole = |node: resvg::usvg::roxmltree::Node<'_, '_>| {
        node.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect()
    };
    texts.map(whole).collect()
}

/// Checks that every path contains only numbers within the picture.
fn on_paper(svg: &str) {
    let document = Document::parse(svg).unwrap();
    let root = document.root_element();
    let size = |name: &str| -> f64 { root.attribute(name).unwrap().parse().unwrap() };
    let most = size("width").max(size("height"));
    for path in document.descendants().filter_map(|node| node.attribute("d")) {
        for word in path.split(|c: char| c == ' ' || c.is_ascii_alphabetic()) {
            let word = word.trim_start_matches('-');
            if !word.is_empty() {
                let number: f64 = word.parse().unwrap_or_else(|_| panic!("{word:?} in {path}"));
                assert!(number <= most + 10.0, "{number} in {path}");
            }
        }
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn any_values_give_a_chart() {
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    let long: Vec<[f64; 2]> =
        (0..20_000_u32).map(|k| [f64::from(k), 1.0 / f64::from(k + 1)]).collect();
    let cases: [&[[f64; 2]]; 12] = [
        &[],
        &[[0.0, 1.0]],
        &[[5.0, 0.0]],
        &[[0.0, 3.0], [1.0, 3.0]],
        &[[0.0, 0.0], [1.0, 0.0]],
        &[[0.0, -1.0], [1.0, 10.0]],
        &[[0.0, nan], [1.0, infinite], [nan, 1.0]],
        &[[0.0, 1e-300], [1.0, 1e300]],
        &[[0.0, f64::MIN], [1.0, f64::MAX]],
        &[[0.0, 1e-320], [1e-320, 2e-320]],
        &[[1.0, 1.0], [1.0, 1.0 + 1e-15]],
        &long,
    ];
    for points in cases {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let mut chart = chart(points, scale);
            chart.x_scale = scale;
            chart.lines[0].band = Some(points.iter().map(|[_, y]| [y - 1.0, y * 2.0]).collect());
            let svg = chart.svg();
            on_paper(&svg);
            assert!(svg.len() < 100_000, "{} bytes", svg.len());
            assert_eq!(svg, chart.svg());
            assert_eq!(
                words(&svg).iter().any(|word| word == "no data"),
                points.iter().all(|p| p.iter().any(|a| !a.is_finite()))
            );
        }
    }
}

#[test]
fn a_png_has_the_requested_size_and_is_not_empty() {
    let kind = Kind::Ring;
    let weights = Weights::metropolis(&kind.build(6, 0).unwrap());
    let network = drawing::svg(&weights, kind.layout(), "A ring");
    let curve = charts(&run(0), "iteration")[0].drawing.svg();
    for svg in [network, curve] {
        let document = Document::parse(&svg).unwrap();
        let size = |name: &str| -> f64 {
            document.root_element().attribute(name).unwrap().parse().unwrap()
        };
        let bytes = png(&svg, 1.5).unwrap();
        assert_eq!(bytes, png(&svg, 1.5).unwrap());
        let pixels = Pixmap::decode_png(&bytes).unwrap();
        assert_eq!(f64::from(pixels.width()), (1.5 * size("width")).ceil());
        assert_eq!(f64::from(pixels.height()), (1.5 * size("height")).ceil());
        let dark = pixels.pixels().iter().filter(|p| p.red() < 128).count();
        assert!((500..pixels.pixels().len() / 4).contains(&dark), "{dark} dark pixels");
    }
}

#[test]
fn text_is_drawn_without_system_fonts() {
    let ink = |word: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90\" height=\"20\">\
             <text y=\"15\" font-family=\"No Such Font, sans-serif\">{word}</text></svg>"
        );
        let pixels = Pixmap::decode_png(&png(&svg, 1.0).unwrap()).unwrap();
        pixels.pixels().iter().filter(|p| p.red() < 200).count()
    };
    for word in ["loss", "ρ", "ёж", "∇", "‖", "10⁻³"] {
        assert!(ink(word) > 10, "{word}");
    }
    assert_eq!(ink(""), 0);
}

#[test]
fn png_refuses_bad_scales_and_invalid_svg() {
    let svg = chart(&[[0.0, 1.0]], Scale::Linear).svg();
    for scale in [0.0, -1.0, 1e9, f32::NAN, f32::INFINITY] {
        assert!(matches!(png(&svg, scale), Err(PngError::Size { .. })), "{scale}");
    }
    let error = png("<svg", 1.0).unwrap_err();
    assert!(error.to_string().starts_with("not a valid SVG: "), "{error}");
}

#[test]
fn an_axis_is_logarithmic_only_where_that_hides_nothing() {
    let labels = |points: &[[f64; 2]]| words(&chart(points, Scale::Logarithmic).svg()).join(" ");
    assert!(labels(&[[0.0, 1e-3], [1.0, 1.0]]).contains("10\u{2212}3 10\u{2212}2"));
    // A negative value.
    assert!(!labels(&[[0.0, -1e-3], [1.0, 1.0]]).contains("10\u{2212}2"));
    // A zero is marked at the bottom.
    let zero = chart(&[[0.0, 0.0], [1.0, 1e-3], [2.0, 1.0]], Scale::Logarithmic);
    assert!(zero.has_marks() && zero.svg().contains("below the axis"));
    assert!(words(&zero.svg()).join(" ").contains("10\u{2212}3 10\u{2212}2"));
    // So is a single point that would take up most of the axis, but not a line that falls that far.
    let start: Vec<[f64; 2]> =
        (0..20_u32).map(|k| [f64::from(k), if k == 0 { 1e-30 } else { 1e-6 }]).collect();
    assert!(chart(&start, Scale::Logarithmic).has_marks());
    let mut power = 1.0;
    let falling: Vec<[f64; 2]> = (0..20_u32)
        .map(|k| {
            power *= 0.01;
            [f64::from(k), power]
        })
        .collect();
    assert!(!chart(&falling, Scale::Logarithmic).has_marks());
    assert!(!chart(&start, Scale::Linear).has_marks());
}

#[test]
fn hostile_names_are_escaped() {
    let mut chart = Chart::new(HOSTILE, HOSTILE);
    chart.title = HOSTILE.into();
    for _ in 0..3 {
        chart.add(Line::new(HOSTILE.repeat(20), vec![[0.0, 1.0], [1.0, 2.0]]));
    }
    let svg = chart.svg();
    on_paper(&svg);
    assert!(!svg.contains("<script") && png(&svg, 1.0).is_ok());
    assert!(words(&svg).iter().any(|word| word.contains("<script>alert")));

    let hostile = Column { name: HOSTILE.into(), title: HOSTILE.into(), scale: Scale::Linear };
    let mut record = Record::new(vec![column("iteration"), hostile]);
    record.push(vec![Some(0.0), Some(1.0)]);
    let figures = charts(&record, "iteration");
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    assert!(figures.len() == 1 && figures[0].stem.chars().all(fine), "{}", figures[0].stem);
    let word = || HOSTILE.to_owned();
    let page = Report {
        title: word(),
        subtitle: word(),
        tiles: vec![(word(), word())],
        network: None,
        figures: figures.into_iter().map(|figure| figure.explained(HOSTILE)).collect(),
        first: vec![Table::new(HOSTILE, [word()], [[word()]]).explained(word())],
        learned: pictures(HOSTILE),
        tables: vec![
            Table { prose: true, ..Table::new(HOSTILE, [word()], [[word()]]) },
            summary(&record),
        ],
        configuration: format!("name = \"{HOSTILE}\"\n</code></pre><script>"),
        folded: vec![(word(), word())],
        files: vec![word()],
        provenance: Some(Provenance { command: word(), data: vec![word()], ..Provenance::now() }),
        notes: vec![word()],
    }
    .html();
    assert!(!page.contains("<script") && !page.contains("]]>"));
    whole(&page);
}

/// One picture of each kind that a chart is not.
fn pictures(name: &str) -> Vec<Figure> {
    let level = |value, range| Level { name: name.into(), value, range, remark: name.into() };
    let levels = vec![level(1.0, [0.5, 2.0]), level(f64::NAN, [0.0; 2]), level(-3.0, [-3.0; 2])];
    let levels = Levels { title: name.into(), x_title: name.into(), levels };
    let panel = |values: Vec<f64>, width| Panel { name: name.into(), values, width };
    let map = HeatMap {
        title: name.into(),
        value_title: name.into(),
        rows: name.into(),
        columns: vec![name.into(); 2],
        panels: vec![panel(vec![0.0, f64::NAN, 2.0], 2), panel(Vec::new(), 0)],
        palette: Palette::Signed,
    };
    let figure = |stem: &str, drawing| Figure::new(stem, Vec::new(), drawing);
    vec![figure("levels", Drawing::Levels(levels)), figure("map", Drawing::HeatMap(map))]
}

#[test]
fn pictures_of_what_was_learned_are_on_paper_and_name_their_values() {
    for figure in pictures(HOSTILE).into_iter().chain(pictures("")) {
        let svg = figure.drawing.svg();
        on_paper(&svg);
        assert!(!svg.contains("<script") && png(&svg, 1.0).is_ok());
    }
    let page = |at: usize| pictures("age")[at].drawing.svg_with_values();
    assert!(page(0).contains("<title>age: 1 (from 0.5000 to 2); age</title>"), "{}", page(0));
    assert!(page(1).contains("<title>age 1, age: 2</title>"), "{}", page(1));
    // Nothing at all is a picture too.
    for drawing in [Drawing::Levels(Levels::default()), Drawing::HeatMap(HeatMap::default())] {
        on_paper(&drawing.svg_with_values());
    }
    // The lowest and the highest number have the colours at the ends of the legend.
    let map = |palette, values: [f64; 3]| {
        let panels = vec![Panel { name: String::new(), values: values.to_vec(), width: 3 }];
        HeatMap { panels, palette, ..HeatMap::default() }.svg()
    };
    let fill = |svg: &str, x: usize| {
        let (_, rest) = svg.split_once(&format!("M{x} 0h1v1h-1z\" fill=\"")).unwrap();
        rest[..7].to_owned()
    };
    let rising = map(Palette::Rising, [-1.0, 0.0, 4.0]);
    assert_eq!([fill(&rising, 0), fill(&rising, 2)], ["#440154", "#fde725"]);
    // Signed colours are white at zero, though the numbers are not around it.
    let signed = map(Palette::Signed, [-1.0, 0.0, 4.0]);
    assert_eq!([fill(&signed, 1), fill(&signed, 2)], ["#f7f7f7", "#b2182b"]);
}

#[test]
fn a_chart_on_a_page_shows_its_values_and_its_file_does_not() {
    let seeds: Vec<Record> = (0..3).map(run).collect();
    let figures = averaged(&[("LoPA-GT", seeds.iter().collect())], "iteration");
    let svg = figures[0].drawing.svg_with_values();
    let document = Document::parse(&svg).unwrap();
    let class = |name: &'static str| {
        document.descendants().filter(move |node| node.attribute("class") == Some(name))
    };
    let tip = class("tip").next().unwrap();
    let texts = tip.descendants().filter(|node| node.is_text());
    let words: String = texts.filter_map(|node| node.text()).collect();
    assert!(words.starts_with("iteration 0LoPA-GT 1.0") && words.contains(" to "), "{words}");
    // Slices lie side by side, without gaps.
    let slices: Vec<[f64; 2]> = class("slice")
        .map(|slice| {
            let rect = slice.first_element_child().unwrap();
            ["x", "width"].map(|name| rect.attribute(name).unwrap().parse().unwrap())
        })
        .collect();
    assert!(slices.len() > 40, "{}", slices.len());
    assert!(slices.windows(2).all(|pair| (pair[0][0] + pair[0][1] - pair[1][0]).abs() < 0.02));
    assert!(!figures[0].drawing.svg().contains("tip"));
}

/// Checks that a page loads nothing and is valid XML, which finds text that is not escaped and tags that are not closed.
fn whole(page: &str) {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(page, options).unwrap();
    let namespace = "xmlns=\"http://www.w3.org/2000/svg\"";
    let rest = page.replace(namespace, "");
    for load in ["http:", "https:", "//", "url(", "@import", "src="] {
        assert!(!rest.contains(load), "{load}");
    }
    // A link leads to a file beside the page, whatever its name is.
    for link in rest.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_.~%/".contains(c);
        assert!(link.chars().all(fine) && !link.starts_with('/'), "{link}");
    }
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let mut different = ids.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(ids.len(), different.len(), "{ids:?}");
}

#[test]
fn a_report_is_self_contained() {
    let (record, kind) = (run(0), Kind::Ring);
    let weights = Weights::metropolis(&kind.build(6, 0).unwrap());
    let report = Report {
        title: "A ring".into(),
        subtitle: "LoPA-GT, 6 nodes, 500 rounds, seed 1".into(),
        tiles: vec![("outer loss".into(), "0.0206".into())],
        network: Some(drawing::svg(&weights, kind.layout(), "A ring")),
        figures: charts(&record, "iteration"),
        tables: vec![summary(&record)],
        configuration: "[network]\nnodes = 6\n".into(),
        files: vec!["metrics.csv".into()],
        notes: vec!["A note.".into()],
        ..Report::default()
    };
    let page = report.html();
    whole(&page);
    assert_eq!(page, report.html());
    for part in [
        "<h1>A ring</h1>",
        "seed 1",
        "<dd>0.0206</dd>",
        "6 nodes, 6 links",
        "<h3>Accuracy</h3>",
        "[network]\nnodes = 6\n",
        "A note.",
        "<a href=\"metrics.csv\">metrics.csv</a>",
        "<a href=\"figures/outer_loss.svg\">SVG</a>",
        "<a href=\"figures/network.png\">PNG</a>",
        "\u{25be}\u{a0}marks zero",
        concat!("lopa ", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(page.contains(part), "{part}");
    }
    whole(&Report::default().html());
}

/// The lines of a figure.
fn drawn(figure: &Figure) -> &Chart {
    figure.drawing.chart().unwrap()
}

#[test]
fn related_series_share_a_chart_and_empty_ones_have_none() {
    let record = run(0);
    let figures = charts(&record, "iteration");
    let stems: Vec<&str> = figures.iter().map(|figure| figure.stem.as_str()).collect();
    assert_eq!(stems, ["outer_loss", "inner_loss", "consensus", "accuracy"]);
    assert_eq!(figures[3].columns, ["train_accuracy", "validation_accuracy"]);
    assert_eq!(drawn(&figures[3]).y_title, "accuracy");
    let names: Vec<&str> = drawn(&figures[3]).lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["train", "validation"]);
    assert_eq!(drawn(&figures[0]).y_scale, Scale::Logarithmic);
    assert_eq!(drawn(&figures[3]).y_scale, Scale::Linear);
    // With another column on the horizontal axis, and with one that does not exist.
    let figures = charts(&record, "consensus");
    assert!(figures.iter().all(|figure| figure.stem != "consensus") && figures.len() == 3);
    assert_eq!(drawn(&figures[0]).lines[0].points[1], [5e-5, run(0).rows()[1][1].unwrap()]);
    assert!(charts(&record, "nothing").is_empty());
    assert!(charts(&Record::default(), "iteration").is_empty());
    assert_eq!(charts(&record_of_one_row(), "iteration").len(), 1);
    // No two charts have the same file name.
    let alike = charts(&read("iteration,a b,a/b,a.b\n0,1,2,3\n"), "iteration");
    let stems: Vec<&str> = alike.iter().map(|figure| figure.stem.as_str()).collect();
    assert_eq!(stems, ["a-b", "a-b-2", "a-b-3"]);
}

fn record_of_one_row() -> Record {
    read("iteration,outer_loss\n0,0.5\n")
}

#[test]
fn a_run_looks_the_same_in_every_chart() {
    let (whole, part) = (run(0), record_of_one_row());
    let figures = averaged(&[("part", vec![&part]), ("whole", vec![&whole])], "iteration");
    let looks = |stem: &str| -> Vec<(String, usize)> {
        let figure = figures.iter().find(|figure| figure.stem == stem).unwrap();
        drawn(figure).lines.iter().map(|line| (line.name.clone(), line.look)).collect()
    };
    assert_eq!(looks("outer_loss"), [("part".into(), 0), ("whole".into(), 1)]);
    assert_eq!(looks("train_accuracy"), [("whole".into(), 1)]);
    let svg = &figures[0].drawing.svg();
    assert!(svg.contains("#0072b2") && svg.contains("#d55e00") && svg.contains("stroke-dasharray"));
    assert!(averaged::<&str>(&[], "iteration").is_empty());
}

#[test]
fn means_over_seeds_have_bands_and_name_them() {
    let texts = ["0,1\n10,4\n", "0,2\n10,5\n", "0,3\n10,6\n20,7\n"];
    let records: Vec<Record> =
        texts.iter().map(|rows| read(&format!("iteration,outer_loss\n{rows}"))).collect();
    let figures = averaged(&[("three", records.iter().collect())], "iteration");
    let line = &drawn(&figures[0]).lines[0];
    assert_eq!(line.points, [[0.0, 2.0], [10.0, 5.0], [20.0, 7.0]]);
    let band = line.band.as_ref().unwrap();
    // s = 1, t = 4.302653 with two degrees of freedom: 2.484138 on both sides, but not below zero.
    assert_eq!(band[0][0], 0.0);
    assert!((band[0][1] - (2.0 + 2.484_138)).abs() < 1e-6, "{band:?}");
    assert!((band[1][1] - (5.0 + 2.484_138)).abs() < 1e-6, "{band:?}");
    assert_eq!(band[2], [7.0, 7.0]);
    assert!(figures[0].explanation.starts_with("Mean over 1 to 3 seeds; the band is the 95 %"));

    let figures = averaged(&[("two", records[..2].iter().collect())], "iteration");
    assert_eq!(drawn(&figures[0]).lines[0].band.as_ref().unwrap()[0], [1.0, 2.0]);
    assert_eq!(figures[0].explanation, "Mean over 2 seeds; the band is the range of the two.");
    let figures = averaged(&[("one", records[..1].iter().collect())], "iteration");
    assert!(drawn(&figures[0]).lines[0].band.is_none() && figures[0].explanation.is_empty());
    // What can be negative has a band that can be; an accuracy is never above one.
    let texts = ["0,-1,0.9\n", "0,2,1\n", "0,3,0.8\n"];
    let rows = |rows| read(&format!("iteration,outer_loss,test_accuracy\n{rows}"));
    let records = texts.map(rows);
    let figures = averaged(&[("three", records.iter().collect())], "iteration");
    let band = |at: usize| drawn(&figures[at]).lines[0].band.as_ref().unwrap()[0];
    assert!(band(0)[0] < -1.0, "{:?}", band(0));
    assert!(band(1)[1] == 1.0 && band(1)[0] > 0.5, "{:?}", band(1));
    // The band is drawn.
    let seeds: Vec<Record> = (0..5).map(run).collect();
    let figures = averaged(&[("LoPA-GT", seeds.iter().collect())], "iteration");
    assert!(figures.iter().all(|figure| figure.drawing.svg().contains("fill-opacity=\"0.18\"")));
}

#[test]
fn a_summary_knows_which_direction_is_better() {
    let text =
        "iteration,outer_loss,test_accuracy,seconds,empty\n0,3,0.5,0,\n10,1,0.9,1,\n20,2,0.8,2,\n";
    let table = summary(&read(text));
    assert_eq!(
        table.rows,
        [
            ["outer loss", "3", "1", "10", "2"],
            ["test accuracy", "0.5000", "0.9000", "10", "0.8000"],
            ["seconds", "0", "\u{2013}", "\u{2013}", "2"],
        ]
    );
    assert!(summary(&Record::default()).rows.is_empty());
}
