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
        let mut shape = Self::default();
        let logarithmic = y_axis.scale == Scale::Logarithmic;
        let (mut run, mut slices) = (Vec::new(), Vec::new());
        let mut drawn = 0;
        for (at, &[x, y]) in line.points.iter().enumerate() {
            let across = area.x(x_axis, x);
            let below = logarithmic && y < y_axis.low;
            if x.is_finite() && y.is_finite() && !below {
                run.push([across, area.y(y_axis, y)]);
                drawn += 1;
            } else {
                shape.runs.push(std::mem::take(&mut run));
                if x.is_finite() && below {
                    let far = shape.below.last().is_none_or(|[before, _]| across - before >= 9.0);
                    if far {
                        shape.below.push([across, area.bottom()]);
                    }
                }
            }
            let ends = line.band.as_ref().and_then(|band| band.get(at)).copied();
            match ends {
                Some([low, high]) if x.is_finite() && low.is_finite() && high.is_finite() => {
                    let (upper, lower) = (area.y(y_axis, high), area.y(y_axis, low));
                    slices.push(Slice { x: across, upper, lower });
                }
                _ => shape.bands.push(std::mem::take(&mut slices)),
            }
        }
        shape.runs.push(run);
        shape.bands.push(slices);
        shape.runs.retain(|run| !run.is_empty());
        shape.bands.retain(|band| !band.is_empty());
        for run in &mut shape.runs {
            *run = thinned(run);
        }
        for band in &mut shape.bands {
            *band = sliced(band);
        }
        shape.marked = drawn <= 12;
        shape
    }
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
