"""Queueing networks, against closed forms, SimPy and Ciw."""

import math
import random

import pytest
from iosonar import Error, queueing
from iosonar.queueing import exponential

MEAN_ARRIVAL, MEAN_SERVICE = 1.0, 0.8
"""An M/M/1 queue with utilisation 0.8: response times are exponential with mean 4."""


def mm1(**runs):
    options = {"departures": 200_000, "replications": 10, **runs}
    return queueing.queue(exponential(MEAN_ARRIVAL), exponential(MEAN_SERVICE), **options)


def within(estimate, exact, half_widths=2.0):
    """Whether a value lies within the 95 % interval, made this many times as wide: two are four standard errors."""
    low, high = estimate.interval
    middle, half = (low + high) / 2, (high - low) / 2
    return abs(exact - middle) <= half_widths * half


def test_m_m_1_has_the_mean_and_the_quantiles_of_the_closed_form():
    result = mm1()
    times = result.response_time["done"]
    assert times.n == 2_000_000
    assert within(times.mean, 4.0)
    assert within(times.median, 4.0 * math.log(2.0))
    assert within(times.p99, 4.0 * math.log(100.0))
    server = result.stations["server"]
    assert within(server.utilisation, 0.8)
    assert within(server.number, 4.0)
    assert within(server.wait, 3.2)
    assert within(server.throughput, 1.0)
    # Closely enough that a wrong answer would be seen.
    low, high = times.mean.interval
    assert high - low < 0.2


def test_a_run_is_repeatable_and_does_not_depend_on_threads():
    one = mm1(departures=20_000, threads=1)
    assert one == mm1(departures=20_000, threads=2)
    assert one != mm1(departures=20_000, seed=2)


def simpy_m_m_1(customers, seed):
    """The mean response time of an M/M/1 queue in SimPy, as its documentation writes one."""
    simpy = pytest.importorskip("simpy")
    draw = random.Random(seed)
    env = simpy.Environment()
    server = simpy.Resource(env, capacity=1)
    times = []

    def customer():
        came = env.now
        with server.request() as turn:
            yield turn
            yield env.timeout(draw.expovariate(1 / MEAN_SERVICE))
        times.append(env.now - came)

    def source():
        for _ in range(customers):
            yield env.timeout(draw.expovariate(1 / MEAN_ARRIVAL))
            env.process(customer())

    env.process(source())
    env.run()
    return sum(times[customers // 10 :]) / len(times[customers // 10 :])


def ciw_m_m_1(customers, seed):
    """The same in Ciw."""
    ciw = pytest.importorskip("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=1 / MEAN_ARRIVAL)],
        service_distributions=[ciw.dists.Exponential(rate=1 / MEAN_SERVICE)],
        number_of_servers=[1],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(customers, method="Finish")
    records = simulation.get_all_records()
    records.sort(key=lambda record: record.arrival_date)
    records = records[customers // 10 :]
    return sum(of.exit_date - of.arrival_date for of in records) / len(records)


@pytest.mark.parametrize("peer", [simpy_m_m_1, ciw_m_m_1])
def test_m_m_1_is_the_same_as_in_simpy_and_ciw(peer):
    replications, customers = 8, 10_000
    means = [peer(customers, seed) for seed in range(replications)]
    mean = sum(means) / replications
    variance = sum((of - mean) ** 2 for of in means) / (replications - 1)
    ours = mm1(departures=customers, replications=40).response_time["done"].mean
    error = math.sqrt(variance / replications + ours.stderr**2)
    # Four standard errors of the difference.
    assert abs(mean - ours.value) < 4 * error
    assert error < 0.5


def test_laws_have_their_means_at_a_station_that_is_never_busy():
    # M/G/infinity: a delay, so that the response time is the law itself.
    for law, mean in [
        (2.5, 2.5),
        (queueing.constant(2.5), 2.5),
        (queueing.uniform(1.0, 3.0), 2.0),
        (queueing.erlang(4, 2.0), 2.0),
        (queueing.hyperexponential([(0.5, 1.0), (0.5, 3.0)]), 2.0),
        (queueing.discrete([(0.25, 1.0), (0.75, 2.0)]), 1.75),
        (queueing.pareto(1.0, 4.0), 4.0 / 3.0),
        (queueing.lognormal(2.0, 0.5), 2.0),
        (queueing.gamma(0.5, 2.0), 2.0),
        (queueing.weibull(2.0, 1.0), math.gamma(1.5)),
        (queueing.empirical([1.0, 2.0, 6.0]), 3.0),
    ]:
        network = queueing.Network()
        nodes = network.source("in", exponential(1.0)), network.delay("delay", law)
        network.chain(*nodes, network.sink("out"))
        times = network.run(departures=20_000, replications=5).response_time["out"]
        assert times.mean.value == pytest.approx(mean, rel=0.03), law


def test_fork_and_join_wait_for_the_slowest():
    network = queueing.Network()
    source, fork = network.source("in", exponential(2.0)), network.fork("fork")
    join, sink = network.join("join"), network.sink("out")
    network.chain(source, fork)
    for disk in ("a", "b"):
        network.chain(fork, network.station(disk, exponential(1.0)), join)
    network.chain(join, sink)
    result = network.run(departures=100_000)
    # (12 - rho) / 8 / (mu - lambda) for two exponential servers.
    assert within(result.response_time["out"].mean, (12 - 0.5) / 8 / 0.5)


def test_a_full_queue_loses_jobs_as_erlang_says():
    # M/M/1/1: half of the jobs find the server busy.
    result = queueing.queue(exponential(1.0), exponential(1.0), room=1, departures=50_000)
    assert within(result.stations["server"].utilisation, 0.5)
    assert result.stations["server"].lost == pytest.approx(500_000, rel=0.02)


def test_classes_and_probabilities_route_jobs():
    network = queueing.Network()
    source = network.source("in", exponential(1.0))
    router = network.router("router", [0.25, 0.75])
    rare, usual = network.sink("rare"), network.sink("usual")
    network.chain(source, network.delay("delay", 1.0), router)
    network.chain(router, rare)
    network.chain(router, usual)
    result = network.run(departures=40_000)
    assert result.response_time["rare"].n == pytest.approx(100_000, rel=0.02)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda n: n.source("in", exponential(-1.0)), "mean must be from 0 to 1e9 seconds"),
        (lambda n: n.source("in", "fast"), "a law is a number of seconds"),
        (lambda n: n.station("s", 1.0, discipline="best"), "'best' is not a discipline"),
        (lambda n: n.run(departures=1), "neither a sink nor a lap"),
        (lambda n: (n.sink("x"), n.source("in", 1.0), n.run(departures=1)), "outputs"),
        (lambda n: (n.sink("x"), n.sink("x"), n.run(departures=1)), "two nodes have the name 'x'"),
        (lambda n: (n.sink("x"), n.run(departures=1)), "no job"),
    ],
)
def test_what_is_no_network_is_refused(build, message):
    with pytest.raises(Error, match=message):
        build(queueing.Network())
