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
    with pytest.raises(iosonar.Error, match=r"unstable: .* the system is stable below"):
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


def test_a_plan_names_what_does_not_last(tmp_path):
    def recording(per_s):
        trace = tmp_path / f"{per_s}.load"
        rows = (f"{i / per_s:.6f} ; {i * 7919 % 100_000 * 8} ; 8 ; R\n" for i in range(per_s))
        trace.write_text("".join(rows))
        return trace

    bursts = iosonar.plan("aws-gp2", "p99 < 20ms", trace=recording(2_000))
    assert bursts.best.on_credit.used > 6 and not bursts.best.on_credit.is_used_up
    assert "ON CREDIT" in bursts._repr_html_()
    choice = iosonar.choose(recording(2_000), ["aws-gp2"], "p99 < 20ms")
    assert choice.best.now.on_credit is not None and "ON CREDIT" in choice._repr_html_()
    # It has no credits.
    lasts = iosonar.plan("aws-gp3", "p99 < 20ms", trace=recording(2_000))
    assert lasts.best.on_credit is None and "ON CREDIT" not in lasts._repr_html_()

    writes = single(10.0)
    writes["load"] |= {"size": "4KiB", "read_share": 0.0}
    writes["disk"]["profile"] = "seagate-archive-8tb"
    plan = iosonar.plan(writes, "p99 < 100ms", load__requests=2_000)
    assert plan.best.not_cleaned == iosonar.NotCleaned("media-cache")
    assert "NOT CLEANED" in plan._repr_html_()
    writes["load"]["read_share"] = 1.0
    assert iosonar.plan(writes, "p99 < 100ms", load__requests=2_000).best.not_cleaned is None


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("p99", {}, "neither < nor >"),
        ("p99 < 1us", {}, "cannot be met at any rate"),
        ("p99 < 20ms", {"find": "users"}, "find must be 'rate'"),
        ("delay p99 < 20ms", {}, "no start delays"),
        ("p99 < 20ms", {"find": "jobs"}, "needs a closed loop"),
        ("p99 < 20ms", {"within": 2.0}, "within must be"),
    ],
)
def test_a_question_without_an_answer_is_refused(target, options, message):
    with pytest.raises(iosonar.Error, match=message):
        iosonar.plan(single(40.0), target, **options)


def test_a_networked_system_has_bounds_and_mean_values(examples):
    path = examples / "networked-raid" / "paper.toml"
    model = iosonar.model(path)
    assert isinstance(model, iosonar.NetworkModel) and not model.classes
    assert [of.jobs for of in model.points] == list(range(1, len(model.points) + 1))
    # A single job meets no other.
    assert model.points[0].response == pytest.approx(sum(model.demands.values()), rel=1e-9)
    for of in model.points:
        low, high = of.balanced
        assert of.asymptotic[0] <= low * (1 + 1e-9) and low <= of.response * (1 + 1e-9)
        assert of.response <= high * (1 + 1e-9)
    assert model.bottleneck == max(model.demands, key=model.demands.get)
    assert model.to_dict()["bottleneck"] == model.bottleneck and "<table>" in model._repr_html_()
    slower = iosonar.model(path, set={"network.mbit_per_s": 10})
    assert slower.points[-1].response > model.points[-1].response


def test_classes_of_jobs_have_their_own_figures(examples):
    model = iosonar.model(examples / "networked-raid" / "two-classes.toml")
    assert len(model.classes) == 2 and not model.points
    for of in model.classes.values():
        assert of.response >= sum(of.demands.values()) * (1 - 1e-9)


def test_a_choice_names_the_systems_that_meet_the_target(trace):
    choice = iosonar.choose(
        trace,
        ["raid10:4xseagate-st3500630ns", "nvme-gen4-tlc"],
        "read p99 < 5ms",
        prices={"st3500630ns": 50, "nvme": 300},
        replications=5,
    )
    disks, flash = choice.candidates
    assert choice.meet == (flash.name,) and choice.best is flash
    assert choice.miss == (disks.name,) and disks.verdict == "misses"
    assert disks.reads[0.99].value > 5 > flash.reads[0.99].value
    assert disks.price == 200 and flash.price == 300
    assert choice["nvme-gen4-tlc"] is flash and "<table>" in choice._repr_html_()
    with pytest.raises(iosonar.Error, match="at least one candidate"):
        iosonar.choose(trace, [], "mean < 5ms")
    with pytest.raises(iosonar.Error, match="growth must be"):
        iosonar.choose(trace, ["nvme-gen4-tlc"], "mean < 5ms", growth="size")
