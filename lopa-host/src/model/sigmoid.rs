//! Sigmoids from additions, multiplications and divisions alone, each of which has the same bits on every chip. This text is
//! part of every exported module that predicts classes.

// The exponential is that of FreeBSD's msun, as in libm, operation by operation:
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro, a Sun Microsystems, Inc. business.
// Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.

/// e to the power of `a`, which is not positive.
pub(super) fn exp(a: f32) -> f32 {
    const LN2_HI: f32 = 0.693_145_75;
    const LN2_LO: f32 = 1.428_606_8e-6;
    const INV_LN2: f32 = f32::from_bits(0x3fb8_aa3b);
    const P1: f32 = 0.166_666_25;
    const P2: f32 = -0.002_766_733_3;
    if a <= -103.972_084 {
        return 0.0;
    }
    if a >= -0.000_122_070_31 {
        return 1.0 + a;
    }
    // e^a = 2^-k e^x, with x within half a ln 2.
    let mut k: u8 = 0;
    if a < -1.039_720_8 {
        k = (0.5 - INV_LN2 * a) as u8;
    } else if a < -0.346_573_6 {
        k = 1;
    }
    let times = f32::from(k);
    let hi = a + times * LN2_HI;
    let lo = -times * LN2_LO;
    let x = hi - lo;
    let xx = x * x;
    let c = x - xx * (P1 + xx * P2);
    let y = 1.0 + (x * c / (2.0 - c) - lo + hi);
    // In two steps where 2^-k is smaller than the smallest normal number.
    if k > 126 { y * half_to(102) * half_to(k - 102) } else { y * half_to(k) }
}

/// 2^-k.
fn half_to(k: u8) -> f32 {
    f32::from_bits((127 - u32::from(k)) << 23)
}

/// 1 / (1 + e^-a).
pub(super) fn sigmoid(a: f32) -> f32 {
    let tail = exp(if a < 0.0 { a } else { -a });
    (if a < 0.0 { tail } else { 1.0 }) / (1.0 + tail)
}
