//! Opens what was written in the programs of the user's desktop.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::Path;

use crate::exit::note;

/// Opens a file in the program that the desktop has for it. Where there is no desktop, or nothing that opens it, a note says
/// so: the file was written, and that is what counts.
pub(crate) fn show(path: &Path) {
    show_as(path.as_os_str(), &path.display());
}

/// The same of a page that is served.
pub(crate) fn show_url(url: &str) {
    show_as(url.as_ref(), &url);
}

fn show_as(what: &OsStr, name: &dyn Display) {
    if !is_there() {
        note(&format!(
            "note: no desktop (neither DISPLAY nor WAYLAND_DISPLAY is set): open {name} in a browser"
        ));
    } else if let Err(error) = open::that_detached(what) {
        note(&format!("note: cannot open {name}: {error}"));
    }
}

fn is_there() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
}
