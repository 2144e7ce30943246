//! Opens what was written in the programs of the user's desktop.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::exit::note;

/// Opens a file in the program that the desktop has for it. Where there is no desktop, or nothing that opens it, a note says
/// so: the file was written, and that is what counts.
pub(crate) fn show(path: &Path) {
    show_as(path.as_os_str(), &path.display());
}

/// The same of a page that is served. Its address has a token, and the arguments of a process are visible to all users, so
/// what is opened is a file that only this user can read and that leads there. It is needed until it has been opened, and
/// goes with the value that is returned.
pub(crate) fn show_url(url: &str) -> Option<NamedTempFile> {
    match leading_to(url) {
        Ok(file) => {
            show_as(file.path().as_os_str(), &url);
            Some(file)
        }
        Err(error) => {
            note(&format!("note: cannot open {url}: {error}"));
            None
        }
    }
}

/// A page that leads to `url`, which needs no escapes.
fn leading_to(url: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("iosonar-")
        .suffix(".html")
        .tempfile()?;
    write!(
        file,
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>iosonar</title>\n<a href=\"{url}\">{url}</a>\n"
    )?;
    file.flush()?;
    Ok(file)
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::leading_to;

    #[test]
    fn the_address_of_a_page_is_for_its_user_alone() {
        let file = leading_to("http://127.0.0.1:1/?token=x").unwrap();
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("url=http://127.0.0.1:1/?token=x"), "{text}");
    }
}
