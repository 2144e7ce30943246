//! Inputs that must be files.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// A file of this process with these contents.
pub(crate) fn file(bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("iosonar-fuzz-{}", std::process::id()));
    let mut file = File::create(&path).expect("the folder for temporary files can be written");
    file.write_all(bytes).expect("there is room");
    path
}
