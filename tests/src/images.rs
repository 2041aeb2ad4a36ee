//! Drawn images of 28 by 28 pixels, for benchmarks without real data.
//!
//! Even classes are rings and odd ones bars, so that as many pixels are zero as in MNIST's zeros and ones: 86 % (there 83 %),
//! and 44 % (there 43 %) of the chunks of 16 pixels.

use lopa_core::draw::Stream;

/// The height and the width.
const SIDE: usize = 28;
/// The pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;

/// Draws an image of a class; every second class is at another place.
pub fn draw(class: u8, draws: &mut Stream, image: &mut [u8]) {
    let mut between = |low: i32, high: i32| low + (draws.next() >> 16) as i32 % (high - low + 1);
    let shift = [0, -2, 2, -1, 1][usize::from(class / 2) % 5];
    let (centre_x, centre_y) = (14 + shift + between(-1, 1), 14 + between(-1, 1));
    let (radius, slant) = (between(5, 8), between(-2, 5));
    for (place, pixel) in image.iter_mut().take(PIXELS).enumerate() {
        let (x, y) = ((place % SIDE) as i32 - centre_x, (place / SIDE) as i32 - centre_y);
        let inside = if class.is_multiple_of(2) {
            // An ellipse 18 pixels high: its equation, times 81 radius^2.
            let whole = 81 * radius * radius;
            let part = x * x * 81 + y * y * radius * radius;
            (whole / 2..=whole * 14 / 10).contains(&part)
        } else {
            (x + slant * y / 8).abs() <= 1 && y.abs() <= 9
        };
        *pixel = if inside { 128 + between(0, 127) as u8 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_core::draw::{Draws, Purpose};

    #[test]
    fn as_many_pixels_and_chunks_are_zero_as_in_mnist() {
        let (mut zeros, mut chunks) = (0, 0);
        for number in 0..400 {
            let mut draws = Draws { seed: 1, node: 0 }.stream(number, Purpose::custom(1));
            let mut image = [0; PIXELS];
            draw((number % 2) as u8, &mut draws, &mut image);
            zeros += image.iter().filter(|&&pixel| pixel == 0).count();
            chunks += image.chunks(16).filter(|chunk| chunk.iter().all(|&a| a == 0)).count();
        }
        let (zeros, chunks) = (zeros as f64 / (400.0 * 784.0), chunks as f64 / (400.0 * 49.0));
        assert!((zeros - 0.86).abs() < 0.01, "{zeros}");
        assert!((chunks - 0.44).abs() < 0.01, "{chunks}");
    }
}
