//! What fuzzing has found in place of Arrow and Parquet files is read without a panic, and the same each time.

#[path = "../../trace/tests/common/corpus.rs"]
mod corpus;
#[path = "../../trace/tests/common/rows.rs"]
mod rows;

use std::path::Path;

use iosonar_trace::{ReadOptions, TraceError, input};

fn rows(format: &str, path: &Path) -> Result<u64, TraceError> {
    let options = ReadOptions {
        format: Some(format.to_owned()),
        ..ReadOptions::default()
    };
    rows::count(input::open_with(path, &options)?)
}

#[test]
fn damaged_files_are_errors_or_have_as_many_rows_each_time() {
    iosonar_arrow::register();
    let folder = tempfile::tempdir().unwrap();
    for format in ["arrow", "parquet"] {
        for input in corpus::inputs(format) {
            let bytes = input.get(1..).unwrap_or_default();
            let path = folder.path().join("fuzzed");
            std::fs::write(&path, bytes).unwrap();
            let [first, again] = [(); 2].map(|()| rows(format, &path).map_err(|e| e.to_string()));
            assert_eq!(first, again, "{}", bytes.escape_ascii());
        }
    }
}
