//! From values to shapes on paper, with gaps, and without points that cannot be seen.

use super::Line;
use super::axis::Axis;
use crate::record::Scale;

/// A place on paper.
pub(crate) type Place = [f64; 2];

/// Where the lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub(crate) fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + self.width * axis.place(value)
    }

    pub(crate) fn y(&self, axis: &Axis, value: f64) -> f64 {
        self.top + self.height * (1.0 - axis.place(value))
    }

    pub(crate) const fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) const fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// A vertical slice of a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slice {
    pub x: f64,
    pub upper: f64,
    pub lower: f64,
}

/// A line on paper.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Shape {
    /// Connected parts of the line.
    pub runs: Vec<Vec<Place>>,
    /// Connected parts of the band.
    pub bands: Vec<Vec<Slice>>,
    /// Where the value is zero or far below a logarithmic axis.
    pub below: Vec<Place>,
    /// Whether the points are so few that each is marked.
    pub marked: bool,
}

impl Shape {
    pub(crate) fn new(line: &Line, x_axis: &Axis, y_axis: &Axis, area: &Area) -> Self {
        let below = |y: f64| y_axis.scale == Scale::Logarithmic && y < y_axis.low;
        let place = |&[x, y]: &[f64; 2]| {
            let seen = x.is_finite() && y.is_finite() && !below(y);
            seen.then(|| [area.x(x_axis, x), area.y(y_axis, y)])
        };
        let slice = |(&[x, _], ends): (&[f64; 2], &[f64; 2])| {
            // Where a band is wider than the axis, it ends there.
            let [lower, upper] = ends.map(|end| area.y(y_axis, end).clamp(area.top, area.bottom()));
            let seen = x.is_finite() && ends.iter().all(|end| end.is_finite());
            seen.then(|| Slice { x: area.x(x_axis, x), upper, lower })
        };
        let places: Vec<Option<Place>> = line.points.iter().map(place).collect();
        let band = line.band.as_deref().unwrap_or_default();
        let slices: Vec<Option<Slice>> = line.points.iter().zip(band).map(slice).collect();
        let mut shape = Self {
            runs: connected(&places).map(|run| thinned(&run)).collect(),
            bands: connected(&slices).map(|band| sliced(&band)).collect(),
            below: Vec::new(),
            marked: places.iter().flatten().count() <= 12,
        };
        for &[x, _] in line.points.iter().filter(|[x, y]| x.is_finite() && below(*y)) {
            let across = area.x(x_axis, x);
            if shape.below.last().is_none_or(|[before, _]| across - before >= 9.0) {
                shape.below.push([across, area.bottom()]);
            }
        }
        shape
    }
}

/// The parts between gaps.
fn connected<T: Copy>(all: &[Option<T>]) -> impl Iterator<Item = Vec<T>> {
    let parts = all.split(Option::is_none).filter(|part| !part.is_empty());
    parts.map(|part| part.iter().copied().flatten().collect())
}

/// Keeps the first, the highest, the lowest and the last of the points within one unit of paper.
pub(crate) fn thinned(run: &[Place]) -> Vec<Place> {
    let mut kept = Vec::new();
    for column in run.chunk_by(|a, b| a[0].floor() == b[0].floor()) {
        if column.len() <= 4 {
            kept.extend_from_slice(column);
            continue;
        }
        let by =
            |pick: fn(f64, f64) -> bool| {
                (0..column.len()).fold(0, |best, at| {
                    if pick(column[at][1], column[best][1]) { at } else { best }
                })
            };
        let mut places = vec![0, by(|a, b| a < b), by(|a, b| a > b), column.len() - 1];
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().map(|at| column[at]));
    }
    kept
}

/// Keeps the first and the last of the slices within one unit of paper, both as high as their union.
fn sliced(band: &[Slice]) -> Vec<Slice> {
    let mut kept = Vec::new();
    for column in band.chunk_by(|a, b| a.x.floor() == b.x.floor()) {
        if let ([first, .., last], true) = (column, column.len() > 2) {
            let upper = column.iter().fold(first.upper, |upper, slice| upper.min(slice.upper));
            let lower = column.iter().fold(first.lower, |lower, slice| lower.max(slice.lower));
            kept.extend([first.x, last.x].map(|x| Slice { x, upper, lower }));
        } else {
            kept.extend_from_slice(column);
        }
    }
    // A single slice would have no width.
    if let [only] = kept[..] {
        kept = vec![Slice { x: only.x - 2.0, ..only }, Slice { x: only.x + 2.0, ..only }];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_extremes_and_ends() {
        let mut run: Vec<Place> =
            (0..100_000_u32).map(|k| [f64::from(k) / 250.0, f64::from(k % 7)]).collect();
        run[33_333][1] = -50.0;
        run[66_667][1] = 90.0;
        let kept = thinned(&run);
        assert!(kept.len() <= 4 * 401, "{}", kept.len());
        assert!(kept.contains(&run[33_333]) && kept.contains(&run[66_667]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (run[0], run[99_999]));
        assert!(kept.is_sorted_by(|a, b| a[0] <= b[0]));
        // Sparse points stay as they are.
        assert_eq!(thinned(&run[..4]), run[..4]);
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn nan_is_a_gap_and_zero_is_marked_on_a_logarithmic_axis() {
        let area = Area { left: 0.0, top: 0.0, width: 100.0, height: 100.0 };
        let x = Axis::new([0.0, 4.0].into_iter(), Scale::Linear, 5, 0.0);
        let line =
            Line::new("", vec![[0.0, 1.0], [1.0, f64::NAN], [2.0, 2.0], [3.0, 0.0], [4.0, 4.0]]);
        let ys = || line.points.iter().map(|point| point[1]);
        let powers = Axis::new(ys(), Scale::Logarithmic, 5, 0.0);
        let shape = Shape::new(&line, &x, &powers, &area);
        assert_eq!(shape.runs.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(shape.below, [[75.0, 100.0]]);
        let even = Axis::new(ys(), Scale::Linear, 5, 0.0);
        let shape = Shape::new(&line, &x, &even, &area);
        assert_eq!(shape.runs.iter().map(Vec::len).collect::<Vec<_>>(), [1, 3]);
        assert!(shape.below.is_empty());
    }
}
