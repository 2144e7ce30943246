"""Theory and plans."""

import iosonar
import pytest


def single(rate):
    return {
        "load": {
            "requests": 20_000,
            "arrivals": {"poisson_per_s": rate},
            "size": {"blocks": 1},
        },
        "array": {"level": "raid0", "disks": 1},
        "disk": {"profile": "seagate-st3500630ns"},
    }


def test_theory_agrees_with_the_simulation_of_a_disk():
    scenario = single(40.0)
    theory = iosonar.model(scenario)
    simulated = iosonar.simulate(scenario, replications=10)
    assert theory.response_time.standing == "exact"
    assert theory.response_time.method.startswith("M/G/1")
    # Four half widths of the 95 % interval are eight standard errors.
    low, high = simulated.mean.interval
    middle, half = (low + high) / 2, (high - low) / 2
    assert abs(theory.response_time.mean - middle) < 4 * half
    p99 = theory.response_time.quantiles[0.99]
    assert p99 == pytest.approx(simulated.quantiles[0.99].value, rel=0.05)
    assert theory.alone.mean < theory.response_time.mean
    (station,) = theory.stations.values()
    assert station.utilisation == pytest.approx(40 * station.service / 1e3)
    assert theory.capacity == pytest.approx(1e3 / station.service, rel=1e-3)
    assert "exact" in theory._repr_html_()
    assert theory.to_dict()["command"] == "model"


def test_what_theory_does_not_know_is_none_with_a_remark():
    scenario = single(40.0)
    scenario["disk"]["model"] = "positional"
    theory = iosonar.model(scenario)
    assert theory.response_time is None
    assert any("positional" in remark for remark in theory.remarks)


def test_theory_refuses_an_overload():
    with pytest.raises(iosonar.Error, match=r"unstable: .* it is stable below"):
        iosonar.model(single(4000.0))


def test_a_plan_finds_the_highest_rate():
    scenario = single(40.0)
    plan = iosonar.plan(scenario, "mean < 20ms", within=0.05, load__requests=5000)
    assert plan.unit == "requests/s"
    assert plan.best.verdict == "meets" and plan.next.verdict != "meets"
    assert plan.best.load < plan.next.load < plan.capacity
    at_best = iosonar.simulate(single(plan.best.load), replications=5)
    assert at_best.mean.value < 20
    assert iosonar.simulate(single(plan.capacity * 0.97)).mean.value > 20
    assert [point.load for point in plan.points] == sorted(point.load for point in plan.points)
    assert "requests/s" in plan._repr_html_()


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("p99", {}, "neither < nor >"),
        ("p99 < 1us", {}, "cannot be met at any rate"),
        ("p99 < 20ms", {"find": "users"}, "find must be 'rate'"),
        ("delay p99 < 20ms", {}, "no start delays"),
        ("p99 < 20ms", {"find": "jobs"}, "closed loops"),
        ("p99 < 20ms", {"within": 2.0}, "within must be"),
    ],
)
def test_a_question_without_an_answer_is_refused(target, options, message):
    with pytest.raises(iosonar.Error, match=message):
        iosonar.plan(single(40.0), target, **options)
