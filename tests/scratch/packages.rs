//! The packages of others, which cargo keeps on this machine.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Whether cargo has every package that `Cargo.lock` names; what a build on this platform does not need may have to be
/// downloaded. Says so if that cannot be done, or if there is no cargo.
pub fn are_here() -> bool {
    let fetch = Command::new(env!("CARGO"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(["fetch", "--locked"])
        .output();
    match fetch {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: {} is not here", env!("CARGO"));
            false
        }
        fetch => {
            let fetch = fetch.unwrap();
            if !fetch.status.success() {
                let why = String::from_utf8_lossy(&fetch.stderr);
                eprintln!("skipped: not all packages can be downloaded: {why}");
            }
            fetch.status.success()
        }
    }
}
