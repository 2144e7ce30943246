//! Python, for what is checked by its libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that has this library, of the virtual environment beside the build or the system's.
pub fn python_with(library: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../notebook/bin/python3");
    let chosen = std::env::var_os("IOSONAR_TEST_PYTHON").map(PathBuf::from);
    let imports = |python: &PathBuf| {
        let import = Command::new(python)
            .args(["-c", &format!("import {library}")])
            .output();
        import.is_ok_and(|output| output.status.success())
    };
    chosen
        .into_iter()
        .chain([beside, "python3".into()])
        .find(imports)
}
