//! Where unsafe code may stand, in all of iosonar.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules with all of their submodules, and one function.
const ROOMS: [&str; 3] = [
    "crates/linux/src/calls.rs",
    "crates/linux/src/memory.rs",
    "crates/replay/src/engine/passthrough.rs",
];

/// All files below a folder of the workspace with this ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|other| other == ending) {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_code_is_allowed_in_three_places_and_denied_in_every_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let allowed = concat!("allow(", "unsafe_code)");
    let mut sources = Vec::new();
    for folder in ["crates", "src", "tests", "benches", "examples"] {
        files(&root.join(folder), "rs", &mut sources);
    }
    assert!(sources.len() > 500, "the sources are elsewhere");
    sources.retain(|path| fs::read_to_string(path).unwrap().contains(allowed));
    let mut rooms: Vec<_> = sources
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap())
        .collect();
    rooms.sort_unstable();
    assert_eq!(rooms, ROOMS);

    let mut manifests = vec![root.join("Cargo.toml")];
    files(&root.join("crates"), "toml", &mut manifests);
    manifests.retain(|path| path.ends_with("Cargo.toml"));
    for path in &manifests {
        let manifest = fs::read_to_string(path).unwrap();
        let denies = manifest.contains("[lints]\nworkspace = true");
        assert!(denies, "{} has lints of its own", path.display());
    }
    let workspace = fs::read_to_string(&manifests[0]).unwrap();
    assert!(workspace.contains("\nunsafe_code = \"deny\"\n"));
    assert!(workspace.contains("\nundocumented_unsafe_blocks = \"deny\"\n"));
}
