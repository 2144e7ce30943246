//! What the terminal is like.

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
pub(crate) fn reported() -> Option<(usize, usize)> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// A number in the environment.
pub(crate) fn of(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}
