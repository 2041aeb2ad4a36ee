//! What the nodes learned together: the shared variable x, by feature or as a picture.

use lopa_core::problems::AnyProblem;

use super::{Drawing, Figure, Results};
use crate::algorithms::NodeView;
use crate::config::ProblemTable;
use crate::data::{Table, Values};
use crate::numerics::number;
use crate::numerics::vector::mean;
use crate::plot::{Chart, HeatMap, Level, Levels, Line, Palette, Panel};

/// The most values beside their names; more are drawn as a curve.
pub(super) const MOST_NAMED: usize = 40;
/// How many of more values have names.
const FEW: usize = 24;
/// The most pictures of units.
const MOST_PANELS: usize = 48;

/// Figures of the shared variable: none if it was not learned, or is not finite.
#[must_use]
pub fn learned(results: &Results<'_>) -> Vec<Figure> {
    let Results { experiment, nodes, shards, .. } = *results;
    let Some(x) = Elements::of(nodes) else { return Vec::new() };
    if experiment.algorithm.name.is_single_level() {
        return Vec::new();
    }
    let samples = shards.first().map(|shard| &shard.train);
    let names =
        samples.map_or_else(Vec::new, |samples| names(samples, experiment.data.has_intercept()));
    let image = samples.and_then(|samples| Image::of(samples, experiment.data.has_intercept()));
    match experiment.problem {
        ProblemTable::Logistic {} | ProblemTable::Ridge {} => {
            let words = "The logarithm of the regularisation strength of every feature, which the nodes learned \
                         together: mean over nodes. The lower it is, the more a feature is trusted; a high strength mutes it.";
            match image {
                Some(image) => vec![image.figure(&x.mean, Palette::Rising, LOG).explained(words)],
                None => x.strengths(&names, words),
            }
        }
        ProblemTable::MetaLogistic { .. } | ProblemTable::MetaSquared { .. } => {
            let words = "The coefficients that every node starts from before it adapts them to its own samples: mean \
                         over nodes.";
            match image {
                Some(image) => {
                    vec![image.figure(&x.mean, Palette::Signed, COEFFICIENT).explained(words)]
                }
                None => x.coefficients(&names, words),
            }
        }
        ProblemTable::SharedLayer { hidden, .. } => {
            layer(&x.mean, hidden, names, image).into_iter().collect()
        }
        ProblemTable::Quadratic { .. } => {
            let names: Vec<String> = (0..x.mean.len()).map(|at| format!("x {at}")).collect();
            x.coefficients(&names, "The elements of the shared variable: mean over nodes.")
        }
    }
}

/// The axis of strengths.
pub(crate) const LOG: &str = "logarithm of the strength";
/// The axis of other shared variables.
pub(crate) const COEFFICIENT: &str = "x, mean over nodes";

/// The names of features, as many as x has elements for them.
pub(crate) fn names(samples: &Table, intercept: bool) -> Vec<String> {
    let given = samples.names();
    let name = |at: usize| match given.get(at) {
        Some(name) => name.clone(),
        None if intercept && at + 1 == samples.width() => "intercept".into(),
        None => format!("feature {at}"),
    };
    (0..samples.width()).map(name).collect()
}

/// The elements of x over nodes; of strengths, their logarithms.
struct Elements {
    mean: Vec<f64>,
    range: Vec<[f64; 2]>,
}

impl Elements {
    fn of(nodes: &[NodeView<'_, AnyProblem<'_>>]) -> Option<Self> {
        let base = nodes.first().map_or(0.0, |node| f64::from(node.problem.base()));
        let mut mean = mean(nodes.iter().map(|node| node.x));
        mean.iter_mut().for_each(|a| *a += base);
        let ends = [f64::INFINITY, f64::NEG_INFINITY];
        let mut range = vec![ends; mean.len()];
        for node in nodes {
            for (range, &a) in range.iter_mut().zip(node.x) {
                let a = base + f64::from(a);
                *range = [range[0].min(a), range[1].max(a)];
            }
        }
        (!mean.is_empty() && mean.iter().all(|a| a.is_finite())).then_some(Self { mean, range })
    }

    /// The lowest strengths first.
    fn strengths(&self, names: &[String], words: &str) -> Vec<Figure> {
        let mut order: Vec<usize> = (0..self.mean.len().min(names.len())).collect();
        order.sort_by(|&a, &b| self.mean[a].total_cmp(&self.mean[b]));
        let remark = |at: usize| format!("strength {}", number(libm::exp(self.mean[at])));
        let levels = self.levels(&order, names, remark);
        if levels.len() <= MOST_NAMED {
            return vec![named("shared", "shared variable", LOG, levels, words)];
        }
        let ends = [&levels[..FEW / 2], &levels[levels.len() - FEW / 2..]].concat();
        let half = FEW / 2;
        let what = format!("The {half} lowest and the {half} highest of {} values.", levels.len());
        let title = "shared variable, lowest and highest";
        vec![self.in_order(LOG, words), named("shared-extremes", title, LOG, ends, &what)]
    }

    /// The largest coefficients first, whatever their sign.
    fn coefficients(&self, names: &[String], words: &str) -> Vec<Figure> {
        let mut order: Vec<usize> = (0..self.mean.len().min(names.len())).collect();
        order.sort_by(|&a, &b| self.mean[b].abs().total_cmp(&self.mean[a].abs()));
        let mut levels = self.levels(&order, names, |_| String::new());
        if levels.len() <= MOST_NAMED {
            return vec![named("shared", "shared variable", COEFFICIENT, levels, words)];
        }
        let what = format!("The {FEW} largest of {} values, whatever their sign.", levels.len());
        levels.truncate(FEW);
        let title = "shared variable, largest values";
        vec![
            self.in_order(COEFFICIENT, words),
            named("shared-extremes", title, COEFFICIENT, levels, &what),
        ]
    }

    fn levels(
        &self,
        order: &[usize],
        names: &[String],
        remark: impl Fn(usize) -> String,
    ) -> Vec<Level> {
        let level = |&at: &usize| Level {
            name: names[at].clone(),
            value: self.mean[at],
            range: self.range[at],
            remark: remark(at),
        };
        order.iter().map(level).collect()
    }

    /// All elements in a chart.
    fn in_order(&self, y_title: &str, words: &str) -> Figure {
        let points = (0..self.mean.len()).map(|at| [at as f64, self.mean[at]]).collect();
        let title = "shared variable".into();
        let mut chart = Chart { title, ..Chart::new("feature, from 0", y_title) };
        chart.add(Line { band: Some(self.range.clone()), ..Line::new(y_title, points) });
        let figure = Figure::new("shared", Vec::new(), Drawing::Chart(chart));
        figure.explained(&format!("{words} The band is the range over nodes."))
    }
}

/// Elements beside their names.
fn named(stem: &str, title: &str, x_title: &str, levels: Vec<Level>, words: &str) -> Figure {
    let drawing = Levels { title: title.into(), x_title: x_title.into(), levels };
    let figure = Figure::new(stem, Vec::new(), Drawing::Levels(drawing));
    figure.explained(&format!("{words} The line behind a dot is the range over nodes."))
}

/// How features are arranged as pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image {
    /// Pixels from left to right, and from top to bottom.
    pub(crate) side: usize,
    /// One, or three colours.
    pub(crate) planes: usize,
}

impl Image {
    /// Square pictures, grey or as planes of red, green and blue.
    pub(crate) fn of(samples: &Table, intercept: bool) -> Option<Self> {
        let Values::Bytes(_) = samples.values() else { return None };
        let pixels = samples.width() - usize::from(intercept);
        let square = |pixels: usize| Some(pixels.isqrt()).filter(|side| side * side == pixels);
        let colour = || pixels.is_multiple_of(3).then(|| square(pixels / 3)).flatten();
        let grey = square(pixels).map(|side| Self { side, planes: 1 });
        let image = grey.or_else(|| colour().map(|side| Self { side, planes: 3 }))?;
        (image.side > 1).then_some(image)
    }

    /// One panel per plane.
    fn panels(self, values: &[f64], name: &str) -> Vec<Panel> {
        let planes = values.chunks(self.side * self.side).take(self.planes);
        let colours = ["red", "green", "blue"];
        planes
            .enumerate()
            .map(|(plane, values)| {
                let own = if self.planes == 1 { "" } else { colours[plane % 3] };
                let name = format!("{name} {own}").trim().to_owned();
                Panel { name, values: values.to_vec(), width: self.side }
            })
            .collect()
    }

    fn figure(self, values: &[f64], palette: Palette, value_title: &str) -> Figure {
        picture(self.panels(values, ""), palette, value_title)
    }
}

/// Panels of pixels.
fn picture(panels: Vec<Panel>, palette: Palette, value_title: &str) -> Figure {
    let map = HeatMap {
        title: "shared variable".into(),
        value_title: value_title.into(),
        rows: "row".into(),
        panels,
        palette,
        ..HeatMap::default()
    };
    Figure::new("shared", Vec::new(), Drawing::HeatMap(map))
}

/// The weights of a shared layer: one picture per unit, or one row per unit.
fn layer(x: &[f64], hidden: usize, names: Vec<String>, image: Option<Image>) -> Option<Figure> {
    let width = names.len();
    // Row after row, then the biases.
    let weights = x.get(..hidden.checked_mul(width)?)?;
    let words = "The weights of the shared layer: mean over nodes.";
    let Some(image) = image else {
        let map = HeatMap {
            title: "shared layer".into(),
            value_title: "weight, one row per unit, one column per feature".into(),
            rows: "unit".into(),
            columns: names,
            panels: vec![Panel { name: String::new(), values: weights.to_vec(), width }],
            palette: Palette::Signed,
        };
        return Some(Figure::new("shared", Vec::new(), Drawing::HeatMap(map)).explained(words));
    };
    let shown = hidden.min(MOST_PANELS / image.planes);
    let units = weights.chunks(width).take(shown).enumerate();
    let panels = units.flat_map(|(unit, own)| image.panels(own, &unit.to_string())).collect();
    let mut figure = picture(panels, Palette::Signed, "weight, one picture per unit");
    "shared layer".clone_into(figure.drawing.title_mut());
    if shown < hidden {
        figure = figure.explained(&format!("The first {shown} of {hidden} units."));
    }
    Some(figure.explained(words))
}
