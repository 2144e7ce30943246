//! Inputs that must be files.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// A file of this process with these contents, in memory where there is such a folder: some file systems write a file that was
/// emptied and written again to the disk at once, which took most of the time of an input.
pub(crate) fn file(bytes: &[u8]) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    let path = folder.join(format!("iosonar-fuzz-{}", std::process::id()));
    let mut file = File::create(&path).expect("the folder for temporary files can be written");
    file.write_all(bytes).expect("there is room");
    path
}
