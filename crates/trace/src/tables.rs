//! Tables of results as files: CSV, and the formats that other crates register.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use iosonar_units::Table;

use crate::output::Output;
use crate::{TraceError, WriteOptions, whole_file};

/// A format of tables.
pub trait TableFormat: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The endings of names, without a dot. The first is the usual one.
    fn extensions(&self) -> &'static [&'static str];

    /// Begins a file with the columns of `head`. If that has rows, they say what parameters have for values.
    ///
    /// # Errors
    /// If the beginning of the file cannot be written.
    fn writer(&self, output: Box<dyn Output>, head: &Table) -> io::Result<Box<dyn TableWriter>>;
}

/// Writes a table, part by part.
pub trait TableWriter: Send {
    /// Appends rows.
    ///
    /// # Errors
    /// If they cannot be written.
    fn write(&mut self, rows: &Table) -> io::Result<()>;

    /// Completes the file.
    ///
    /// # Errors
    /// If it cannot be completed.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Comma-separated values.
struct Csv;

/// A file of comma-separated values.
struct CsvWriter(Box<dyn Output>);

impl TableFormat for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn writer(
        &self,
        mut output: Box<dyn Output>,
        head: &Table,
    ) -> io::Result<Box<dyn TableWriter>> {
        output.write_all(head.csv_header().as_bytes())?;
        Ok(Box::new(CsvWriter(output)))
    }
}

impl TableWriter for CsvWriter {
    fn write(&mut self, rows: &Table) -> io::Result<()> {
        self.0.write_all(rows.csv_rows().as_bytes())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.close()
    }
}

/// The formats that need a feature of the package: their endings, and the feature.
const BY_FEATURE: [(&str, &str); 4] = [
    ("parquet", "arrow"),
    ("arrow", "arrow"),
    ("feather", "arrow"),
    ("ipc", "arrow"),
];

/// The formats that other crates registered.
static REGISTERED: RwLock<Vec<&'static dyn TableFormat>> = RwLock::new(Vec::new());

/// Adds a format to those that this process knows. False if there is one of this name already: that one stays.
pub fn register(format: &'static dyn TableFormat) -> bool {
    // A list is whole even where a thread panicked that was to add to it.
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if registered.iter().any(|other| other.name() == format.name()) {
        return false;
    }
    registered.push(format);
    true
}

fn registered(ending: &str) -> Option<&'static dyn TableFormat> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    let mut formats = registered.iter();
    let found = formats.find(|format| format.extensions().contains(&ending));
    found.copied()
}

/// What a format needs that this process does not have: the name of a feature of the package.
pub(crate) fn feature_for(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    let (_, feature) = BY_FEATURE.iter().find(|(of, _)| *of == ending)?;
    Some(feature)
}

/// The format that a table called `path` will have: what its name ends in, else CSV.
///
/// # Errors
/// If the name is of a format that this build does not have.
pub fn format_for(path: &Path) -> Result<&'static dyn TableFormat, TraceError> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    if let Some(format) = ending.and_then(registered) {
        return Ok(format);
    }
    if matches!(ending, Some("gz" | "zst")) {
        let within = path.with_extension("");
        let ending = within.extension().and_then(|ending| ending.to_str());
        if ending.and_then(registered).is_some() || feature_for(&within).is_some() {
            return Err(TraceError::Option(format!(
                "{}: files of this format have their own compression: use the name {}, or write .csv",
                path.display(),
                within.display()
            )));
        }
    }
    match feature_for(path) {
        Some(feature) => Err(TraceError::NeedsFeature {
            path: path.to_owned(),
            feature,
        }),
        None => Ok(&Csv),
    }
}

/// Begins a table at `path`, `-` for standard output, with the columns of `head`. Where the reader of standard output
/// has gone away, the rest is dropped.
///
/// # Errors
/// As [`format_for`], and if the file cannot be written.
pub fn create(path: &Path, head: &Table) -> Result<Box<dyn TableWriter>, TraceError> {
    let format = format_for(path)?;
    let options = WriteOptions {
        outlives_reader: true,
        ..WriteOptions::default()
    };
    let begun = whole_file::open(path, &options).and_then(|output| format.writer(output, head));
    begun.map_err(|source| unwritten(path, source))
}

fn unwritten(path: &Path, source: io::Error) -> TraceError {
    TraceError::Io {
        path: path.to_owned(),
        action: "write",
        source,
    }
}

/// Writes a table to `path`, in the format that its name ends in, else as CSV.
///
/// # Errors
/// As [`create`].
pub fn write(path: &Path, table: &Table) -> Result<(), TraceError> {
    let mut writer = create(path, table)?;
    let written = writer.write(table).and_then(|()| writer.finish());
    written.map_err(|source| unwritten(path, source))
}

#[cfg(test)]
mod tests {
    use iosonar_units::Column;

    use super::*;

    #[test]
    fn a_table_of_a_format_that_this_build_lacks_is_refused_with_the_feature_and_csv() {
        for name in ["points.parquet", "x.arrow", "x.feather"] {
            let error = write(name.as_ref(), &Table::default()).unwrap_err();
            let text = error.to_string();
            assert!(error.is_refusal() && !Path::new(name).exists());
            assert!(
                text.starts_with(name) && text.contains("feature 'arrow'") && text.contains(".csv"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_table_that_is_compressed_by_itself_is_not_compressed_again() {
        for name in ["points.parquet.gz", "x.arrow.zst"] {
            let error = write(name.as_ref(), &Table::default()).unwrap_err();
            assert!(error.is_refusal() && !Path::new(name).exists());
            assert!(error.to_string().contains("use the name"), "{error}");
        }
    }

    #[test]
    fn other_names_are_csv_compressed_as_they_say() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = Table::new([Column::counts("n")]);
        table.row().put(7_u64);
        for (name, compressed) in [("a.csv", false), ("a.txt", false), ("a.csv.gz", true)] {
            let path = folder.path().join(name);
            write(&path, &table).unwrap();
            let bytes = std::fs::read(path).unwrap();
            assert_eq!(bytes == b"n\n7\n", !compressed, "{name}");
        }
    }
}
