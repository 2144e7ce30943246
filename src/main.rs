//! The command `iosonar`.

use std::process::ExitCode;

use iosonar::cli::{Assets, Build, run};

/// What the demo needs, so that it runs wherever the binary is installed.
const ASSETS: Assets = Assets {
    build: Build {
        commit: option_env!("IOSONAR_COMMIT"),
        target: env!("IOSONAR_TARGET"),
        profile: env!("IOSONAR_PROFILE"),
        features: env!("IOSONAR_FEATURES"),
    },
    demo_load: include_bytes!("../fixtures/database-server.load.gz"),
    demo_scenario: include_str!("../examples/raid10-database.toml"),
};

fn main() -> ExitCode {
    run(std::env::args_os(), &ASSETS)
}
