//! Pictures as PNG, independent of installed fonts.

use std::sync::{Arc, LazyLock};

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{ImageHrefResolver, Options, Tree};

/// The most pixels of a picture: enough for a poster, and no threat to memory.
const MOST: f32 = 64e6;

/// Regular and bold letters and mathematical symbols, loaded once.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    for data in [
        &include_bytes!("fonts/Arimo-Regular.ttf")[..],
        &include_bytes!("fonts/Arimo-Bold.ttf")[..],
        &include_bytes!("fonts/DejaVuSans-Mathematics.ttf")[..],
    ] {
        fonts.load_font_source(Source::Binary(Arc::new(data)));
    }
    fonts.set_sans_serif_family("Arimo");
    fonts.set_serif_family("Arimo");
    fonts.set_monospace_family("Arimo");
    Arc::new(fonts)
});

/// Why a picture could not be converted to PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The text is not an SVG.
    #[error("not a valid SVG: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// The picture has too many pixels, or none.
    #[error("cannot draw a picture of {width} by {height} pixels: choose another scale")]
    Size {
        /// How wide it would be.
        width: f32,
        /// How high it would be.
        height: f32,
    },
    /// The pixels could not be written.
    #[error("cannot write the PNG: {0}")]
    Encode(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A picture in pixels, on white. With a `scale` of 1 it has as many pixels as the SVG has units; 3 is good for print.
///
/// For the pictures of [`Chart::svg`](super::Chart::svg) and [`drawing::svg`](crate::topology::drawing::svg).
/// Characters that are not in the fonts (Latin, Greek, Cyrillic and mathematical symbols) are left out.
///
/// # Errors
/// The text is not an SVG, or the picture is too large or empty.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let options = Options {
        fontdb: FONTS.clone(),
        font_family: "Arimo".into(),
        // A picture must not load other files.
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let (width, height) =
        ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    let wrong = || PngError::Size { width, height };
    if !(width >= 1.0 && height >= 1.0 && width * height <= MOST) {
        return Err(wrong());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or_else(wrong)?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encoded(&pixels).map_err(|error| PngError::Encode(error.into()))
}

/// Pixels that hide what is behind them, as a PNG.
fn encoded(pixels: &Pixmap) -> Result<Vec<u8>, EncodingError> {
    let mut colours = vec![[0; 3]; pixels.pixels().len()];
    for (colour, pixel) in colours.iter_mut().zip(pixels.pixels()) {
        *colour = [pixel.red(), pixel.green(), pixel.blue()];
    }
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    // A tenth of the time for files that are nearly twice as large: pictures took longer than a short run.
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Adaptive);
    encoder.write_header()?.write_image_data(colours.as_flattened())?;
    Ok(file)
}
