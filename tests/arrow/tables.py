"""Reads tables of results with a library, and compares them with the same tables as CSV.

    python3 tables.py pyarrow|polars|duckdb STEM ...

Of each STEM there are STEM.csv, STEM.parquet, STEM.arrow and STEM.feather, as far as they were written.
"""

import csv
import os
import sys

LIBRARY, STEMS = sys.argv[1], sys.argv[2:]
SCALES = {"_ns": 1, "_ms": 1_000_000, "_s": 1_000_000_000}
COUNTS = {"replication", "request", "device", "sector", "sectors", "jobs", "requests", "reads", "writes", "repetitions", "count"}
TEXTS = {"op", "scenario", "mark", "series", "panel", "curve", "kind", "no_result", "standing", "path", "failed", "hash"}


def scale_of(name):
    """The nanoseconds of the unit of a column of times, and the name in nanoseconds; None of others."""
    stem, behind = (name[: -len("_ci95")], "_ci95") if name.endswith("_ci95") else (name, "")
    if stem.endswith("_per_s"):
        return None
    for ending, scale in SCALES.items():
        if stem.endswith(ending):
            return scale, stem[: -len(ending)] + "_ns" + behind
    return None


def read_csv(stem):
    """Names and columns of text."""
    with open(stem + ".csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert rows, f"{stem}.csv has no rows"
    return header, list(zip(*rows))


def same(value, text, scale):
    """Whether a value is what CSV has; times are whole nanoseconds."""
    if text == "":
        return value in (None, "")
    if scale is not None:
        return abs(value - float(text) * scale) <= 0.5 + 1e-12 * abs(value)
    if isinstance(value, str):
        return value == text
    return value == float(text)


def compare(name, stem, columns):
    """Compares columns with those of the CSV file. Other columns may follow."""
    header, wanted = read_csv(stem)
    names = [(scale_of(of) or (None, of))[1] for of in header]
    assert list(columns)[: len(names)] == names, (name, list(columns), names)
    for csv_name, column_name, texts in zip(header, names, wanted):
        scale = (scale_of(csv_name) or (None,))[0]
        values = columns[column_name]
        assert len(values) == len(texts), (name, column_name)
        for row, (value, text) in enumerate(zip(values, texts)):
            assert same(value, text, scale), (name, column_name, row, value, text)


def files(stem, endings):
    found = [stem + ending for ending in endings if os.path.exists(stem + ending)]
    assert found, stem
    return found


def with_pyarrow():
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    for stem in STEMS:
        for name in files(stem, [".parquet", ".arrow", ".feather"]):
            table = pa.parquet.read_table(name) if name.endswith(".parquet") else pa.feather.read_table(name)
            table.validate(full=True)
            metadata = table.schema.metadata
            assert metadata[b"iosonar.tool"].startswith(b"iosonar "), (name, metadata)
            assert metadata[b"iosonar.table"], (name, metadata)
            for csv_name in read_csv(stem)[0]:
                scale = scale_of(csv_name)
                field = table.schema.field(scale[1] if scale else csv_name)
                unit = (field.metadata or {}).get(b"unit")
                if scale:
                    assert field.type == pa.duration("ns") and unit == b"ns", (name, field, unit)
                elif csv_name in COUNTS:
                    assert field.type == pa.uint64(), (name, field)
                elif csv_name in TEXTS:
                    assert field.type == pa.string() and unit is None, (name, field)
                elif csv_name.endswith("_per_s"):
                    assert field.type == pa.float64() and unit in (b"1/s", b"MB/s"), (name, field, unit)
                elif csv_name.endswith("_bytes"):
                    assert unit == b"bytes", (name, field, unit)
            for i, field in enumerate(table.schema):
                if pa.types.is_duration(field.type):
                    table = table.set_column(i, field.name, table[field.name].cast(pa.int64()))
            compare(name, stem, table.to_pydict())
            if os.path.basename(stem) == "stages":
                assert metadata[b"iosonar.seed"] == b"7" and metadata[b"iosonar.simulated"], metadata


def with_polars():
    import polars as pl

    for stem in STEMS:
        for name in files(stem, [".parquet", ".arrow", ".feather"]):
            frame = pl.read_parquet(name) if name.endswith(".parquet") else pl.read_ipc(name)
            times = [of for of, kind in frame.schema.items() if kind == pl.Duration("ns")]
            assert times or not any(map(scale_of, frame.columns)), (name, frame.schema)
            frame = frame.with_columns(pl.col(times).dt.total_nanoseconds())
            compare(name, stem, frame.to_dict(as_series=False))


def with_duckdb():
    import duckdb

    for stem in STEMS:
        for name in files(stem, [".parquet"]):
            rows = duckdb.sql(f"select * from '{name}'")
            # Whole numbers, in the unit of the column's name.
            for column, kind in zip(rows.columns, map(str, rows.types)):
                assert not column.endswith("_ns") or kind == "BIGINT", (name, column, kind)
            columns = zip(*rows.fetchall())
            compare(name, stem, {of: list(values) for of, values in zip(rows.columns, columns)})


globals()[f"with_{LIBRARY}"]()
print("same")
