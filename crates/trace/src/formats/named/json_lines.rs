//! JSON lines: an object a record.

use serde_json::Value;

use iosonar_units::Nanos;

use super::{LOSES, device_text, texts};
use crate::fields::{Building, COLUMNS, Field, WRITTEN, refuse_unknown, without_column};
use crate::text::{Context, Line, Lines, TextSink, first_lines, skipped, unreadable_row};
use crate::{
    Batch, Format, Metadata, ReadOptions, Record, Sink, Source, TraceError, TraceReader,
    TraceWriter, WriteOptions,
};

/// JSON lines.
pub(crate) struct JsonLines;

impl Format for JsonLines {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl", "ndjson"]
    }

    fn description(&self) -> &'static str {
        "JSON lines, one object per record"
    }

    fn columns(&self) -> &'static str {
        COLUMNS
    }

    fn loses(&self) -> Option<&'static str> {
        Some(LOSES)
    }

    fn maps_columns(&self) -> bool {
        true
    }

    fn recognises(&self, head: &[u8]) -> bool {
        first_lines(head).next().is_some_and(|line| {
            line.starts_with(b"{") && memchr::memmem::find(line, b"\"").is_some()
        })
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        refuse_unknown(&options.columns)?;
        Ok(Box::new(Reader {
            lines: Lines::new(source),
            context: Context::new(options),
            columns: options.columns.clone(),
            lenient: options.lenient,
        }))
    }

    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        _: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        Ok(Box::new(Writer {
            sink: TextSink::new(sink),
            devices: metadata.devices.clone(),
        }))
    }
}

struct Reader {
    lines: Lines,
    context: Context,
    columns: Vec<(String, String)>,
    lenient: bool,
}

/// What is expected instead of a field, where another one of the line has the same meaning, or should have by what the user
/// says of names.
fn problem_of(
    name: &str,
    field: Field,
    is_mapped: bool,
    columns: &[(String, String)],
    before: &[(Field, &str)],
) -> Option<String> {
    let means_the_same =
        |ours: &str| Field::of(ours).is_some_and(|ours| ours.means_the_same(field));
    let instead = columns.iter().find(|(ours, _)| means_the_same(ours));
    if let Some((ours, theirs)) = instead.filter(|_| !is_mapped) {
        return Some(format!(
            "the field '{theirs}', which --columns maps to {ours}, instead of '{name}'"
        ));
    }
    let other = before.iter().find(|(of, _)| of.means_the_same(field));
    other.map(|(_, other)| {
        format!("only one of the fields '{other}' and '{name}', which have the same meaning")
    })
}

fn record(
    line: &Line<'_>,
    columns: &[(String, String)],
    context: &mut Context,
) -> Result<(Record, Option<Nanos>), TraceError> {
    let object: serde_json::Map<String, Value> = serde_json::from_slice(line.bytes)
        .map_err(|e| line.wrong("line", line.bytes, format!("a JSON object: {e}")))?;
    let mut building = Building::default();
    let mut taken: Vec<(Field, &str)> = Vec::new();
    for (name, value) in &object {
        let mapped = columns.iter().find(|(_, theirs)| theirs == name);
        let ours = mapped.map_or(name.as_str(), |(ours, _)| ours.as_str());
        let Some(field) = Field::of(ours) else {
            continue;
        };
        let text = match value {
            Value::Null => continue,
            // It is not there, as in CSV.
            Value::String(text) if text.trim_ascii().is_empty() => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let value_line = Line {
            bytes: text.as_bytes(),
            ..*line
        };
        if let Some(expected) = problem_of(name, field, mapped.is_some(), columns, &taken) {
            return Err(without_column(value_line.wrong(
                name,
                text.as_bytes(),
                expected,
            )));
        }
        taken.push((field, name));
        building
            .take(field, name, text.as_bytes(), &value_line, context)
            .map_err(without_column)?;
    }
    building.done(line, context)
}

impl TraceReader for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while batch.len() < Batch::ROWS && self.lines.advance()? {
            let line = self.lines.line();
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            match record(&line, &self.columns, &mut self.context) {
                Ok((record, think)) => {
                    batch.push_at(&record, self.lines.number());
                    batch.set_think(batch.len() - 1, think);
                }
                Err(e) if self.lenient => skipped(&mut self.context.metadata, &e),
                Err(e) => return Err(unreadable_row(e)),
            }
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.context.metadata
    }
}

struct Writer {
    sink: TextSink,
    devices: Vec<String>,
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        for row in 0..batch.len() {
            let texts = texts(batch, row, |number| device_text(&self.devices, number));
            let out = &mut self.sink.text;
            let mut before = b'{';
            for (name, text) in WRITTEN
                .iter()
                .zip(&texts)
                .filter(|(_, text)| !text.is_empty())
            {
                out.push(before);
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                if Field::of(name).is_some_and(Field::is_word) {
                    out.extend_from_slice(Value::from(text.as_str()).to_string().as_bytes());
                } else {
                    out.extend_from_slice(text.as_bytes());
                }
                before = b',';
            }
            out.extend_from_slice(b"}\n");
            self.sink.flush_if_full()?;
        }
        Ok(())
    }

    fn update(&mut self, metadata: &Metadata) {
        self.devices.clone_from(&metadata.devices);
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.sink.flush_all()
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.sink.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The sector of a line, or what is wrong with it.
    fn sector(fields: &str, columns: &[(&str, &str)]) -> Result<u64, String> {
        let text = format!(r#"{{"time_s":1,"sectors":8,"op":"read",{fields}}}"#);
        let line = Line {
            bytes: text.as_bytes(),
            number: 1,
            path: Path::new("x.jsonl"),
        };
        let owned = |(ours, theirs): &(&str, &str)| ((*ours).to_owned(), (*theirs).to_owned());
        let columns: Vec<_> = columns.iter().map(owned).collect();
        let mut context = Context::new(&ReadOptions::default());
        let read = record(&line, &columns, &mut context);
        read.map(|(record, _)| record.request.sector.get())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn of_two_fields_with_the_same_meaning_neither_is_chosen_silently() {
        let mapped = [("sector", "lba")];
        assert_eq!(sector(r#""lba":16"#, &mapped), Ok(16));
        assert_eq!(sector(r#""lba":16,"sector":null"#, &mapped), Ok(16));
        assert_eq!(
            sector(r#""lba":16,"sector":8"#, &[]),
            Ok(8),
            "it is of something else"
        );
        assert_eq!(
            sector(r#""sector":8,"offset_bytes":"""#, &[]),
            Ok(8),
            "it is not there"
        );
        for (fields, mapped, problem) in [
            (
                r#""lba":16,"sector":8"#,
                &mapped[..],
                "the field 'lba', which --columns maps to sector, instead of 'sector'",
            ),
            (
                r#""offset_bytes":4096"#,
                &[("sector", "typo")],
                "the field 'typo', which --columns maps to sector, instead of 'offset_bytes'",
            ),
            (
                r#""lba":16,"block":8"#,
                &[("sector", "lba"), ("sector", "block")],
                "only one of the fields 'block' and 'lba'",
            ),
            (
                r#""offset_bytes":4096,"sector":8"#,
                &[],
                "only one of the fields 'offset_bytes' and 'sector', which have the same meaning",
            ),
        ] {
            let found = sector(fields, mapped).unwrap_err();
            assert!(found.contains(problem), "{found}");
        }
    }

    #[test]
    fn a_mapping_to_what_is_no_field_is_refused() {
        let read = |ours: &str| {
            let source = Source {
                input: Box::new(std::io::Cursor::new("")),
                path: "x.jsonl".into(),
                file: None,
                cut: crate::CutOff::default(),
            };
            let options = ReadOptions {
                columns: vec![(ours.to_owned(), "lba".to_owned())],
                ..ReadOptions::default()
            };
            JsonLines.reader(source, &options).map(drop)
        };
        assert!(read("sector").is_ok());
        let message = read("sektor").unwrap_err().to_string();
        assert!(
            message.contains("--columns: 'sektor' is not a field"),
            "{message}"
        );
    }
}
