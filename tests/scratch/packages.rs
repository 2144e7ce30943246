//! The packages of others, which cargo keeps on this machine.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Whether cargo has every package that `Cargo.lock` names; what a build on this platform does not need may have to be
/// downloaded. Says so if that cannot be done, or if there is no cargo.
pub fn are_here() -> bool {
    static ARE_HERE: OnceLock<bool> = OnceLock::new();
    *ARE_HERE.get_or_init(|| match fetched() {
        Ok(()) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    })
}

fn fetched() -> Result<(), String> {
    let fetch = Command::new(env!("CARGO"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(["fetch", "--locked"])
        .output();
    match fetch {
        Err(e) if e.kind() == ErrorKind::NotFound => Err(format!("{} is not here", env!("CARGO"))),
        fetch => {
            let fetch = fetch.unwrap();
            let why = String::from_utf8_lossy(&fetch.stderr);
            assert!(!why.contains("lock file"), "{why}");
            let problem = || format!("not all packages can be downloaded: {why}");
            fetch.status.success().then_some(()).ok_or_else(problem)
        }
    }
}
