"""Outputs of iosonar in Polars. Make them first: docs/src/notebook.md has the commands. Run in their folder:

    python3 examples/notebook/with_polars.py
"""

# %% Records: one row a request, times in nanoseconds
import json

import polars as pl

records = pl.read_csv("records.csv", infer_schema_length=None).with_columns(
    response_ms=(pl.col("delay_ns") + pl.col("latency_ns")) / 1e6
)
done = records.filter(pl.col("status") == "done")
by_op = done.group_by("op").agg(
    count=pl.len(),
    mean=pl.col("response_ms").mean(),
    p50=pl.col("response_ms").quantile(0.5),
    p99=pl.col("response_ms").quantile(0.99),
)
print(by_op)

# %% The same as JSON lines
lines = pl.read_ndjson("records.jsonl", infer_schema_length=None)
assert lines["latency_ns"].equals(records["latency_ns"])

# %% Results: one row a metric, a column for each label
with open("result.json") as file:
    metrics = json.load(file)["metrics"]
response = pl.DataFrame(
    [
        {"op": m["labels"].get("op"), "n": m["n"], "mean": m["mean"], "p99": m["quantiles"]["0.99"]}
        for m in metrics
        if m["name"] == "response_time"
    ]
)
print(response)

# %% sim --vary: one row a combination; a size is text, such as 64KiB
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
size = pl.col("array.stripe_unit").str.extract_groups(r"([\d.]+)(\w+)")
vary = pl.read_csv("vary.csv").with_columns(
    stripe_unit_bytes=size.struct[0].cast(pl.Float64) * size.struct[1].replace_strict(UNITS)
)
print(vary.pivot("stripe_unit_bytes", index="array.disks", values="p99_ms"))

# %% sweep: one row a point, every metric with half the width of its 95 % interval
points = pl.read_csv("tree/points.csv")
print(points.select("disks", "stripe_unit", "response_time_mean_ms", "response_time_mean_ms_ci95"))

# %% Its runs as JSON lines: numbers are typed, and a size has its bytes beside it
runs = pl.read_ndjson("tree/runs.jsonl")
of_runs = runs.group_by("disks", "stripe_unit_bytes").agg(pl.col("response_time_mean_ms").mean())

# %% choose: one row a candidate and target
choose = pl.read_csv("choose.csv")
meets = choose.group_by("candidate").agg(meets=(pl.col("verdict") == "meets").all())
print(meets)

# %% The figures of all three scripts, as one JSON object
largest = (pl.col("disks") == 6) & (pl.col("stripe_unit") == "128KiB")
smallest = (pl.col("array.disks") == 4) & (pl.col("stripe_unit_bytes") == 65536)
figures = {
    "requests": done.height,
    "reads": by_op.filter(pl.col("op") == "read")["count"].item(),
    "mean_ms": done["response_ms"].mean(),
    "p99_ms": done["response_ms"].quantile(0.99),
    "json_mean_ms": response.filter(pl.col("op").is_null())["mean"].item(),
    "vary_p99_ms": vary.filter(smallest)["p99_ms"].item(),
    "point_mean_ms": points.filter(largest)["response_time_mean_ms"].item(),
    "mean_of_runs_ms": of_runs.filter(disks=6, stripe_unit_bytes=128 << 10)["response_time_mean_ms"].item(),
    "candidates": meets.height,
    "meet": int(meets["meets"].sum()),
}
print(json.dumps(figures))
