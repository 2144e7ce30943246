"""Queueing networks: sources, stations, delays, routers, forks and joins. Times are in seconds.

>>> from iosonar import queueing
>>> result = queueing.queue(queueing.exponential(1.0), queueing.exponential(0.8), departures=20_000)
>>> result.utilisation["server"].value < 1.0
True

A network of one's own:

>>> network = queueing.Network()
>>> users = network.think("users", queueing.exponential(10.0))
>>> cpu = network.station("cpu", queueing.exponential(2.0))
>>> lap = network.lap("response")
>>> network.chain(users, cpu, lap, users)
>>> network.population(users, 3)
>>> result = network.run(departures=10_000, replications=5)
>>> result.response_time["response"].n
50000
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _iosonar
from .results import _TIMES_HEADER, Estimate, Times, _table


@dataclass(frozen=True)
class Law:
    """The distribution of a time. The functions of this module make them."""

    kind: str
    parameters: Dict[str, Any]


AnyLaw = Union[Law, float]
"""A law, or a number of seconds that is always the same."""


def constant(time: float) -> Law:
    """Always the same time."""
    return Law("constant", {"time": time})


def exponential(mean: float) -> Law:
    """Exponential with this mean."""
    return Law("exponential", {"mean": mean})


def uniform(low: float, high: float) -> Law:
    """Uniform between two times."""
    return Law("uniform", {"low": low, "high": high})


def erlang(phases: int, mean: float) -> Law:
    """The sum of ``phases`` exponential times, with this mean altogether."""
    return Law("erlang", {"phases": phases, "mean": mean})


def hyperexponential(table: Iterable[Tuple[float, float]]) -> Law:
    """Exponential with a mean that is drawn first: pairs of probability and mean."""
    return Law("hyperexponential", {"table": list(table)})


def discrete(table: Iterable[Tuple[float, float]]) -> Law:
    """One of some times: pairs of probability and time."""
    return Law("discrete", {"table": list(table)})


def pareto(least: float, shape: float) -> Law:
    """Pareto: P(T > t) = (least / t) ** shape."""
    return Law("pareto", {"least": least, "shape": shape})


def lognormal(mean: float, cv: float) -> Law:
    """Log-normal with this mean; its standard deviation is ``cv`` times that."""
    return Law("lognormal", {"mean": mean, "cv": cv})


def gamma(shape: float, mean: float) -> Law:
    """Gamma with this shape and mean."""
    return Law("gamma", {"shape": shape, "mean": mean})


def weibull(shape: float, scale: float) -> Law:
    """Weibull: P(T > t) = exp(-(t / scale) ** shape)."""
    return Law("weibull", {"shape": shape, "scale": scale})


def empirical(times: Iterable[float]) -> Law:
    """One of these times, each as likely as the others; an array of NumPy will do."""
    return Law("empirical", {"times": times})


@dataclass(frozen=True)
class Node:
    """A node of a network."""

    name: str
    number: int = field(repr=False)


@dataclass(frozen=True)
class Station:
    """What was measured at a station. Times are in seconds."""

    utilisation: Estimate
    number: Estimate
    """The mean number of jobs, waiting and in service."""
    throughput: Estimate
    wait: Estimate
    """The mean time from a job's arrival to the beginning of its service."""
    response_time: Estimate
    lost: int
    """Jobs from a source that found no room."""


@dataclass(frozen=True)
class Result:
    """What was measured in a network, over all replications."""

    stations: Dict[str, Station]
    response_time: Dict[str, Times]
    """Response times in seconds, by the sink or lap where they were taken."""

    @property
    def utilisation(self) -> Dict[str, Estimate]:
        """The share of the servers that was at work, by station."""
        return {name: of.utilisation for name, of in self.stations.items()}

    @staticmethod
    def _of(figures: Mapping[str, Any]) -> Result:
        stations: Dict[str, Station] = {}
        times: Dict[str, Times] = {}
        for name, of in figures.items():
            if of["kind"] == "times":
                times[name] = Times._of(of["response_time"])
                continue
            values = {k: Estimate(**v) for k, v in of.items() if k not in ("kind", "lost")}
            stations[name] = Station(lost=of["lost"], **values)
        return Result(stations, times)

    def _repr_html_(self) -> str:
        rows = [[name, *of._cells()] for name, of in self.response_time.items()]
        table = _table("response times", _TIMES_HEADER, rows)
        rows = [
            [name, str(of.utilisation), str(of.number), str(of.wait)]
            for name, of in self.stations.items()
        ]
        return table + _table("stations", ["", "utilisation", "jobs", "wait"], rows)


class Network:
    """A queueing network. Each node draws from random streams of its own, which follow from its name and the seed."""

    def __init__(self) -> None:
        self._network = _iosonar.Network()

    def source(self, name: str, every: AnyLaw, *, kind: int = 0) -> Node:
        """A place where jobs of class ``kind`` come from outside, at these distances."""
        return Node(name, self._network.source(name, every, kind))

    def station(
        self,
        name: str,
        service: AnyLaw,
        *,
        servers: int = 1,
        discipline: str = "fcfs",
        room: Optional[int] = None,
    ) -> Node:
        """Servers with a queue.

        ``discipline`` is ``fcfs``, ``lifo``, ``random``, ``priority``, ``preemptive`` or ``sharing``. With ``room``, no more
        jobs than that are at the station: one from a source is lost, one from another station blocks its server.
        """
        return Node(name, self._network.station(name, service, servers, discipline, room))

    def delay(self, name: str, law: AnyLaw) -> Node:
        """A delay: as many servers as there are jobs."""
        return Node(name, self._network.delay(name, law, False))

    def think(self, name: str, law: AnyLaw) -> Node:
        """A delay after which a job's response time begins anew: the think time of a closed chain."""
        return Node(name, self._network.delay(name, law, True))

    def router(self, name: str, probabilities: Optional[Sequence[float]] = None) -> Node:
        """A parting of the ways: the outputs in the order of the chains, with these probabilities or in turn."""
        chosen = None if probabilities is None else list(probabilities)
        return Node(name, self._network.router(name, chosen))

    def fork(self, name: str) -> Node:
        """Where a job becomes several, one for each output."""
        return Node(name, self._network.fork(name))

    def join(self, name: str) -> Node:
        """Where what was forked waits for each other and becomes one job again."""
        return Node(name, self._network.join(name))

    def lap(self, name: str) -> Node:
        """A place that jobs pass; their response times up to here are measured."""
        return Node(name, self._network.lap(name))

    def sink(self, name: str) -> Node:
        """Where jobs leave; their response times are measured."""
        return Node(name, self._network.sink(name))

    def chain(self, *nodes: Node) -> None:
        """Connects each node with the next."""
        self._network.chain([node.number for node in nodes])

    def population(self, node: Node, jobs: int, *, kind: int = 0) -> None:
        """Puts jobs into a node at time zero: a closed chain."""
        self._network.population(node.number, jobs, kind)

    def run(
        self,
        *,
        departures: int,
        warmup: Optional[int] = None,
        replications: int = 10,
        seed: int = 1,
        threads: Optional[int] = None,
    ) -> Result:
        """Runs independent replications, each until ``departures`` jobs have left or finished a lap.

        The first ``warmup`` departures of each (a tenth of ``departures`` by default) are not measured. Intervals come from
        the differences between replications.
        """
        runs = {
            "departures": departures,
            "warmup": departures // 10 if warmup is None else warmup,
            "replications": replications,
            "seed": seed,
            "threads": threads,
        }
        return Result._of(self._network.run(runs))


def queue(
    arrivals: AnyLaw,
    service: AnyLaw,
    *,
    servers: int = 1,
    discipline: str = "fcfs",
    room: Optional[int] = None,
    **runs: Any,
) -> Result:
    """Simulates a single station, ``server``; response times are measured at ``done``. ``runs`` are those of ``Network.run``."""
    network = Network()
    source = network.source("arrivals", arrivals)
    server = network.station(
        "server", service, servers=servers, discipline=discipline, room=room
    )
    nodes: List[Node] = [source, server, network.sink("done")]
    network.chain(*nodes)
    return network.run(**runs)
