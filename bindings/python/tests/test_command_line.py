"""The package says the same as the command line: numbers and errors. Needs the program, at IOSONAR."""

import json
import os
import subprocess

import iosonar
import pytest

PROGRAM = os.environ.get("IOSONAR")

pytestmark = pytest.mark.skipif(not PROGRAM, reason="IOSONAR does not name the program iosonar")

OF_SPEED = {"requests_per_second", "events_per_second"}


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def metrics(output):
    return [of for of in output["metrics"] if of["name"] not in OF_SPEED]


@pytest.mark.parametrize("name", ["degraded-raid5", "single-disk-rpo", "ssd-raid5"])
def test_simulations_have_the_same_metrics(examples, name):
    path = examples / f"{name}.toml"
    few = "load.requests=2000"
    theirs = json.loads(run("sim", path, "--json", "--set", few).stdout)
    ours = iosonar.simulate(path, load__requests=2000).to_dict()
    assert metrics(ours) == metrics(theirs)
    assert ours["hash"] == theirs["hash"] and ours["seed"] == theirs["seed"]


def test_models_and_comparisons_have_the_same_metrics(examples, scenario, tmp_path):
    path = examples / "zoned-raid" / "figure-4-read.toml"
    theirs = json.loads(run("model", path, "--json").stdout)
    assert metrics(iosonar.model(path).to_dict()) == metrics(theirs)
    for disks in (5, 6):
        file = tmp_path / f"r{disks}.ios"
        iosonar.simulate(scenario, array__disks=disks, records=file)
    files = [tmp_path / "r5.ios", tmp_path / "r6.ios"]
    theirs = json.loads(run("compare", *files, "--json").stdout)
    assert metrics(iosonar.compare(*files).to_dict()) == metrics(theirs)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("array.disks", 1), ("array.level", "raid7"), ("disk.profile", "none"), ("load.speed_", 1)],
)
def test_errors_have_the_same_text(examples, setting, value):
    path = examples / "raid5-mysql.toml"
    theirs = run("sim", path, "--set", f"{setting}={value}").stderr
    with pytest.raises(iosonar.Error) as error:
        iosonar.simulate(path, set={setting: value})
    plain = " ".join(theirs.split("]: ", 1)[-1].removeprefix("error: ").split())
    assert " ".join(str(error.value).split()) == plain


def test_errors_of_traces_have_the_same_text(tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text("time_s,sector,sectors,op\n0,0,8,read\n1,x,8,read\n")
    theirs = run("info", broken).stderr
    with pytest.raises(iosonar.Error) as error:
        len(iosonar.read(broken))
    assert " ".join(str(error.value).split()) in " ".join(theirs.split())
