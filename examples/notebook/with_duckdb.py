"""Outputs of iosonar in DuckDB. Make them first: docs/src/notebook.md has the commands. Run in their folder:

    python3 examples/notebook/with_duckdb.py
"""

# %% Records: one row a request, times in nanoseconds
import json

import duckdb

duckdb.sql("""
    create view done as
    select *, (delay_ns + latency_ns) / 1e6 as response_ms
    from read_csv('records.csv', sample_size = -1) where status = 'done'
""")
by_op = duckdb.sql("""
    select op, count(*) as n, avg(response_ms) as mean, quantile_cont(response_ms, [0.5, 0.99]) as quantiles
    from done group by op
""")
print(by_op)

# %% The same as JSON lines
different = duckdb.sql("""
    select count(*) from 'records.jsonl' a positional join 'records.csv' b where a.latency_ns <> b.latency_ns
""")
assert different.fetchall() == [(0,)]

# %% Results: one row a metric
duckdb.sql("""
    create view response as
    select m->>'$.labels.op' as op, (m->>'$.n')::bigint as n, (m->>'$.mean')::double as mean,
        (m->>'$.quantiles."0.99"')::double as p99
    from (select unnest(metrics::json[]) as m from read_json('result.json', columns = {metrics: 'json[]'}))
    where m->>'$.name' = 'response_time'
""")
print(duckdb.sql("from response"))

# %% sim --vary: one row a combination; a size is text, such as 64KiB, which DuckDB does not read as a number
duckdb.sql("""
    create view vary as
    select *, regexp_extract("array.stripe_unit", '[0-9.]+')::double
        * pow(1024, list_position(['KiB', 'MiB', 'GiB'], regexp_extract("array.stripe_unit", '[A-Za-z]+')))
        as stripe_unit_bytes
    from 'vary.csv'
""")
print(duckdb.sql('pivot vary on stripe_unit_bytes using first(p99_ms) group by "array.disks"'))

# %% sweep: one row a point, every metric with half the width of its 95 % interval
print(duckdb.sql("""
    select disks, stripe_unit, response_time_mean_ms, response_time_mean_ms_ci95 from 'tree/points.csv'
"""))

# %% Its runs as JSON lines: numbers are typed, and a size has its bytes beside it
duckdb.sql("""
    create view of_runs as
    select disks, stripe_unit_bytes, avg(response_time_mean_ms) as mean from 'tree/runs.jsonl' group by all
""")
print(duckdb.sql("from of_runs order by all"))

# %% choose: one row a candidate and target
duckdb.sql("""
    create view meets as
    select candidate, bool_and(verdict = 'meets') as meets from 'choose.csv' group by candidate
""")
print(duckdb.sql("from meets"))


# %% The figures of all three scripts, as one JSON object
def one(query):
    """The only value of a query."""
    return duckdb.sql(query).fetchall()[0][0]


LARGEST = "where disks = 6 and stripe_unit = '128KiB'"
figures = {
    "requests": one("select count(*) from done"),
    "reads": one("select count(*) from done where op = 'read'"),
    "mean_ms": one("select avg(response_ms) from done"),
    "p99_ms": one("select quantile_cont(response_ms, 0.99) from done"),
    "json_mean_ms": one("select mean from response where op is null"),
    "vary_p99_ms": one('select p99_ms from vary where "array.disks" = 4 and stripe_unit_bytes = 65536'),
    "point_mean_ms": one(f"select response_time_mean_ms from 'tree/points.csv' {LARGEST}"),
    "mean_of_runs_ms": one("select mean from of_runs where disks = 6 and stripe_unit_bytes = 131072"),
    "candidates": one("select count(*) from meets"),
    "meet": one("select count(*) from meets where meets"),
}
print(json.dumps(figures))
