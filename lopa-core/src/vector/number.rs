//! Formulas that are the same on every chip, and fast without an FPU.

use core::ops::{Add, Div, Mul, Sub};

use super::{SOFT_FLOATS, soft};

/// A float in a formula: its operators have the same bits everywhere, and on chips without an FPU they are those of [`soft`].
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Number(pub(crate) f32);

impl From<f32> for Number {
    #[inline(always)]
    fn from(a: f32) -> Self {
        Self(a)
    }
}

impl From<&f32> for Number {
    #[inline(always)]
    fn from(a: &f32) -> Self {
        Self(*a)
    }
}

impl<B: Into<Self>> Add<B> for Number {
    type Output = Self;

    #[inline(always)]
    fn add(self, b: B) -> Self {
        let b = b.into().0;
        Self(if SOFT_FLOATS { soft::add(self.0, b) } else { self.0 + b })
    }
}

impl<B: Into<Self>> Sub<B> for Number {
    type Output = Self;

    #[inline(always)]
    fn sub(self, b: B) -> Self {
        let b = b.into().0;
        Self(if SOFT_FLOATS { soft::add(self.0, -b) } else { self.0 - b })
    }
}

impl<B: Into<Self>> Mul<B> for Number {
    type Output = Self;

    #[inline(always)]
    fn mul(self, b: B) -> Self {
        let b = b.into().0;
        Self(if SOFT_FLOATS { soft::mul(self.0, b) } else { self.0 * b })
    }
}

impl<B: Into<Self>> Div<B> for Number {
    type Output = Self;

    #[inline(always)]
    fn div(self, b: B) -> Self {
        Self(self.0 / b.into().0)
    }
}
