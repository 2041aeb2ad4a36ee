//! In integers: one group of samples after the other, in the workspace of a chip.
//!
//! The weights of a unit become integers once for all samples of a group, and so do the factors of its samples. The head is
//! computed in floats, one sample after the other.

use super::Pass;
use crate::fixed;
use crate::problems::integer::{GROUP, LayerRows};
use crate::problems::{rows, rows_mut};
use crate::vector::plus;

/// Adds `scale` times the mean over the batch of coefficients ⊗ (s, 1) to a vector shaped like θ. If x is not finite, all of
/// it is NaN.
pub(super) fn add_to_head(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    let model = pass.model;
    let share = scale * pass.batch.weight();
    let finite = each_group(pass, workspace, |group, workspace| {
        let (hidden, output, change) = model.cut(workspace);
        let at = model.classes.wrapping_mul(model.hidden);
        let Some((weights, biases)) = out.split_at_mut_checked(at) else { return false };
        for (b, &class) in group.classes().iter().enumerate() {
            group.read(b, hidden);
            pass.respond(class.into(), hidden, output, change);
            let coefficients = if pass.v.is_some() { &*change } else { &*output };
            pass.add_to_head(share, hidden, coefficients, (&mut *weights, &mut *biases));
        }
        true
    });
    if !finite {
        out.fill(f32::NAN);
    }
}

/// Adds `scale` times the mean over the batch of (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x. If x or a factor is not
/// finite, all of it is NaN.
pub(super) fn add_to_layer(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    let model = pass.model;
    let share = scale * pass.batch.weight();
    let width = model.train.width();
    let finite = each_group(pass, workspace, |group, workspace| {
        let (hidden, output, change) = model.cut(workspace);
        let at = model.hidden.wrapping_mul(width);
        let Some((weights, biases)) = out.split_at_mut_checked(at) else { return false };
        for b in 0..group.len {
            group.read(b, hidden);
            let class = group.classes.get(b).copied().unwrap_or(0);
            pass.respond(class.into(), hidden, output, change);
            for (unit, (s, bias)) in hidden.iter_mut().zip(&mut *biases).enumerate() {
                *s = share * pass.pull(unit, *s, output, change);
                *bias += *s;
            }
            group.write(b, hidden);
        }
        let Group { rows, units, .. } = group;
        rows_mut(weights, width).zip(&mut **units).all(|(out, unit)| rows.add_to(out, unit))
    });
    if !finite {
        out.fill(f32::NAN);
    }
}

/// Some samples of a batch.
struct Group<'a, 'w> {
    rows: LayerRows<'a>,
    classes: [u8; GROUP],
    len: usize,
    /// For each unit the activations of all samples, or their factors.
    units: &'w mut [[f32; GROUP]],
}

impl Group<'_, '_> {
    fn classes(&self) -> &[u8] {
        self.classes.get(..self.len).unwrap_or(&[])
    }

    /// What all units have for a sample.
    fn read(&self, b: usize, of_units: &mut [f32]) {
        for (a, unit) in of_units.iter_mut().zip(&*self.units) {
            *a = unit.get(b).copied().unwrap_or(0.0);
        }
    }

    fn write(&mut self, b: usize, of_units: &[f32]) {
        for (a, unit) in of_units.iter().zip(&mut *self.units) {
            if let Some(place) = unit.get_mut(b) {
                *place = *a;
            }
        }
    }
}

/// Computes the activations of each group of samples, and calls `each` with it and the workspace that is left. False as soon
/// as `each` returns that, or if a weight is not finite.
fn each_group<'a>(
    pass: Pass<'a>,
    workspace: &mut [f32],
    mut each: impl FnMut(&mut Group<'a, '_>, &mut [f32]) -> bool,
) -> bool {
    let Some((units, workspace)) =
        workspace.split_at_mut_checked(GROUP.wrapping_mul(pass.model.hidden))
    else {
        return false;
    };
    let mut indices = pass.batch.indices();
    while indices.len() > 0 {
        let mut group = Group {
            rows: LayerRows::of(pass.samples),
            classes: [0; GROUP],
            len: 0,
            units: units.as_chunks_mut().0,
        };
        if !activate(pass, &mut indices, &mut group) || !each(&mut group, &mut *workspace) {
            return false;
        }
    }
    true
}

/// Fills a group with the next samples, and computes their activations; false if a weight is not finite. Not inlined: both
/// oracles would have a copy.
#[inline(never)]
fn activate(
    pass: Pass<'_>,
    indices: &mut impl Iterator<Item = usize>,
    group: &mut Group<'_, '_>,
) -> bool {
    let exists = |index: &usize| *index < pass.samples.len();
    for index in indices.filter(exists).take(GROUP) {
        if group.rows.push(index)
            && let Some(class) = group.classes.get_mut(group.len)
        {
            // Labels are bytes.
            *class = pass.samples.class(index) as u8;
            group.len = group.len.wrapping_add(1);
        }
    }
    let (weights, biases) = pass.model.layer(pass.at.x);
    let weights = rows(weights, pass.model.train.width());
    for ((unit, weights), bias) in group.units.iter_mut().zip(weights).zip(biases) {
        if !group.rows.multiply(weights, unit) {
            return false;
        }
        for s in unit.iter_mut().take(group.len) {
            *s = fixed::sigmoid(plus(*s, *bias));
        }
    }
    true
}
