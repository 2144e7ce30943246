"""What simulations, theory and comparisons find, as data classes."""

from __future__ import annotations

import json as _json
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    from ._iosonar import Figure, Run, Trace


def _number(value: float, digits: int = 4) -> str:
    """A number with as many digits as are worth reading."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and abs(value) < 1e15 and abs(value) >= 1 else text


def _object(text: str) -> Dict[str, Any]:
    """The object that a text in JSON is."""
    content: Dict[str, Any] = _json.loads(text)
    return content


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in HTML; the first cell of a row is its heading."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    head = f"<thead><tr>{cells}</tr></thead>" if header else ""
    body = ""
    for first, *others in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        body += f'<tr><th style="text-align: left">{escape(first)}</th>{cells}</tr>'
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and its 95 % confidence interval; None is not known."""

    value: Optional[float]
    stderr: Optional[float]
    low: Optional[float]
    high: Optional[float]
    unit: str

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        """The 95 % confidence interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __float__(self) -> float:
        return float("nan") if self.value is None else self.value

    def __contains__(self, value: float) -> bool:
        """Whether a value lies within the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def __str__(self) -> str:
        if self.value is None:
            return "unknown"
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.low is None or self.high is None:
            return f"{_number(self.value)}{unit}"
        return f"{_number(self.value)}{unit} ({_number(self.low)} to {_number(self.high)})"


@dataclass(frozen=True)
class Times:
    """The distribution of many times."""

    n: int
    mean: Estimate
    sd: Optional[float]
    min: Optional[float]
    max: Optional[float]
    quantiles: Dict[float, Estimate]
    """Quantiles with their 95 % intervals, by their share, such as 0.99."""
    weak_quantiles: Tuple[float, ...]
    """Quantiles that rest on too few samples."""

    @property
    def median(self) -> Estimate:
        return self.quantiles[0.5]

    @property
    def p99(self) -> Estimate:
        return self.quantiles[0.99]

    @staticmethod
    def _of(figures: Mapping[str, Any]) -> Times:
        return Times(
            n=figures["n"],
            mean=Estimate(**figures["mean"]),
            sd=figures["sd"],
            min=figures["min"],
            max=figures["max"],
            quantiles={p: Estimate(**of) for p, of in figures["quantiles"]},
            weak_quantiles=tuple(figures["weak_quantiles"]),
        )

    def _cells(self) -> List[str]:
        shown = (0.5, 0.9, 0.99)
        return [str(self.n), str(self.mean), *(str(self.quantiles[p]) for p in shown)]

    def _repr_html_(self) -> str:
        rows = [["mean", str(self.mean)]]
        for p, of in self.quantiles.items():
            weak = " (too few samples)" if p in self.weak_quantiles else ""
            rows.append([f"p{100 * p:g}", f"{of}{weak}"])
        return _table(f"{self.n} times", [], rows)


_TIMES_HEADER = ["", "n", "mean", "p50", "p90", "p99"]


def _times(figures: Optional[Mapping[str, Any]]) -> Optional[Times]:
    return None if figures is None else Times._of(figures)


@dataclass(frozen=True)
class Metric:
    """A measured quantity, as in the JSON of the command line."""

    name: str
    labels: Dict[str, Any]
    unit: str
    values: Dict[str, Any]
    """``value`` and ``stderr``, or of times ``n``, ``mean``, ``sd``, ``quantiles`` and more."""

    @staticmethod
    def _of(metric: Mapping[str, Any]) -> Metric:
        values = {key: of for key, of in metric.items() if key not in ("name", "labels", "unit")}
        return Metric(metric["name"], metric["labels"], metric["unit"], values)


@dataclass(frozen=True)
class Simulation:
    """The result of a simulation. Times are in milliseconds."""

    name: str
    system: str
    """What was simulated, in a line."""
    seed: int
    replications: int
    warmup_requests: int
    requests: int
    """Requests simulated, those of warm-ups included."""
    hash: str
    """The fingerprint of all runs: the same for the same scenario and seed on every machine."""
    response_time: Times
    reads: Optional[Times]
    writes: Optional[Times]
    throughput: Estimate
    megabytes_per_second: Estimate
    in_system: Estimate
    """The mean number of requests in the system."""
    utilisation: Dict[str, Estimate]
    """The share of its capacity that each device used."""
    queue_length: Dict[str, Estimate]
    """The mean number of jobs at each device, waiting and in service."""
    unserved: int
    """Requests that were never served, because they waited for each other."""
    failed: int
    """Requests that returned an error, which are in no distribution."""
    metrics: Tuple[Metric, ...] = field(repr=False)
    """All figures, as in the JSON of the command line."""
    elapsed_s: float = field(repr=False, compare=False)
    """How long the computation took."""
    run: Run = field(repr=False, compare=False)

    @staticmethod
    def _of(run: Run) -> Simulation:
        figures = run.figures()
        unknown = Estimate(None, None, None, None, "ms")
        of_all = _times(figures.pop("response_time"))
        if of_all is None:
            of_all = Times(0, unknown, None, None, None, {}, ())
        return Simulation(
            response_time=of_all,
            reads=_times(figures.pop("reads")),
            writes=_times(figures.pop("writes")),
            throughput=Estimate(**figures.pop("throughput")),
            megabytes_per_second=Estimate(**figures.pop("megabytes_per_second")),
            in_system=Estimate(**figures.pop("in_system")),
            utilisation={of: Estimate(**e) for of, e in figures.pop("utilisation").items()},
            queue_length={of: Estimate(**e) for of, e in figures.pop("queue_length").items()},
            metrics=tuple(Metric._of(of) for of in figures.pop("metrics")),
            run=run,
            **figures,
        )

    @property
    def mean(self) -> Estimate:
        """The mean response time in milliseconds."""
        return self.response_time.mean

    @property
    def quantiles(self) -> Dict[float, Estimate]:
        """Quantiles of the response time in milliseconds, with their intervals."""
        return self.response_time.quantiles

    @property
    def records(self) -> Optional[Trace]:
        """The records of the first replication, if they were kept."""
        return self.run.records

    def quantile(self, p: float, requests: str = "all") -> Optional[Estimate]:
        """Any quantile of the response time of ``all``, ``read`` or ``write`` requests; None where there are too few."""
        of = self.run.quantile(p, requests)
        return None if of is None else Estimate(**of)

    def cdf(self) -> Tuple[List[float], List[float], List[Optional[float]]]:
        """The distribution function: times in milliseconds, shares, and half the widths of its 95 % band."""
        return self.run.cdf()

    def plot(self, kind: str = "cdf", **options: Any) -> Figure:
        """A chart, as of ``iosonar.plot``; all but ``cdf`` need records."""
        from .studies import plot

        return plot(kind, self, **options)

    def to_dict(self) -> Dict[str, Any]:
        """The same as the JSON of ``iosonar sim``."""
        return _object(self.run.json())

    def _repr_html_(self) -> str:
        kinds = [("all", self.response_time), ("reads", self.reads), ("writes", self.writes)]
        rows = [[name, *of._cells()] for name, of in kinds if of is not None and of.quantiles]
        table = _table(f"{self.name}: {self.system}", _TIMES_HEADER, rows)
        others = [["throughput", str(self.throughput)]]
        others += [[f"utilisation of {of}", str(e)] for of, e in self.utilisation.items()]
        others.append(["seed, hash", f"{self.seed}, {self.hash}"])
        return table + _table("", [], others)


@dataclass(frozen=True)
class Answer:
    """Response times as theory has them, in milliseconds."""

    standing: str
    """``exact``, ``upper bound`` or ``approximation``."""
    method: str
    mean: Optional[float]
    sd: Optional[float]
    quantiles: Dict[float, float]

    @staticmethod
    def _of(figures: Optional[Mapping[str, Any]]) -> Optional[Answer]:
        if figures is None:
            return None
        return Answer(**{**figures, "quantiles": {p: ms for p, ms in figures["quantiles"]}})


@dataclass(frozen=True)
class StationTheory:
    """A device as theory has it; times are in milliseconds."""

    utilisation: Optional[float]
    busy: Optional[float]
    visits_per_s: Optional[float]
    service: Optional[float]
    wait: Optional[float]


@dataclass(frozen=True)
class Model:
    """What theory says of a scenario. None is not known; ``remarks`` say why."""

    name: str
    system: str
    response_time: Optional[Answer]
    alone: Optional[Answer]
    """Of a request that meets no other."""
    independent: Optional[Answer]
    """If the devices of a request were independent."""
    lower_bound: Optional[float]
    """Of the mean response time, in milliseconds."""
    upper_bound: Optional[float]
    capacity: Optional[float]
    """The rate of requests per second below which it is stable."""
    stations: Dict[str, StationTheory]
    remarks: Tuple[str, ...]
    metrics: Tuple[Metric, ...] = field(repr=False)
    _json: str = field(repr=False, compare=False)

    @staticmethod
    def _of(figures: Dict[str, Any], json: str) -> Model:
        for name in ("response_time", "alone", "independent"):
            figures[name] = Answer._of(figures[name])
        stations = figures.pop("stations").items()
        return Model(
            stations={name: StationTheory(**of) for name, of in stations},
            remarks=tuple(figures.pop("remarks")),
            metrics=tuple(Metric._of(of) for of in figures.pop("metrics")),
            _json=json,
            **figures,
        )

    def to_dict(self) -> Dict[str, Any]:
        """The same as the JSON of ``iosonar model``."""
        return _object(self._json)

    def _repr_html_(self) -> str:
        rows = []
        answers = [("under load", self.response_time), ("alone", self.alone)]
        for name, of in [*answers, ("if independent", self.independent)]:
            if of is None or of.mean is None:
                continue
            quantiles = [of.quantiles.get(p) for p in (0.5, 0.9, 0.99)]
            cells = [f"{_number(ms)} ms" if ms is not None else "unknown" for ms in quantiles]
            rows.append([name, of.standing, f"{_number(of.mean)} ms", *cells])
        header = ["", "standing", "mean", "p50", "p90", "p99"]
        table = _table(f"{self.name}: {self.system}", header, rows)
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in self.remarks)
        return table + (f"<ul>{remarks}</ul>" if remarks else "")


@dataclass(frozen=True)
class NetworkPoint:
    """What theory says of a networked system with a number of jobs; times in seconds."""

    jobs: int
    response: float
    """By exact mean value analysis."""
    throughput: float
    """Jobs per second."""
    schweitzer: float
    fork_join: float
    """If the storage servers work in parallel for each job."""
    asymptotic: Tuple[float, float]
    """Bounds of the response time, whatever the distributions of service."""
    balanced: Tuple[float, float]


@dataclass(frozen=True)
class JobClass:
    """What theory says of one of several classes of jobs; times in seconds."""

    jobs: int
    response: float
    throughput: float
    schweitzer: float
    is_exact: bool
    demands: Dict[str, float]


@dataclass(frozen=True)
class NetworkModel:
    """What theory says of a networked system: ``points`` if it has one class of jobs, else ``classes``."""

    name: str
    system: str
    demands: Dict[str, float]
    """Seconds of service of a job at each station."""
    bottleneck: Optional[str]
    knee: Optional[float]
    """The number of jobs from which on the bottleneck rules."""
    points: Tuple[NetworkPoint, ...]
    """For 1 to the largest number of jobs."""
    classes: Dict[str, JobClass]
    _json: str = field(repr=False, compare=False)

    @staticmethod
    def _of(figures: Dict[str, Any], json: str) -> NetworkModel:
        points = []
        for of in figures.pop("points"):
            bounds = {name: tuple(of[name]) for name in ("asymptotic", "balanced")}
            points.append(NetworkPoint(**{**of, **bounds}))
        classes = {name: JobClass(**of) for name, of in figures.pop("classes").items()}
        return NetworkModel(points=tuple(points), classes=classes, _json=json, **figures)

    def to_dict(self) -> Dict[str, Any]:
        """The same as the JSON of ``iosonar model``."""
        return _object(self._json)

    def _repr_html_(self) -> str:
        of_classes: List[Tuple[str, Union[NetworkPoint, JobClass]]] = list(self.classes.items())
        shown = [of for of in self.points if of.jobs & (of.jobs - 1) == 0 or of is self.points[-1]]
        rows = [
            [str(name), str(of.jobs), f"{_number(of.response)} s", f"{_number(of.throughput)}/s"]
            for name, of in [*of_classes, *(("", of) for of in shown)]
        ]
        return _table(f"{self.name}: {self.system}", ["", "jobs", "response", "throughput"], rows)


@dataclass(frozen=True)
class Sample:
    """The times of an input by classes: ``all``, ``reads``, ``writes``, and sizes."""

    name: str
    classes: Dict[str, Times]

    @staticmethod
    def _of(figures: Mapping[str, Any]) -> Sample:
        classes = figures["classes"].items()
        return Sample(figures["name"], {name: Times._of(of) for name, of in classes})


@dataclass(frozen=True)
class Difference:
    """How far the times of a class are from those of the reference."""

    mean: Estimate
    """The difference of the means in milliseconds."""
    ks: float
    """The Kolmogorov-Smirnov distance: 0 for equal distributions, 1 for disjoint ones."""
    ks_p: Optional[float]
    """The probability of such a distance between samples of the same distribution."""
    demerit: float
    """The root mean square horizontal distance between the curves, in milliseconds."""
    demerit_relative: float

    @property
    def is_significant(self) -> bool:
        """Whether the means differ at the level of 95 %."""
        return self.mean.interval is not None and 0.0 not in self.mean


@dataclass(frozen=True)
class Pairs:
    """The differences of two simulations of the same requests, request by request."""

    n: int
    mean: Estimate
    longer: int
    shorter: int


@dataclass(frozen=True)
class Comparison:
    """How inputs differ from the first of them."""

    quantity: str
    reference: Sample
    others: Tuple[Sample, ...]
    differences: Dict[str, Dict[str, Difference]]
    """By input and class: ``differences["b"]["all"].mean``."""
    pairs: Optional[Pairs]
    quantiles: Figure = field(repr=False, compare=False)
    """A chart of the quantiles of the inputs against those of the first."""
    _inputs: Tuple[Tuple[str, object], ...] = field(repr=False, compare=False)
    _json: str = field(repr=False, compare=False)

    @staticmethod
    def _of(
        figures: Mapping[str, Any],
        json: str,
        quantiles: Figure,
        inputs: Sequence[Tuple[str, object]],
    ) -> Comparison:
        differences: Dict[str, Dict[str, Difference]] = {}
        for other in figures["others"]:
            of_input = differences.setdefault(other["name"], {})
            for name, of in other["differences"].items():
                of_input[name] = Difference(**{**of, "mean": Estimate(**of["mean"])})
        pairs = figures["pairs"]
        if pairs is not None:
            pairs = Pairs(**{**pairs, "mean": Estimate(**pairs["mean"])})
        return Comparison(
            quantity=figures["quantity"],
            reference=Sample._of(figures["reference"]),
            others=tuple(Sample._of(other) for other in figures["others"]),
            differences=differences,
            pairs=pairs,
            quantiles=quantiles,
            _inputs=tuple(inputs),
            _json=json,
        )

    def __getitem__(self, kind: str) -> Difference:
        """The difference of a class, such as ``all`` or ``reads``, of two inputs."""
        (only,) = self.differences.values()
        return only[kind]

    def plot(self, kind: str = "cdf", **options: Any) -> Figure:
        """A chart of all inputs, as of ``iosonar.plot``."""
        from .studies import plot

        options.setdefault("quantity", self.quantity)
        return plot(kind, dict(self._inputs), **options)

    def to_dict(self) -> Dict[str, Any]:
        """The same as the JSON of ``iosonar compare``."""
        return _object(self._json)

    def _repr_html_(self) -> str:
        samples = (self.reference, *self.others)
        rows = [[of.name, *of.classes["all"]._cells()] for of in samples if "all" in of.classes]
        table = _table(self.quantity.replace("_", " "), _TIMES_HEADER, rows)
        rows = []
        for name, classes in self.differences.items():
            for kind, of in classes.items():
                p = "unknown" if of.ks_p is None else f"{of.ks_p:.3f}"
                rows.append([f"{name}, {kind}", str(of.mean), f"{of.ks:.3f}", p])
        header = [f"against {self.reference.name}", "mean", "KS", "p"]
        return table + _table("", header, rows)


@dataclass(frozen=True)
class Outcome:
    """What was simulated of a target at a load."""

    target: str
    verdict: Optional[str]
    """``meets``, ``misses``, ``unclear`` and others; None where the runs were stopped for another target."""
    estimate: Optional[Estimate]
    stopped_early: bool


@dataclass(frozen=True)
class OnCredit:
    """A load that uses credits of a limit faster than it earns them, such as those of a cloud volume or an SLC cache."""

    used: float
    """What it used of them, as a multiple of what it earned in the same time."""
    lasts_s: float
    """How long all credits that there can be would last at this rate, in seconds."""
    is_used_up: bool
    """Whether they were used up before the end of a run."""


@dataclass(frozen=True)
class NotCleaned:
    """Why writes did not wait for cleaning as they will in a longer run."""

    why: str
    """`fresh`, `too-short`, `media-cache` or `fills`."""
    erased: Optional[float] = None
    """Of `fills`: the erased pages as a share of the programmed ones."""


@dataclass(frozen=True)
class Point:
    """A load that was simulated."""

    load: float
    verdict: str
    outcomes: Tuple[Outcome, ...]
    theory: Tuple[Optional[float], ...]
    """What theory says of each target."""
    not_cleaned: Optional[NotCleaned] = None
    """Why writes are slower in a longer run, in which the drive is cleaned."""
    on_credit: Optional[OnCredit] = None
    """The credits that its times depend on, so that they do not last."""

    def _caveats(self) -> List[str]:
        """Why a longer run may find longer times."""
        of = {"NOT CLEANED": self.not_cleaned, "ON CREDIT": self.on_credit}
        return [label for label, why in of.items() if why is not None]

    @staticmethod
    def _of(figures: Optional[Mapping[str, Any]]) -> Optional[Point]:
        if figures is None:
            return None
        outcomes = []
        for of in figures["outcomes"]:
            estimate = None if of["estimate"] is None else Estimate(**of["estimate"])
            outcomes.append(Outcome(**{**of, "estimate": estimate}))
        cleaned, credit = figures["not_cleaned"], figures["on_credit"]
        return Point(
            figures["load"],
            figures["verdict"],
            tuple(outcomes),
            tuple(figures["theory"]),
            None if cleaned is None else NotCleaned(**cleaned),
            None if credit is None else OnCredit(**credit),
        )


@dataclass(frozen=True)
class Plan:
    """The best load that meets all targets."""

    system: str
    target: str
    unit: str
    """What loads are counted in, such as ``requests/s`` or ``disks``."""
    best: Optional[Point]
    next: Optional[Point]
    """The nearest load that does not meet the targets."""
    missed_first: Optional[str]
    by_theory: Optional[float]
    capacity: Optional[float]
    points: Tuple[Point, ...]
    """All loads that were simulated, in ascending order."""

    @staticmethod
    def _of(figures: Dict[str, Any]) -> Plan:
        figures["best"] = Point._of(figures["best"])
        figures["next"] = Point._of(figures["next"])
        points = (Point._of(of) for of in figures.pop("points"))
        return Plan(points=tuple(of for of in points if of is not None), **figures)

    def _repr_html_(self) -> str:
        rows = []
        for point in self.points:
            found = [str(of.estimate or of.verdict or "stopped") for of in point.outcomes]
            rows.append([f"{_number(point.load)} {self.unit}", point.verdict, *found])
        header = ["load", "verdict", *(of.target for of in self.points[0].outcomes)] if rows else []
        best = ["no load"]
        if self.best is not None:
            best = [f"{_number(self.best.load)} {self.unit}", *self.best._caveats()]
        caption = f"{self.system}; {self.target}: {', '.join(best)}"
        return _table(caption, header, rows)


@dataclass(frozen=True)
class Growth:
    """How much a load may grow."""

    factor: Optional[float]
    """The largest growth that meets all targets; None if none was found."""
    is_at_least: bool
    """Whether it is not known how much more the load may grow."""
    breaks_at: Optional[float]
    ruled_out: Optional[float]
    """The nearest larger growth that certainly does not meet the targets, also if smaller ones are unclear."""
    missed_first: Optional[str]


@dataclass(frozen=True)
class Candidate:
    """How a system does. What is not known is None, with a reason in ``why`` if it cannot be simulated."""

    name: str
    verdict: str
    """``meets``, ``misses``, ``unclear`` and others, or ``cannot be simulated``."""
    price: Optional[float] = None
    why: Optional[str] = None
    now: Optional[Point] = None
    """The load as it is against the targets."""
    capacity_bytes: Optional[int] = None
    reads: Dict[float, Estimate] = field(default_factory=dict)
    """The median and the 99th percentile of response times, in milliseconds."""
    writes: Dict[float, Estimate] = field(default_factory=dict)
    busiest: Optional[str] = None
    utilisation: Optional[float] = None
    growth: Optional[Growth] = None

    @staticmethod
    def _of(figures: Dict[str, Any]) -> Candidate:
        figures["now"] = Point._of(figures.pop("now", None))
        for name in ("reads", "writes"):
            figures[name] = {p: Estimate(**of) for p, of in figures.pop(name, [])}
        growth = figures.pop("growth", None)
        return Candidate(growth=None if growth is None else Growth(**growth), **figures)


@dataclass(frozen=True)
class Choice:
    """Which of several systems to take for a load."""

    target: str
    candidates: Tuple[Candidate, ...]
    """In the order in which they were given."""
    meet: Tuple[str, ...]
    """Those that meet all targets, the best first."""
    unclear: Tuple[str, ...]
    miss: Tuple[str, ...]
    unknown: Tuple[str, ...]
    """Those that cannot be simulated with this load."""

    @staticmethod
    def _of(figures: Dict[str, Any]) -> Choice:
        candidates = tuple(Candidate._of(of) for of in figures.pop("candidates"))
        target = figures.pop("target")
        return Choice(target, candidates, **{name: tuple(of) for name, of in figures.items()})

    def __getitem__(self, name: str) -> Candidate:
        for of in self.candidates:
            if of.name == name:
                return of
        raise KeyError(name)

    @property
    def best(self) -> Optional[Candidate]:
        """The one to take; None if none is known to meet the targets."""
        return self[self.meet[0]] if self.meet else None

    def _repr_html_(self) -> str:
        rows = []
        for of in self.candidates:
            p99 = [quantiles.get(0.99) for quantiles in (of.reads, of.writes)]
            growth = of.growth.factor if of.growth is not None else None
            caveats = [] if of.now is None else of.now._caveats()
            why = of.why or ", ".join(caveats)
            cells = [*p99, None if growth is None else _number(growth), why]
            rows.append([of.name, of.verdict, *("" if cell is None else str(cell) for cell in cells)])
        header = ["candidate", "verdict", "read p99", "write p99", "growth", ""]
        return _table(f"{self.target}: {', '.join(self.meet) or 'no candidate'}", header, rows)
