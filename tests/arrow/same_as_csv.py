"""Reads records.parquet, records.arrow and records.feather with a library, and compares them with records.csv.

    python3 same_as_csv.py pyarrow|polars|duckdb|pandas
"""

import csv
import json
import sys

LIBRARY = sys.argv[1]
FILES = ["records.parquet", "records.arrow", "records.feather"]
TIMES = ["time_ns", "delay_ns", "latency_ns", "think_ns"]
WORDS = ["op", "flags", "device", "status"]


def expected():
    """The rows of the CSV file, typed."""
    with open("records.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name in TIMES:
            row[name] = int(row[name]) if row[name] else None
        for name in ["sector", "sectors", "class", "group"]:
            row[name] = int(row[name] or 0)
        row["pushed_back"] = row["pushed_back"] == "1"
    return rows


def compare(name, rows):
    """Compares rows, whose times are whole nanoseconds."""
    wanted = expected()
    assert len(rows) == len(wanted) > 100, (name, len(rows), len(wanted))
    for number, (row, want) in enumerate(zip(rows, wanted)):
        assert row == want, (name, number, row, want)


def check_metadata(metadata):
    """What the trace says of itself."""
    metadata = {as_text(key): as_text(value) for key, value in metadata.items()}
    assert metadata["iosonar.version"] == "1", metadata
    trace = json.loads(metadata["iosonar.trace"])
    assert trace["devices"] == ["sda", "sdb"], trace
    assert set(trace) == {"notices", "origin_ns", "devices", "about"}, trace


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


def with_pyarrow():
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    types = {
        **{name: pa.duration("ns") for name in TIMES},
        "sector": pa.uint64(),
        "sectors": pa.uint32(),
        "class": pa.uint16(),
        "group": pa.uint32(),
        "pushed_back": pa.bool_(),
    }
    for name in FILES:
        if name.endswith(".parquet"):
            table = pyarrow.parquet.read_table(name)
        elif name.endswith(".feather"):
            table = pyarrow.feather.read_table(name)
        else:
            with pa.OSFile(name) as file:
                table = pa.ipc.open_file(file).read_all()
        table.validate(full=True)
        for column, wanted in types.items():
            assert table.schema.field(column).type == wanted, (name, column, table.schema)
        for column in WORDS:
            assert pa.types.is_dictionary(table.schema.field(column).type), (name, column)
        check_metadata(table.schema.metadata)
        whole = [(column, pa.int64()) for column in TIMES]
        for column, wanted in whole:
            index = table.schema.get_field_index(column)
            table = table.set_column(index, column, table[column].cast(wanted))
        compare(name, table.to_pylist())


def with_pandas():
    import pandas as pd

    for name in FILES:
        frame = pd.read_parquet(name) if name.endswith(".parquet") else pd.read_feather(name)
        for column in TIMES:
            assert frame[column].dtype == "timedelta64[ns]", (name, frame.dtypes)
        for column in WORDS:
            assert frame[column].dtype == "category", (name, frame.dtypes)
        mean = frame["latency_ns"].mean()
        known = [row["latency_ns"] for row in expected() if row["latency_ns"] is not None]
        assert abs(mean.value - sum(known) / len(known)) < 1, (name, mean)
        assert frame["latency_ns"].isna().sum() == len(frame) - len(known)


def with_polars():
    import polars as pl

    for name in FILES:
        frame = pl.read_parquet(name) if name.endswith(".parquet") else pl.read_ipc(name)
        for column in TIMES:
            assert frame.schema[column] == pl.Duration("ns"), (name, frame.schema)
        assert frame.schema["sector"] == pl.UInt64, (name, frame.schema)
        assert frame.schema["pushed_back"] == pl.Boolean, (name, frame.schema)
        whole = [pl.col(column).dt.total_nanoseconds() for column in TIMES]
        words = [pl.col(column).cast(pl.String) for column in WORDS]
        compare(name, frame.with_columns(whole + words).to_dicts())
        # Without reading all of it.
        lazy = pl.scan_parquet(name) if name.endswith(".parquet") else pl.scan_ipc(name)
        done = lazy.filter(pl.col("status").cast(pl.String) == "done").select(pl.len()).collect().item()
        assert done == sum(row["status"] == "done" for row in expected()), (name, done)
    check_metadata(pl.read_parquet_metadata("records.parquet"))


def with_duckdb():
    import duckdb

    # Parquet has no durations: whole numbers, in the unit of the column's name.
    rows = duckdb.sql("select * from 'records.parquet'")
    types = dict(zip(rows.columns, map(str, rows.types)))
    for column in TIMES:
        assert types[column] == "BIGINT", types
    for column in WORDS:
        assert types[column] == "VARCHAR", types
    assert types["sector"] == "UBIGINT" and types["pushed_back"] == "BOOLEAN", types
    compare("records.parquet", [dict(zip(rows.columns, row)) for row in rows.fetchall()])
    said = duckdb.sql("select key, value from parquet_kv_metadata('records.parquet')").fetchall()
    check_metadata(dict(said))
    by_op = duckdb.sql("select op, avg(delay_ns + latency_ns) from 'records.parquet' where status = 'done' group by op")
    for op, mean in by_op.fetchall():
        known = [row for row in expected() if row["status"] == "done" and row["op"] == op]
        wanted = sum(row["delay_ns"] + row["latency_ns"] for row in known) / len(known)
        assert abs(mean - wanted) < 1e-6 * wanted, (op, mean, wanted)


def write_back():
    """Tables as a researcher writes them, for iosonar to read."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    with pa.OSFile("records.arrow") as file:
        table = pa.ipc.open_file(file).read_all()
    pyarrow.parquet.write_table(table, "back.parquet")
    pyarrow.feather.write_feather(table, "back.feather")
    plain = pa.table(
        {
            "Timestamp": table["time_ns"].cast(pa.int64()).cast(pa.timestamp("ns")),
            "Offset": pa.array([row.as_py() * 512 for row in table["sector"]], pa.int64()),
            "Size": pa.array([row.as_py() * 512 for row in table["sectors"]], pa.int32()),
            "Type": table["op"].cast(pa.string()),
        }
    )
    pyarrow.parquet.write_table(plain, "plain.parquet")


def write_back_with_polars():
    import polars as pl

    frame = pl.read_parquet("records.parquet")
    frame.write_ipc("back.arrow", compression="lz4")
    frame.write_parquet("back.parquet", compression="snappy")


if LIBRARY == "write":
    write_back()
elif LIBRARY == "write-polars":
    write_back_with_polars()
else:
    globals()[f"with_{LIBRARY}"]()
print("same")
