//! New samples for a model: their columns are found by what the model learned from.

use std::path::Path;

use lopa_core::samples::LabelKind;

use super::csv::{Layout, Rows, by_name, is_header};
use super::error::{EMPTY, FileError};
use super::labels::class_name;
use super::text::{excerpt, is_missing, number};
use crate::words::nearest;

/// Samples of a CSV file that a model has not seen. The file may lack the label and the node.
///
/// Features are found by name if the file and the one learned from both have a header, in any order and among other columns.
/// Otherwise they are found by position: all columns as they were, all but the label, or the features alone.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::Fresh;
/// use lopa_host::data::csv::Layout;
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("new.csv");
/// std::fs::write(&file, "pulse,room,age\n80,7,61\n65,7,34\n")?;
/// let header = ["age", "pulse", "state"].map(String::from).to_vec();
/// let layout = Layout { header: Some(header), columns: 3, label: 2, node: None, features: vec![0, 1] };
/// let fresh = Fresh::read(&file, &layout, LabelKind::Binary, &[])?;
/// assert_eq!(fresh.rows().collect::<Vec<_>>(), [[61.0, 80.0], [34.0, 65.0]]);
/// assert_eq!(fresh.labels, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Fresh {
    values: Vec<f32>,
    width: usize,
    /// The label of every sample, if there is one: a class by name, or a number; none where the cell is empty.
    pub labels: Option<Vec<Option<String>>>,
    /// The node of every sample, by its place among the known ones, if the file says so.
    pub nodes: Option<Vec<usize>>,
}

impl Fresh {
    /// Reads a file. `nodes` are the names of nodes, if samples may say to which one they belong: a column of nodes is not
    /// read if there are none.
    ///
    /// # Errors
    /// Names the file, line and column of what is wrong.
    pub fn read(
        file: impl AsRef<Path>,
        layout: &Layout,
        labels: LabelKind,
        nodes: &[&str],
    ) -> Result<Self, FileError> {
        let mut rows = Rows::open(file.as_ref())?;
        let fresh = fresh(&mut rows, layout, labels, nodes);
        fresh.map_err(|error| rows.blame(error))
    }

    /// The features of all samples, in the order of the model.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.width)
    }
}

fn fresh(
    rows: &mut Rows,
    layout: &Layout,
    kind: LabelKind,
    nodes: &[&str],
) -> Result<Fresh, FileError> {
    if !rows.advance()? {
        return Err(rows.file(EMPTY));
    }
    let places = Places::new(rows, layout)?;
    let (mut values, mut labels, mut owners) = (Vec::new(), Vec::new(), Vec::new());
    let mut more = places.header.is_none() || rows.advance()?;
    while more {
        rows.check(places.columns, values.len())?;
        for &column in &places.features {
            let cell = rows.text(column);
            if is_missing(cell) {
                let name = places.named(column);
                let what = format!("{name}is missing: fill it in or leave the sample out");
                return Err(rows.cell(column, what));
            }
            let refuse = |what: String| rows.cell(column, places.named(column) + &what);
            values.push(number(cell).map_err(refuse)?);
        }
        if let Some(column) = places.label {
            let cell = rows.text(column);
            if kind == LabelKind::Real && !is_missing(cell) {
                let refuse = |what| rows.cell(column, format!("the label {what}"));
                number(cell).map_err(refuse)?;
            }
            labels.push((!is_missing(cell)).then(|| class_name(cell)));
        }
        if let Some(column) = places.node.filter(|_| !nodes.is_empty()) {
            let cell = rows.text(column);
            let place = nodes.iter().position(|node| *node == cell);
            let unknown = || {
                let hint = nearest(cell, nodes.iter().copied());
                let hint = hint.map_or_else(
                    || "pass --node to use one node's model for all samples".to_owned(),
                    |near| format!("did you mean \"{near}\"?"),
                );
                let what = format!("\"{}\" is not a node of the model: {hint}", excerpt(cell));
                rows.cell(column, places.named(column) + &what)
            };
            owners.push(place.ok_or_else(unknown)?);
        }
        more = rows.advance()?;
    }
    if values.is_empty() {
        return Err(rows.file(EMPTY));
    }
    Ok(Fresh {
        values,
        width: places.features.len(),
        labels: places.label.map(|_| labels),
        nodes: places.node.filter(|_| !nodes.is_empty()).map(|_| owners),
    })
}

/// Where a file has what the model needs.
struct Places {
    header: Option<Vec<String>>,
    columns: usize,
    features: Vec<usize>,
    label: Option<usize>,
    node: Option<usize>,
}

impl Places {
    /// From the first row, which may be a header.
    fn new(rows: &Rows, layout: &Layout) -> Result<Self, FileError> {
        let first = rows.cells();
        let named = |names: &Vec<String>| {
            layout.features.iter().all(|&feature| first.contains(&names[feature]))
        };
        // A header of numbers is known by the names in it.
        let header = layout.header.as_ref().is_some_and(named) || is_header(rows).unwrap_or(false);
        match layout.header.as_ref().filter(|_| header) {
            Some(names) if *names != first => Self::by_name(rows, layout, names, first),
            _ => Self::by_position(rows, layout, header.then_some(first)),
        }
    }

    fn by_name(
        rows: &Rows,
        layout: &Layout,
        names: &[String],
        first: Vec<String>,
    ) -> Result<Self, FileError> {
        let find = |column: usize| {
            let name = &names[column];
            if first.iter().filter(|other| *other == name).count() > 1 {
                let what = format!("two columns are called \"{name}\": rename one of them");
                return Err(rows.row(what));
            }
            by_name(&first, name).map_err(|what| rows.row(what))
        };
        let features = layout.features.iter().map(|&column| find(column));
        let maybe = |column: usize| first.iter().position(|name| *name == names[column]);
        Ok(Self {
            features: features.collect::<Result<_, _>>()?,
            label: maybe(layout.label),
            node: layout.node.and_then(maybe),
            columns: first.len(),
            header: Some(first),
        })
    }

    fn by_position(
        rows: &Rows,
        layout: &Layout,
        header: Option<Vec<String>>,
    ) -> Result<Self, FileError> {
        let (columns, width) = (rows.cells().len(), layout.features.len());
        let Layout { label, node, .. } = *layout;
        // Without the label, what was behind it is one place further to the front.
        let shifted = |column: usize| column - usize::from(column > label);
        if columns == layout.columns {
            let features = layout.features.clone();
            Ok(Self { header, columns, features, label: Some(label), node })
        } else if columns + 1 == layout.columns {
            let features = layout.features.iter().map(|&column| shifted(column)).collect();
            Ok(Self { header, columns, features, label: None, node: node.map(shifted) })
        } else if columns == width {
            Ok(Self { header, columns, features: (0..width).collect(), label: None, node: None })
        } else {
            let all = layout.columns;
            let mut counts = vec![format!("the {width} features")];
            if all > width + 1 {
                counts.push(format!("{} columns (all but the label)", all - 1));
            }
            let counts = counts.join(", ");
            Err(rows.row(format!(
                "has {columns} cells, and no header that names the features: expected {counts} or all {all} columns, in \
                 the order of the file that the model was learned from"
            )))
        }
    }

    /// A column's name and a blank, if it has one.
    fn named(&self, column: usize) -> String {
        self.header.as_ref().map_or_else(String::new, |names| format!("{} ", names[column]))
    }
}
