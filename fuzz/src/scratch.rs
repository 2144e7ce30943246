//! Inputs that must be files.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A file of this process, in memory where there is such a folder: some file systems write a file that was emptied and written
/// again to the disk at once, which took most of the time of an input.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    folder.join(format!("iosonar-fuzz-{}", std::process::id()))
});

/// The file, with these contents.
pub(crate) fn file(bytes: &[u8]) -> &'static Path {
    let mut file = File::create(&*PATH).expect("the folder for temporary files can be written");
    file.write_all(bytes).expect("there is room");
    &PATH
}
