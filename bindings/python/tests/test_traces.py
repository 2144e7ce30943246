"""Traces, and their columns in the libraries of Python."""

import gc
import json

import iosonar
import pytest


@pytest.fixture
def records(scenario):
    return iosonar.simulate(scenario, records=True)


def test_a_trace_says_what_is_in_it(trace):
    recording = iosonar.read(trace)
    summary = recording.summary()
    assert len(recording) == summary["records"] == sum(summary["requests"].values()) > 1000
    assert recording.format == "blkreplay"
    assert summary["span_s"] > 0 and summary["bytes"]["read"] % 512 == 0
    assert "database-server" in repr(recording) and "<table>" in recording._repr_html_()
    assert isinstance(recording.metadata["notices"], list)


def test_options_are_those_of_the_command_line(trace):
    whole = iosonar.read(trace)
    reads = iosonar.read(trace, ops="read")
    assert len(reads) == whole.summary()["requests"]["read"] < len(whole)
    window = iosonar.read(trace, from_="1s", until="2s")
    assert 0 < len(window) < len(whole)
    assert len(iosonar.read(trace, select="1s..2s")) == len(window)
    # Changes apply in their order.
    first = iosonar.read(trace, speed=2, until="1s")
    last = iosonar.read(trace, until="1s", speed=2)
    assert len(first) != len(last)


def test_errors_of_traces_say_where_and_what(trace, tmp_path):
    with pytest.raises(iosonar.Error, match="no-such.ios: cannot open the trace"):
        iosonar.read("no-such.ios")
    with pytest.raises(iosonar.Error, match="'op' is not an option for reading a trace"):
        iosonar.read(trace, op="read")
    with pytest.raises(iosonar.Error, match="'ops' is 'reed'"):
        iosonar.read(trace, ops="reed")
    broken = tmp_path / "broken.csv"
    broken.write_text("time_s,sector,sectors,op\n0,0,8,read\n1,x,8,read\n")
    with pytest.raises(iosonar.Error, match=r"broken.csv:3"):
        len(iosonar.read(broken))
    assert len(iosonar.read(broken, lenient=True)) == 1


def test_a_trace_is_written_in_other_formats(trace, tmp_path):
    reads = iosonar.read(trace, ops="read")
    n = reads.write(tmp_path / "reads.csv.gz", lossy=True)
    assert n == len(reads) == len(iosonar.read(tmp_path / "reads.csv.gz"))
    with pytest.raises(iosonar.Error, match="odd.xyz"):
        reads.write(tmp_path / "odd.xyz")
    with pytest.raises(iosonar.Error):
        reads.write(trace)


def test_pyarrow_takes_the_columns_without_a_copy(records):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(records.records)
    assert table.num_rows == 2000
    schema = table.schema
    assert schema.field("time_ns").type == pa.duration("ns")
    assert schema.field("latency_ns").type == pa.duration("ns")
    assert schema.field("sector").type == pa.uint64()
    assert schema.field("sectors").type == pa.uint32()
    assert pa.types.is_dictionary(schema.field("op").type)
    latencies = table["latency_ns"].cast(pa.int64()).to_numpy()
    # The records hold the response times that the simulation measured.
    assert latencies.mean() / 1e6 == pytest.approx(records.mean.value, rel=1e-9)
    ops = table["op"].to_pylist()
    assert ops.count("read") == records.reads.n and ops.count("write") == records.writes.n
    # The buffers are the ones that were exported: nothing in Python allocated them.
    before = pa.total_allocated_bytes()
    again = pa.RecordBatchReader.from_stream(records.records).read_all()
    assert again.nbytes > 50_000
    assert pa.total_allocated_bytes() - before < again.nbytes / 10
    assert again.equals(table)


def test_columns_outlive_the_trace(scenario):
    pa = pytest.importorskip("pyarrow")
    reader = pa.RecordBatchReader.from_stream(iosonar.simulate(scenario, records=True).records)
    gc.collect()
    assert sum(batch.num_rows for batch in reader) == 2000


def test_an_error_in_the_middle_of_a_stream_reaches_its_reader(tmp_path):
    pa = pytest.importorskip("pyarrow")
    broken = tmp_path / "broken.csv"
    rows = "".join(f"{i},{8 * i},8,read\n" for i in range(200_000))
    broken.write_text(f"time_s,sector,sectors,op\n{rows}x,0,8,read\n")
    reader = pa.RecordBatchReader.from_stream(iosonar.read(broken))
    assert reader.read_next_batch().num_rows > 0
    with pytest.raises(Exception, match=r"broken.csv:200002"):
        reader.read_all()


def test_polars_takes_the_columns(records):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(records.records)
    mean = frame["latency_ns"].dt.total_nanoseconds().mean()
    assert mean / 1e6 == pytest.approx(records.mean.value, rel=1e-9)
    assert frame.filter(pl.col("op").cast(pl.String) == "write").height == records.writes.n


def test_duckdb_takes_the_columns(records):
    duckdb = pytest.importorskip("duckdb")
    requests = records.records  # noqa: F841 (DuckDB finds it by its name.)
    rows = duckdb.sql("SELECT op, count(*) AS n FROM requests GROUP BY op").fetchall()
    assert {str(op): n for op, n in rows} == {"read": records.reads.n, "write": records.writes.n}


def test_pandas_takes_the_columns(records):
    pd = pytest.importorskip("pandas")
    if hasattr(pd.DataFrame, "from_arrow"):
        frame = pd.DataFrame.from_arrow(records.records)
    else:
        frame = pytest.importorskip("pyarrow").table(records.records).to_pandas()
    assert len(frame) == 2000
    mean = frame["latency_ns"].mean()
    assert pd.Timedelta(mean).value / 1e6 == pytest.approx(records.mean.value, rel=1e-5)


def test_parquet_and_arrow_files_are_written_and_read(records, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    original = pa.table(records.records)
    for ending in ["parquet", "arrow", "feather"]:
        path = tmp_path / f"copy.{ending}"
        assert records.records.write(path) == len(original)
        trace = iosonar.read(path)
        assert trace.format in (ending, "arrow")
        assert pa.table(trace).to_pylist() == original.to_pylist(), ending
        assert pa.table(trace).schema.types == original.schema.types
        assert trace.metadata["about"] == records.records.metadata["about"]
    assert pq.read_table(tmp_path / "copy.parquet").to_pylist() == original.to_pylist()


def test_columns_of_other_tables_are_mapped(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"t": [0.0, 0.5], "at": [0, 4096], "size": [4096, 8192], "kind": ["read", "write"]})
    pq.write_table(table, tmp_path / "x.parquet")
    columns = "time_s=t,offset_bytes=at,length_bytes=size,op=kind"
    read = pa.table(iosonar.read(tmp_path / "x.parquet", columns=columns))
    assert read["time_ns"].cast(pa.int64()).to_pylist() == [0, 500_000_000]
    assert read["sector"].to_pylist() == [0, 8]
    with pytest.raises(iosonar.Error, match="time_ns"):
        iosonar.read(tmp_path / "x.parquet")


def test_the_columns_have_what_the_trace_says_of_itself(records):
    pa = pytest.importorskip("pyarrow")
    schema = pa.table(records.records).schema
    about = json.loads(schema.metadata[b"iosonar.trace"])["about"]
    assert about == records.records.metadata["about"]
    assert about["seed"]
    assert schema.metadata[b"iosonar.version"] == b"1"
    assert pa.schema(records.records).metadata == schema.metadata
