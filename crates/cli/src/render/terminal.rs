//! What the terminal is like.

use std::io::IsTerminal;

/// Columns and lines of the terminal; 100 x 30 where there is none.
pub(crate) fn size() -> (usize, usize) {
    let of = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let told = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0);
    match told {
        Some(size) => (usize::from(size.ws_col), usize::from(size.ws_row)),
        None => (of("COLUMNS").unwrap_or(100), of("LINES").unwrap_or(32)),
    }
}

/// Whether colours are wanted: not where `NO_COLOR` says no, nor in a file, unless `CLICOLOR_FORCE` asks for
/// them.
pub(crate) fn has_colour() -> bool {
    has_colour_on(&std::io::stdout())
}

/// The same of another stream.
pub(crate) fn has_colour_on(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    is_set("CLICOLOR_FORCE") || stream.is_terminal()
}
