//! The command `iosonar`.

use std::process::ExitCode;

fn main() -> ExitCode {
    iosonar::command_line()
}
