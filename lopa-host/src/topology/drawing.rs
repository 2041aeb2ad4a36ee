//! Drawings of networks as SVG, for reports and papers.

use std::fmt::Write as _;

use super::layout::Point;
use super::{Layout, Weights};
use crate::numerics::vector::squared_distance;
use crate::plot::escaped;
use crate::words::counted;

/// The width of a picture.
const WIDTH: f64 = 640.0;
/// The free space around the network.
const MARGIN: f64 = 40.0;
/// Where the network begins, below the title.
const TOP: f64 = 72.0;
/// The space for the legend.
const BOTTOM: f64 = 48.0;
/// How far the handle of a bent link lies outside a grid, at most; the link itself reaches half as far.
const BEND: f64 = 80.0;
/// The largest radius of a node; smaller than half of it, there is no room for a number.
const RADIUS: f64 = 17.0;

/// A network's drawing: numbered nodes, links as wide as their weights, the number of nodes and links, and rho.
///
/// The same network gives the same bytes everywhere.
///
/// ```
/// use lopa_host::topology::{Kind, Weights, drawing};
/// let kind = Kind::Ring;
/// let weights = Weights::metropolis(&kind.build(6, 0)?);
/// let picture = drawing::svg(&weights, kind.layout(), "A ring");
/// assert!(picture.starts_with("<svg") && picture.contains("6 nodes, 6 links"));
/// # Ok::<(), lopa_host::topology::BuildError>(())
/// ```
#[must_use]
pub fn svg(weights: &Weights, layout: Layout, title: &str) -> String {
    let topology = weights.topology();
    let (nodes, links) = (topology.nodes(), topology.links().count());
    let canvas = Canvas::new(layout, &layout.place(topology));
    let (height, title) = (canvas.height, escaped(&title.replace(['\n', '\t'], " ")));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" \
         text-anchor=\"middle\" role=\"img\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let middle = WIDTH / 2.0;
    let size = [counted(nodes, "node"), counted(links, "link")].join(", ");
    let about = format!("{size}, \u{3c1} = {:.4}", weights.spectrum().rho());
    text += &format!(
        "<text x=\"{middle}\" y=\"32\" font-size=\"18\" font-weight=\"bold\" fill=\"#1b2a38\">{title}</text>\n\
         <text x=\"{middle}\" y=\"53\" font-size=\"13\" fill=\"#5a6b7b\">{about}</text>\n"
    );

    let edges = || weights.edges().iter().filter(|edge| edge.node < edge.neighbour);
    let heaviest = edges().fold(0.0, |top: f32, edge| edge.weight.max(top));
    let lightest = edges().fold(heaviest, |low, edge| edge.weight.min(low));
    let width = |weight: f32| (canvas.stroke * f64::from(weight / heaviest)).max(0.3);
    text += "<g fill=\"none\" stroke=\"#7d93a8\" stroke-linecap=\"round\">\n";
    for edge in edges() {
        let shape = canvas.link(edge.node as usize, edge.neighbour as usize);
        let _ = writeln!(text, "<path d=\"{shape}\" stroke-width=\"{:.2}\"/>", width(edge.weight));
    }
    text += "</g>\n";

    let radius = canvas.radius;
    let _ = writeln!(
        text,
        "<g fill=\"#e3eef8\" stroke=\"#1f4e79\" stroke-width=\"{:.2}\">",
        (radius * 0.1).max(0.3)
    );
    for [x, y] in &canvas.places {
        let _ = writeln!(text, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\"/>");
    }
    text += "</g>\n";
    if radius >= RADIUS / 2.0 {
        let digits = (nodes - 1).to_string().len();
        let size = radius * if digits < 3 { 0.95 } else { 0.7 };
        let _ = writeln!(text, "<g font-size=\"{size:.2}\" fill=\"#12314d\">");
        for (node, [x, y]) in canvas.places.iter().enumerate() {
            // A third of the size below the middle, instead of a baseline that not all programs know.
            let _ = writeln!(text, "<text x=\"{x:.2}\" y=\"{:.2}\">{node}</text>", y + 0.35 * size);
        }
        text += "</g>\n";
    }
    if links > 0 {
        legend(&mut text, height, [lightest, heaviest], width);
    }
    text + "</svg>\n"
}

/// Which width is which weight.
fn legend(text: &mut String, height: f64, ends: [f32; 2], width: impl Fn(f32) -> f64) {
    let y = height - 20.0;
    let mut shown = ends.to_vec();
    shown.dedup();
    *text += "<g font-size=\"12\" fill=\"#5a6b7b\" text-anchor=\"start\">\n";
    let mut x = WIDTH / 2.0 - if shown.len() == 1 { 62.0 } else { 107.0 };
    let _ = writeln!(text, "<text x=\"{x:.0}\" y=\"{:.0}\">weight</text>", y + 4.0);
    x += 48.0;
    for weight in shown {
        let _ = writeln!(
            text,
            "<path d=\"M{x:.0} {y:.0}h30\" stroke=\"#7d93a8\" stroke-width=\"{:.2}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{weight:.3}</text>",
            width(weight),
            x + 37.0,
            y + 4.0
        );
        x += 90.0;
    }
    *text += "</g>\n";
}

/// The network in the picture's own units.
struct Canvas {
    places: Vec<Point>,
    height: f64,
    radius: f64,
    /// The width of the heaviest link.
    stroke: f64,
    bent: Bent,
}

/// Which links are bent around the nodes between their ends.
enum Bent {
    /// None.
    No,
    /// Those along a row or column, with this distance of neighbours.
    Grid(f64),
    /// Those close to a circle with this centre and radius.
    Circle(Point, f64),
}

impl Canvas {
    fn new(layout: Layout, places: &[Point]) -> Self {
        let grid = matches!(layout, Layout::Grid { .. });
        let side = |axis: usize| {
            let along = || places.iter().map(move |place| place[axis]);
            let low = along().fold(f64::INFINITY, f64::min);
            (low, along().fold(f64::NEG_INFINITY, f64::max) - low)
        };
        let ((left, wide), (up, high)) = (side(0), side(1));
        // Bent links reach out of a grid.
        let reach = if grid { BEND / 2.0 } else { 0.0 };
        // A few nodes do not fill the picture: no link is longer than 150.
        let room = WIDTH - 2.0 * (MARGIN + reach);
        let scale = (room / wide.max(high).max(1e-9)).min(150.0);
        let offset = [(WIDTH - scale * wide) / 2.0, TOP + MARGIN / 2.0 + reach];
        let height = offset[1] + scale * high + reach + MARGIN / 2.0 + BOTTOM;
        let places: Vec<Point> = places
            .iter()
            .map(|[x, y]| [scale * (x - left) + offset[0], scale * (y - up) + offset[1]])
            .collect();
        let (radius, bent) = match layout {
            Layout::Grid { .. } => (0.22 * scale, Bent::Grid(scale)),
            Layout::Circle => {
                let around = scale * places.len() as f64 / (2.0 * std::f64::consts::PI);
                (0.3 * scale, Bent::Circle([WIDTH / 2.0, offset[1] + around], around))
            }
            Layout::Star => (0.3 * scale, Bent::No),
            Layout::Springs { .. } => {
                let area = scale * wide * (scale * high).max(0.1 * scale * wide);
                let fair = 0.25 * (area / places.len() as f64).sqrt();
                // Rather small than over one another, but no smaller than numbers need.
                (fair.min((0.45 * closest(&places)).max(RADIUS / 2.0)), Bent::No)
            }
        };
        let radius = radius.clamp(1.0, RADIUS);
        Self { places, height, radius, stroke: 0.25 * radius, bent }
    }

    /// Whether no node lies between these two on a circle.
    fn adjoin(&self, a: usize, b: usize) -> bool {
        a.abs_diff(b) == 1 || a.abs_diff(b) + 1 == self.places.len()
    }

    /// The shape of a link.
    fn link(&self, a: usize, b: usize) -> String {
        let ([x, y], [to_x, to_y]) = (self.places[a], self.places[b]);
        let (gap, middle) = ([to_x - x, to_y - y], [(x + to_x) / 2.0, (y + to_y) / 2.0]);
        let handle = match self.bent {
            // Up or to the left.
            Bent::Grid(cell) if gap[0].abs().max(gap[1].abs()) > 1.5 * cell => {
                let bend = BEND.min(0.8 * cell);
                let level = gap[1].abs() < gap[0].abs();
                let (left, up) = if level { (0.0, bend) } else { (bend, 0.0) };
                Some([middle[0] - left, middle[1] - up])
            }
            // Inwards, until the middle is clear of the nodes it passes.
            Bent::Circle(centre, around) if !self.adjoin(a, b) => {
                let out = [middle[0] - centre[0], middle[1] - centre[1]];
                let far = (out[0] * out[0] + out[1] * out[1]).sqrt();
                let bend = 2.0 * (2.2 * self.radius - (around - far));
                (bend > 0.0 && far > bend)
                    .then(|| [0, 1].map(|axis| middle[axis] - bend * out[axis] / far))
            }
            _ => None,
        };
        match handle {
            Some([by_x, by_y]) => {
                format!("M{x:.2} {y:.2}Q{by_x:.2} {by_y:.2} {to_x:.2} {to_y:.2}")
            }
            None => format!("M{x:.2} {y:.2}L{to_x:.2} {to_y:.2}"),
        }
    }
}

/// The distance of the closest two places, found among those next to each other from left to right.
fn closest(places: &[Point]) -> f64 {
    let mut sorted = places.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut closest = f64::INFINITY;
    for (i, a) in sorted.iter().enumerate() {
        let reach = closest;
        for b in sorted[i + 1..].iter().take_while(|b| b[0] - a[0] < reach) {
            closest = closest.min(squared_distance(a, b).sqrt());
        }
    }
    closest
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use super::*;

    #[test]
    fn titles_cannot_break_out() {
        let weights = Weights::metropolis(&Topology::ring(3));
        let picture = svg(&weights, Layout::Circle, "a<b & \"c\"\u{0}\n\u{ffff}>");
        assert!(picture.contains("<title>a&lt;b &amp; &quot;c&quot; &gt;</title>"));
    }

    #[test]
    fn widths_are_proportional_to_weights() {
        // Weights of a star with a tail: 1/5 at the hub, 1/3 at the end.
        let graph = Topology::new(6, [(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)]).unwrap();
        let picture = svg(&Weights::metropolis(&graph), Layout::Star, "");
        let width = |line: &str| -> f64 {
            let (_, rest) = line.split_once("stroke-width=\"").unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let widths: Vec<f64> = picture.lines().filter(|l| l.contains('L')).map(width).collect();
        assert_eq!(widths.len(), 5);
        assert!((widths[0] / widths[4] - 0.6).abs() < 0.01, "{widths:?}");
        assert!(picture.contains(">0.200</text>") && picture.contains(">0.333</text>"));
    }

    #[test]
    fn links_past_a_node_on_a_circle_are_bent_and_no_others() {
        let bent = |topology: &Topology| {
            let picture = svg(&Weights::metropolis(topology), Layout::Circle, "");
            picture.lines().filter(|line| line.contains('Q')).count()
        };
        assert_eq!(bent(&Topology::ring(30)), 0);
        assert_eq!(bent(&Topology::complete(6).unwrap()), 0);
        assert_eq!(bent(&Topology::small_world(30, 4, 0.0, 0).unwrap()), 30);
    }

    #[test]
    fn the_closest_are_found() {
        let places = [[0.0, 0.0], [5.0, 1.0], [1.0, 9.0], [3.0, 1.0], [1.5, 8.0], [0.1, -4.0]];
        assert_eq!(closest(&places), 1.25_f64.sqrt());
        assert_eq!(closest(&places[..1]), f64::INFINITY);
    }

    #[test]
    fn links_around_a_torus_are_bent_and_everything_stays_inside() {
        let torus = Weights::metropolis(&Topology::torus(3, 4).unwrap());
        let layout = Layout::Grid { columns: 4 };
        let picture = svg(&torus, layout, "");
        assert_eq!(picture.lines().filter(|line| line.contains('Q')).count(), 7);
        let canvas = Canvas::new(layout, &layout.place(torus.topology()));
        for [x, y] in canvas.places {
            let reach = BEND / 2.0;
            assert!((MARGIN + reach..=WIDTH - MARGIN - reach).contains(&x), "{x}");
            assert!((TOP + reach..=canvas.height - BOTTOM - reach).contains(&y), "{y}");
        }
    }
}
