//! Formats that other crates register, which a process does once: these tests are a process of their own.

use std::io;
use std::path::Path;

use iosonar_trace::output::Output;
use iosonar_trace::tables::{self, TableFormat, TableWriter};
use iosonar_trace::{Format, ReadOptions, Source, TraceError, TraceReader, formats, output};
use iosonar_units::Table;

/// A format of this name.
struct Named(&'static str);

impl Format for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["mine"]
    }

    fn description(&self) -> &'static str {
        "a format of a test"
    }

    fn columns(&self) -> &'static str {
        "none"
    }

    fn loses(&self) -> Option<&'static str> {
        Some("everything")
    }

    fn recognises(&self, _: &[u8]) -> bool {
        false
    }

    fn reader(&self, _: Source, _: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
        Err(TraceError::Option("this format has no rows".to_owned()))
    }
}

impl TableFormat for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["mine"]
    }

    fn writer(&self, _: Box<dyn Output>, _: &Table) -> io::Result<Box<dyn TableWriter>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[test]
fn a_trace_format_is_registered_once_under_a_name_of_its_own() {
    assert!(formats::by_format_name("mine").is_err());
    assert!(formats::register(&Named("mine")));
    assert!(!formats::register(&Named("mine")), "the name is taken");
    assert!(!formats::register(&Named("csv")), "this crate has it");
    assert!(formats::register(&Named("mine-2")));
    let found = formats::by_format_name("mine").unwrap();
    assert_eq!(found.description(), "a format of a test");
    let by_name = output::format_for(Path::new("x.mine.gz")).unwrap();
    assert_eq!(by_name.name(), "mine");
    let unknown = formats::by_format_name("other").err().unwrap().to_string();
    let names: Vec<&str> = formats::all().iter().map(|format| format.name()).collect();
    assert!(names.contains(&"mine") && names.contains(&"ios"));
    assert_eq!(
        unknown,
        format!(
            "'other' is not a format, expected one of: {}",
            names.join(", ")
        )
    );
}

#[test]
fn a_table_format_is_registered_once_under_a_name_of_its_own() {
    let of = |name: &str| tables::format_for(Path::new(name)).map(TableFormat::name);
    for csv in ["x.csv", "x", "x.csv.gz", "x.mine"] {
        assert_eq!(of(csv).unwrap(), "csv", "{csv}");
    }
    let csv = tables::format_for(Path::new("x")).unwrap();
    assert_eq!(csv.extensions(), ["csv"]);
    assert!(tables::register(&Named("mine")));
    assert!(!tables::register(&Named("mine")), "the name is taken");
    assert!(tables::register(&Named("mine-2")));
    assert_eq!(of("x.mine").unwrap(), "mine");
    let packed = of("x.mine.gz").unwrap_err();
    assert!(
        packed.to_string().contains("use the name x.mine"),
        "{packed}"
    );
}
