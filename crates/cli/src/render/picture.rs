//! Pictures as files.

use std::path::Path;

use anyhow::Context;
use iosonar_plot::{Chart, Format, Size, Theme, render};
use iosonar_study::vary::Picture;
use iosonar_trace::output::WholeFile;

use crate::exit::Usage;

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

/// Draws charts, one below the other, into the file `path`, which is whole or absent.
pub(crate) fn save(charts: &[&Chart], path: &Path, size: Size, theme: Theme) -> anyhow::Result<()> {
    let picture = render(charts, kind_of(path)?, size, theme)?;
    write(path, &picture)
}

/// Draws a picture of a study into the file `path`.
pub(crate) fn draw_study(picture: &Picture, path: &Path) -> anyhow::Result<()> {
    let panels = match picture {
        Picture::One(chart) => return draw(chart, path),
        Picture::Panels(panels) => panels,
    };
    let picture = panels.render(kind_of(path)?, panels.size(), Theme::Light)?;
    write(path, &picture)
}

fn write(path: &Path, picture: &[u8]) -> anyhow::Result<()> {
    WholeFile::write_all(path, picture)
        .with_context(|| format!("{}: cannot write the picture", path.display()))
}

/// Draws a chart of the usual size into the file `path`.
pub(crate) fn draw(chart: &Chart, path: &Path) -> anyhow::Result<()> {
    save(&[chart], path, Size::default(), Theme::Light)
}
