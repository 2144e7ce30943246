"""Comparisons and charts."""

import iosonar
import pytest


@pytest.fixture
def arrays(scenario):
    busy = {"load.arrivals": {"poisson_per_s": 60.0}}
    five = iosonar.simulate(scenario, records=True, name="five", set=busy)
    eight = iosonar.simulate(scenario, records=True, name="eight", set=busy, array__disks=8)
    return five, eight


def test_a_comparison_says_how_far_apart_two_arrays_are(arrays):
    five, eight = arrays
    comparison = iosonar.compare(five, eight)
    assert comparison["all"].mean.value == pytest.approx(eight.mean.value - five.mean.value)
    assert 0 < comparison["all"].ks < 1
    assert comparison.reference.classes["reads"].n == five.reads.n
    same = iosonar.compare(five, {"again": five})
    assert same["all"].ks == 0.0 and not same["all"].is_significant
    assert comparison.to_dict()["command"] == "compare"
    assert "against five" in comparison._repr_html_()
    paired = iosonar.compare(five, eight, paired=True)
    assert paired.pairs.n == 2000
    # With more disks, more requests become shorter than longer.
    assert 0 < paired.pairs.longer < paired.pairs.shorter <= 2000 - paired.pairs.longer
    assert paired.pairs.mean.value == pytest.approx(comparison["all"].mean.value)


def test_what_cannot_be_compared_is_refused(arrays, trace, scenario):
    five, _ = arrays
    with pytest.raises(iosonar.Error, match="at least two inputs"):
        iosonar.compare(five)
    with pytest.raises(iosonar.Error, match="simulate.*records=True"):
        iosonar.compare(five, iosonar.simulate(scenario))
    with pytest.raises(iosonar.Error, match="no request has a latency"):
        iosonar.compare(five, trace)
    with pytest.raises(iosonar.Error, match="quantity must be"):
        iosonar.compare(five, five, quantity="speed")


def test_figures_show_themselves_as_png_and_svg(arrays, tmp_path):
    five, eight = arrays
    figure = iosonar.plot("sonar", five)
    assert figure._repr_png_().startswith(b"\x89PNG\r\n")
    assert figure._repr_svg_().lstrip().startswith(("<svg", "<?xml"))
    small = iosonar.plot("cdf", {"a": five, "b": eight}, size=(640, 400), theme="dark")
    png = small._repr_png_()
    assert int.from_bytes(png[16:20], "big") == 640 and int.from_bytes(png[20:24], "big") == 400
    twice = iosonar.plot("cdf", five, size=(640, 400), scale=2)._repr_png_()
    assert int.from_bytes(twice[16:20], "big") == 1280
    small.save(tmp_path / "cdf.svg")
    assert "</svg>" in (tmp_path / "cdf.svg").read_text()
    small.save(tmp_path / "cdf.png")
    assert (tmp_path / "cdf.png").read_bytes() == png
    assert "a" in small.data() and small.data().count("\n") > 10
    with pytest.raises(iosonar.Error, match=r"must end in .png or .svg"):
        small.save(tmp_path / "cdf.jpg")


def test_simulations_without_records_have_distribution_functions(scenario):
    result = iosonar.simulate(scenario, replications=3)
    figure = result.plot()
    assert "distribution of response times" in figure.titles[0]
    assert len(figure._repr_png_()) > 5000
    with pytest.raises(iosonar.Error, match="records=True"):
        result.plot("sonar")


def test_every_chart_is_drawn_or_refused_with_a_reason(arrays):
    drawn = set()
    for kind, about in iosonar.charts().items():
        assert about
        try:
            drawn.add((kind, iosonar.plot(kind, arrays[0], size=(640, 400)).titles[0]))
        except iosonar.Error as error:
            assert "would be empty" in str(error) or "self-check" in str(error), (kind, error)
    assert len(drawn) > 15


def test_a_chart_that_there_is_not_is_refused_with_the_nearest(arrays):
    with pytest.raises(iosonar.Error, match="did you mean 'sonar'"):
        iosonar.plot("sonnar", arrays[0])
    with pytest.raises(iosonar.Error, match="scale must be from 1 to 4"):
        iosonar.plot("sonar", arrays[0], scale=9)
    with pytest.raises(iosonar.Error, match="theme must be"):
        iosonar.plot("sonar", arrays[0], theme="pink")
