"""Outputs of iosonar in pandas. Make them first: docs/src/notebook.md has the commands. Run in their folder:

    python3 examples/notebook/with_pandas.py
"""

# %% Records: one row a request, times in nanoseconds
import json

import pandas as pd

records = pd.read_csv("records.csv")
records["response_ms"] = (records["delay_ns"] + records["latency_ns"]) / 1e6
done = records[records["status"] == "done"]
by_op = done.groupby("op")["response_ms"].describe(percentiles=[0.5, 0.99])
print(by_op)

# %% The same as JSON lines
lines = pd.read_json("records.jsonl", lines=True)
assert (lines["latency_ns"] == records["latency_ns"]).all()

# %% Results: one row a metric, a column for each label
with open("result.json") as file:
    metrics = pd.json_normalize(json.load(file)["metrics"], max_level=1)
response = metrics[metrics["name"] == "response_time"]
print(response[["labels.op", "n", "mean", "quantiles.0.5", "quantiles.0.99"]])

# %% sim --vary: one row a combination; a size is text, such as 64KiB
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
vary = pd.read_csv("vary.csv")
size = vary["array.stripe_unit"].str.extract(r"([\d.]+)(\w+)")
vary["stripe_unit_bytes"] = size[0].astype(float) * size[1].map(UNITS)
print(vary.pivot(index="array.disks", columns="stripe_unit_bytes", values="p99_ms"))

# %% sweep: one row a point, every metric with half the width of its 95 % interval
points = pd.read_csv("tree/points.csv")
print(points[["disks", "stripe_unit", "response_time_mean_ms", "response_time_mean_ms_ci95"]])

# %% Its runs as JSON lines: numbers are typed, and a size has its bytes beside it
runs = pd.read_json("tree/runs.jsonl", lines=True)
of_runs = runs.groupby(["disks", "stripe_unit_bytes"])["response_time_mean_ms"].mean()

# %% choose: one row a candidate and target
choose = pd.read_csv("choose.csv")
meets = choose.groupby("candidate")["verdict"].agg(lambda of: (of == "meets").all())
print(meets)

# %% The figures of all three scripts, as one JSON object
figures = {
    "requests": int(len(done)),
    "reads": int(by_op.loc["read", "count"]),
    "mean_ms": done["response_ms"].mean(),
    "p99_ms": done["response_ms"].quantile(0.99),
    "json_mean_ms": response[response["labels.op"].isna()]["mean"].item(),
    "vary_p99_ms": vary.query("`array.disks` == 4 and stripe_unit_bytes == 65536")["p99_ms"].item(),
    "point_mean_ms": points.query("disks == 6 and stripe_unit == '128KiB'")["response_time_mean_ms"].item(),
    "mean_of_runs_ms": of_runs[6, 128 << 10],
    "candidates": int(len(meets)),
    "meet": int(meets.sum()),
}
print(json.dumps(figures))
