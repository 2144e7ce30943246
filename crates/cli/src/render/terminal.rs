//! What the terminal is like.

use std::io::IsTerminal;

/// Columns and lines of the terminal; 100 x 32 without a terminal.
pub(crate) fn size() -> (usize, usize) {
    match reported() {
        Some(size) => size,
        None => (of("COLUMNS").unwrap_or(100), of("LINES").unwrap_or(32)),
    }
}

/// Columns for the help: those of the terminal; 80 without a terminal.
pub(crate) fn columns_for_help() -> usize {
    reported().map_or_else(|| of("COLUMNS").unwrap_or(80), |(columns, _)| columns)
}

/// Columns and lines, as the terminal reports them.
fn reported() -> Option<(usize, usize)> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

fn of(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
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
