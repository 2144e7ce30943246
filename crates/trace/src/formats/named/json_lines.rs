//! JSON lines: an object a record.

use serde_json::Value;

use iosonar_units::Nanos;

use super::{LOSES, device_text, texts};
use crate::fields::{Building, COLUMNS, Field, WRITTEN};
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

fn record(
    line: &Line<'_>,
    columns: &[(String, String)],
    context: &mut Context,
) -> Result<(Record, Option<Nanos>), TraceError> {
    let object: serde_json::Map<String, Value> = serde_json::from_slice(line.bytes)
        .map_err(|e| line.wrong("line", line.bytes, format!("a JSON object: {e}")))?;
    let mut building = Building::default();
    for (name, value) in &object {
        let mapped = columns.iter().find(|(_, theirs)| theirs == name);
        let ours = mapped.map_or(name.as_str(), |(ours, _)| ours.as_str());
        let Some(field) = Field::of(ours) else {
            continue;
        };
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let value_line = Line {
            bytes: text.as_bytes(),
            ..*line
        };
        building
            .take(field, name, text.as_bytes(), &value_line, context)
            .map_err(|mut e| {
                if let TraceError::Field { place, .. } = &mut e {
                    place.column = 0;
                }
                e
            })?;
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
