//! Writes good files of a binary format, `seeds FORMAT FOLDER TRACE...`: an input needs more luck than there is to become one.
//! Each follows the byte with the options.
//!
//! The program must be built as the targets are, which take no notice of checksums.

// What counts the coverage of the crates that are used here.
use iosonar_fuzz as _;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch, StringArray};
use iosonar_trace::{Batch, ReadOptions, input, output};
use parquet::arrow::ArrowWriter;

fn main() {
    iosonar_arrow::register();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, folder, traces @ ..] = &arguments[..] else {
        panic!("usage: seeds FORMAT FOLDER TRACE...");
    };
    let folder = Path::new(folder);
    let mut files: Vec<Vec<u8>> = match &format[..] {
        "blktrace" => vec![blktrace(7), blktrace(8)],
        _ => traces
            .iter()
            .filter_map(|trace| converted(Path::new(trace), folder, format))
            .collect(),
    };
    files.extend(table_of_others(format));
    for (number, file) in files.into_iter().enumerate() {
        let input = [&[0], &file[..]].concat();
        fs::write(folder.join(format!("{format}-{number}")), input)
            .expect("the folder can be written");
    }
}

/// The trace in this format; `None` if the options say nothing of how it must be read.
fn converted(trace: &Path, folder: &Path, format: &str) -> Option<Vec<u8>> {
    let path = folder.join(format!("converted.{format}"));
    let mut reader = input::open_with(trace, &ReadOptions::default()).ok()?;
    let mut batch = Batch::default();
    let rows = reader.next_batch(&mut batch).ok()?;
    let metadata = reader.metadata().clone();
    let mut writer = output::create(&path, &metadata).expect("the folder can be written");
    if rows > 0 {
        writer.write(&batch).expect("its format holds all records");
    }
    writer.finish().expect("the folder can be written");
    let file = fs::read(&path).expect("it was written");
    fs::remove_file(&path).expect("it was written");
    Some(file)
}

/// A file of few columns, as other programs write it: it is much shorter than ours.
fn table_of_others(format: &str) -> Option<Vec<u8>> {
    let columns: [(&str, ArrayRef); 4] = [
        ("time_us", Arc::new(Int64Array::from(vec![1, 2]))),
        ("sector", Arc::new(Int64Array::from(vec![100, 200]))),
        ("sectors", Arc::new(Int8Array::from(vec![8, 16]))),
        ("op", Arc::new(StringArray::from(vec!["read", "W"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("its columns are equally long");
    let mut file = Vec::new();
    match format {
        "parquet" => {
            let writer = ArrowWriter::try_new(&mut file, batch.schema(), None);
            let mut writer = writer.expect("Parquet has these types");
            writer.write(&batch).expect("memory can be written");
            writer.close().expect("memory can be written");
        }
        "arrow" => {
            let writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &batch.schema());
            let mut writer = writer.expect("Arrow has these types");
            writer.write(&batch).expect("memory can be written");
            writer.finish().expect("memory can be written");
        }
        _ => return None,
    }
    Some(file)
}

/// A recording of the kernel in this version: the time of day, and a read that is queued, issued and completed.
fn blktrace(version: u32) -> Vec<u8> {
    const READ: u64 = 1 << 16;
    const NOTIFY: u64 = 1 << (16 + 10);
    let time_of_day = [1_000_000_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat();
    let events = [
        (NOTIFY | 1, &time_of_day[..]),
        (READ | 1, &[]),
        (READ | 7, &[]),
        (READ | 8, &[]),
    ];
    let mut file = Vec::new();
    for (number, (action, payload)) in events.into_iter().enumerate() {
        let mut record = Vec::new();
        record.extend((0x6561_7400 | version).to_le_bytes());
        record.extend((number as u32).to_le_bytes());
        record.extend((1000 * number as u64).to_le_bytes());
        record.extend(800_u64.to_le_bytes());
        record.extend(4096_u32.to_le_bytes());
        if version == 7 {
            record.extend((action as u32).to_le_bytes());
            record.extend(42_u32.to_le_bytes());
        } else {
            record.extend(42_u32.to_le_bytes());
            record.extend(action.to_le_bytes());
        }
        record.extend((8_u32 << 20 | 1).to_le_bytes());
        record.extend(0_u32.to_le_bytes());
        record.extend(0_u16.to_le_bytes());
        record.extend((payload.len() as u16).to_le_bytes());
        record.resize(if version == 7 { 48 } else { 64 }, 0);
        record.extend(payload);
        file.extend(record);
    }
    file
}
