"""Simulations from dicts, texts and files."""

import dataclasses
import pickle
import re

import iosonar
import pytest

TOML = """
seed = 3
[load]
requests = 2000
arrivals = { poisson_per_s = 40.0 }
read_share = 0.7
size = { blocks = 4 }
[array]
level = "raid5"
disks = 5
[disk]
profile = "seagate-st3500630ns"
"""


def test_values_without_an_end_are_refused():
    import itertools

    within = []
    within.append(within)
    for endless in (within, itertools.count()):
        with pytest.raises(iosonar.Error, match="more than"):
            iosonar.simulate({"load": {"x": endless}})


def test_a_dict_a_text_and_a_file_mean_the_same(scenario, tmp_path):
    file = tmp_path / "array.toml"
    file.write_text(TOML)
    results = [iosonar.simulate(of) for of in (scenario, TOML, file, str(file))]
    assert len({result.hash for result in results}) == 1
    assert [result.name for result in results] == ["scenario", "scenario", "array", "array"]
    assert iosonar.simulate(scenario, seed=4).hash != results[0].hash


def test_a_result_has_all_figures(scenario):
    result = iosonar.simulate(scenario, replications=5, name="five")
    times = result.response_time
    assert times.n == 10_000 == result.reads.n + result.writes.n
    assert times.min < times.median.value < times.p99.value <= times.max
    low, high = result.mean.interval
    assert low < result.mean.value < high
    assert result.mean.value in result.mean and high * 2 not in result.mean
    # Requests come at 40/s, and all are served.
    assert result.throughput.value == pytest.approx(40, rel=0.05)
    assert result.throughput.unit == "1/s" and result.mean.unit == "ms"
    assert len(result.utilisation) == 5
    assert all(0 < of.value < 1 for of in result.utilisation.values())
    assert result.quantile(0.99).value == result.quantiles[0.99].value
    assert result.quantile(0.42, "write").value > result.quantile(0.42, "read").value
    assert dataclasses.is_dataclass(result)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.seed = 1


def test_little_s_law_holds_between_the_figures(scenario):
    result = iosonar.simulate(scenario, load__requests=40_000)
    by_law = result.throughput.value * result.mean.value / 1e3
    assert result.in_system.value == pytest.approx(by_law, rel=0.02)


def test_the_same_seed_gives_the_same_result_on_any_number_of_threads(scenario):
    one = iosonar.simulate(scenario, replications=4, threads=1)
    two = iosonar.simulate(scenario, replications=4, threads=2)
    assert one == two
    assert one.metrics == two.metrics


def test_values_are_overridden_by_keys(scenario):
    eight = iosonar.simulate(scenario, array__disks=8)
    assert len(eight.utilisation) == 8
    assert iosonar.simulate(scenario, set={"array.disks": 8}) == eight
    fewer = iosonar.simulate(scenario, load={**scenario["load"], "requests": 500})
    assert fewer.response_time.n == 500
    warm = iosonar.simulate(scenario, warmup_requests=100)
    assert warm.warmup_requests == 100


def test_numbers_of_numpy_are_numbers(scenario):
    numpy = pytest.importorskip("numpy")
    plain = iosonar.simulate(scenario, array__disks=6)
    assert iosonar.simulate(scenario, array__disks=numpy.int64(6)) == plain
    rate = {"poisson_per_s": numpy.float64(40.0)}
    same = iosonar.simulate(scenario, set={"load.arrivals": rate, "array.disks": 6})
    assert same.hash == plain.hash


def test_precision_repeats_runs_until_the_mean_is_known(scenario):
    result = iosonar.simulate(scenario, precision=0.02)
    low, high = result.mean.interval
    assert (high - low) / 2 <= 0.02 * result.mean.value
    assert 10 <= result.replications < 10_000
    with pytest.raises(iosonar.Error, match="at least 10 replications"):
        iosonar.simulate(scenario, precision=0.02, replications=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"array__disks": 2}, r"array.disks"),
        ({"array__disk": 8}, r"'array.disk' is not a key"),
        ({"array__level": "raid7"}, r"raid7"),
        ({"disk__profile": "no-such-drive"}, r"no-such-drive"),
    ],
)
def test_errors_name_the_key_and_what_is_expected(scenario, change, message):
    with pytest.raises(iosonar.Error, match=message):
        iosonar.simulate(scenario, **change)


def test_an_error_in_a_text_names_its_line_and_one_in_a_dict_only_the_key(scenario):
    with pytest.raises(iosonar.Error, match=r"^scenario:10: 'array.disks' "):
        iosonar.simulate(TOML.replace("disks = 5", "disks = 2"))
    scenario["array"]["disks"] = 2
    with pytest.raises(iosonar.Error, match=r"^scenario: 'array.disks' "):
        iosonar.simulate(scenario)


def test_a_system_is_simulated_by_its_name():
    load = {"load.requests": 2000, "load.arrivals.poisson_per_s": 50.0, "load.size": "4KiB", "load.read_share": 0.0}
    cached = iosonar.simulate("raid5:6xexos-x18+cache=1GiB", set=load, seed=1)
    assert cached.response_time.n == 2000
    # The change that is part of the name counts.
    plain = iosonar.simulate("raid5:6xexos-x18", set=load, seed=1)
    assert cached.mean.value < plain.mean.value
    assert iosonar.plan("exos-x18", target="mean < 1s", set=load, within=0.5).best.load > 0
    with pytest.raises(iosonar.Error, match="unknown profile 'no-such-drive'"):
        iosonar.simulate("raid5:6xno-such-drive", set=load)


def test_errors_are_value_errors():
    with pytest.raises(ValueError, match="no-such.toml: cannot read the scenario"):
        iosonar.simulate("no-such.toml")
    with pytest.raises(iosonar.Error, match="a scenario is a dict, TOML text, the path"):
        iosonar.simulate(7)
    with pytest.raises(iosonar.Error, match=r"'load.requests' is <object object"):
        iosonar.simulate({"load": {"requests": object()}})


def test_an_overload_is_refused_unless_it_is_wanted(scenario):
    scenario["load"]["arrivals"]["poisson_per_s"] = 10_000.0
    with pytest.raises(iosonar.Error, match="unstable: the offered load"):
        iosonar.simulate(scenario)
    assert iosonar.simulate(scenario, unstable=True).response_time.n == 2000


def test_a_result_as_a_dict_is_the_json_of_the_command_line(scenario):
    result = iosonar.simulate(scenario)
    output = result.to_dict()
    assert output["command"] == "sim" and output["hash"] == result.hash
    metrics = {of["name"] for of in output["metrics"]}
    assert {"response_time", "throughput", "utilisation"} <= metrics
    first = output["metrics"][0]
    assert first["mean"] == pytest.approx(result.mean.value)
    assert [of.name for of in result.metrics] == [
        of["name"] for of in output["metrics"] if not of["name"].endswith("_per_second")
        or of["name"] == "megabytes_per_second"
    ]


def test_a_result_shows_itself_as_html(scenario):
    html = iosonar.simulate(scenario, name="<b>")._repr_html_()
    assert html.count("<table>") == 2 == html.count("</table>")
    assert "&lt;b&gt;" in html and "<b>" not in html
    assert re.search(r"reads</th><td>\d+</td>", html)


def test_the_distribution_function_rises_to_1(scenario):
    times, shares, half_widths = iosonar.simulate(scenario, replications=3).cdf()
    assert times == sorted(times) and shares == sorted(shares)
    assert 0.99 < shares[-1] <= 1.0 and shares[0] < 0.01
    assert len(half_widths) == len(times) and None not in half_widths


def test_records_are_kept_if_they_are_wanted(scenario, tmp_path):
    assert iosonar.simulate(scenario).records is None
    kept = iosonar.simulate(scenario, records=True)
    assert len(kept.records) == 2000
    file = tmp_path / "records.ios"
    written = iosonar.simulate(scenario, records=file)
    assert file.exists() and len(written.records) == 2000
    path = kept.records.path
    assert path.exists()
    del kept
    assert not path.exists(), "records that nobody holds are deleted"


def test_a_simulation_is_driven_by_a_trace(scenario):
    first = iosonar.simulate(scenario, records=True)
    del scenario["load"]
    again = iosonar.simulate(scenario, trace=first.records)
    assert again.response_time.n == 2000
    part = iosonar.simulate(scenario, trace=first, reading={"ops": "read"})
    assert part.writes is None and part.response_time.n == first.reads.n


def test_estimates_are_plain_values(scenario):
    assert iosonar.simulate(scenario).mean.interval is None, "one short run gives no interval"
    mean = iosonar.simulate(scenario, replications=3).mean
    assert float(mean) == mean.value
    assert str(mean).endswith(")") and " ms (" in str(mean)
    assert pickle.loads(pickle.dumps(mean)) == mean


def test_memory_is_what_it_may_be():
    for question in (iosonar.simulate, iosonar.model, lambda of, **how: iosonar.plan(of, "p99 < 1s", **how)):
        assert question(TOML, memory="1MiB")
        with pytest.raises(iosonar.Error, match=r"'array.disks' is 5, which needs up to 40 KiB of memory"):
            question(TOML, memory="39KiB")
    with pytest.raises(iosonar.Error, match="memory: .much. is not a size such as 4096"):
        iosonar.simulate(TOML, memory="much")
