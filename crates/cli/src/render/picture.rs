//! Pictures as files.

use std::path::Path;

use anyhow::Context;
use iosonar_plot::{Chart, Format, PixelScale, Scaled, Size, Theme, render};
use iosonar_study::vary::Picture;
use iosonar_trace::output::WholeFile;

use crate::exit::Usage;
use crate::low::PixelArgs;

/// The kind of picture that the name of `path` asks for.
pub(crate) fn kind_of(path: &Path) -> Result<Format, Usage> {
    path.extension()
        .and_then(|e| e.to_str())
        .and_then(Format::from_extension)
        .ok_or_else(|| {
            Usage(format!(
                "{}: the name of a picture must end in .png or .svg",
                path.display()
            ))
        })
}

/// Whether a picture can be drawn into `path` with these pixels.
pub(crate) fn check(path: &Path, pixels: PixelArgs) -> Result<(), Usage> {
    check_kind(kind_of(path)?, pixels, &path.display().to_string())
}

/// Whether a picture of this kind, which `what` names, has the pixels that were asked for.
pub(crate) fn check_kind(kind: Format, pixels: PixelArgs, what: &str) -> Result<(), Usage> {
    match (kind, pixels.asked()) {
        (Format::Svg, Some(_)) => Err(Usage(format!(
            "{what}: --scale cannot be used with SVG, which has no pixels and is sharp at every size; remove \
             --scale, or write a .png"
        ))),
        (Format::Svg | Format::Png, _) => Ok(()),
    }
}

/// Draws charts, one below the other, into the file `path`, which is whole or absent.
pub(crate) fn save(
    charts: &[&Chart],
    path: &Path,
    size: impl Into<Scaled>,
    theme: Theme,
) -> anyhow::Result<()> {
    let picture = render(charts, kind_of(path)?, size, theme)?;
    write(path, &picture)
}

/// Draws a picture of a study into the file `path`.
pub(crate) fn draw_study(picture: &Picture, path: &Path, scale: PixelScale) -> anyhow::Result<()> {
    let panels = match picture {
        Picture::One(chart) => return draw(chart, path, scale),
        Picture::Panels(panels) => panels,
    };
    let picture = panels.render(kind_of(path)?, panels.size().at(scale), Theme::Light)?;
    write(path, &picture)
}

fn write(path: &Path, picture: &[u8]) -> anyhow::Result<()> {
    WholeFile::write_all(path, picture)
        .with_context(|| format!("{}: cannot write the picture", path.display()))
}

/// Draws a chart of the usual size into the file `path`.
pub(crate) fn draw(chart: &Chart, path: &Path, scale: PixelScale) -> anyhow::Result<()> {
    save(&[chart], path, Size::default().at(scale), Theme::Light)
}
