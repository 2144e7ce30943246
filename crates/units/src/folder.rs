//! Where a file is, and folders for files.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folder that a file is in, or is to be in.
pub fn folder_of(file: &Path) -> &Path {
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A folder for outputs. What had to be made for it is removed again, when this is dropped, if nothing was put into it.
#[derive(Debug)]
pub struct OutputFolder {
    /// The folders that were made, the innermost first.
    made: Vec<PathBuf>,
}

impl OutputFolder {
    /// Makes the folder, and those above it, where they are missing.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make(folder: &Path) -> io::Result<Self> {
        let missing = folder
            .ancestors()
            .take_while(|of| !of.as_os_str().is_empty() && !of.exists());
        // From now on, what was made is removed even where the rest cannot be.
        let made = Self {
            made: missing.map(Path::to_owned).collect(),
        };
        fs::create_dir_all(folder)?;
        Ok(made)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        for folder in &self.made {
            // Only an empty folder can be removed. What was never made does not matter.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The file beside `path` whose name has this at its end.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_made_stays_if_something_is_put_into_it() {
        let root = std::env::temp_dir().join(format!("iosonar-units-{}", std::process::id()));
        let inner = root.join("a/b");
        drop(OutputFolder::make(&inner).unwrap());
        assert!(!root.exists());
        let folder = OutputFolder::make(&inner).unwrap();
        fs::write(inner.join("x"), "").unwrap();
        drop(folder);
        assert!(inner.join("x").exists());
        fs::remove_file(inner.join("x")).unwrap();
        // It was there before.
        drop(OutputFolder::make(&inner).unwrap());
        assert!(inner.exists());
        fs::remove_dir_all(&root).unwrap();
    }
}
