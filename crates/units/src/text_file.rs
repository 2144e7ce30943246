//! Small text files: scenarios, profiles, experiments.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest text file that is read as a whole.
const MOST: u64 = 16 << 20;

/// The text of a file of at most 16 MiB. Regular files, pipes and FIFOs are read; devices are not: one such as
/// `/dev/zero` has no end.
///
/// # Errors
/// If the file cannot be read, is a directory or a device, is larger, or is not UTF-8.
pub fn read_text_file(path: &Path) -> io::Result<String> {
    let refuse = |problem: String| Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    let file = File::open(path)?;
    if let Some(kind) = endless(&file.metadata()?) {
        return refuse(format!("it is a {kind}, expected a text file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return refuse(format!(
            "it is larger than {} MiB, expected a text file",
            MOST >> 20
        ));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return refuse(format!("byte {at} is a null byte, expected a text file"));
    }
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// What a file is that may have no end.
#[cfg(unix)]
fn endless(metadata: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_char_device() {
        Some("character device")
    } else if kind.is_block_device() {
        Some("block device")
    } else {
        None
    }
}

#[cfg(not(unix))]
fn endless(_: &std::fs::Metadata) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_no_text_file() {
        let complaint = |path: &Path| read_text_file(path).unwrap_err().to_string();
        if cfg!(unix) {
            let zeros = complaint(Path::new("/dev/zero"));
            assert_eq!(zeros, "it is a character device, expected a text file");
        }
        let directory = std::env::temp_dir().join(format!("text-file-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("large");
        let file = File::create(&path).unwrap();
        file.set_len(MOST + 1).unwrap();
        assert_eq!(
            complaint(&path),
            "it is larger than 16 MiB, expected a text file"
        );
        file.set_len(3).unwrap();
        assert_eq!(
            complaint(&path),
            "byte 0 is a null byte, expected a text file"
        );
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text_file(&path).unwrap(), "text");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
