//! The command `iosonar`.

use std::process::ExitCode;

use iosonar::cli::{Assets, run};

/// What the demo needs, so that it runs wherever the binary is installed.
const ASSETS: Assets = Assets {
    demo_load: include_bytes!("../fixtures/database-server.load.gz"),
    demo_scenario: include_str!("../examples/raid5-mysql.toml"),
};

fn main() -> ExitCode {
    run(std::env::args_os(), &ASSETS)
}
