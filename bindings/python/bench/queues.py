"""How fast an M/M/1 queue is simulated: iosonar, SimPy and Ciw.

    pip install simpy ciw
    python bench/queues.py

Each simulates the same queue on one thread: exponential arrivals and services, utilisation 0.8. Time is that of the processor,
and of several runs the fastest counts, as whatever else a machine does only makes runs slower. iosonar also takes the distribution of response times and the
statistics of the station; SimPy and Ciw keep a list of response times.
"""

import random
import time

import ciw
import simpy

from iosonar import queueing

MEAN_ARRIVAL, MEAN_SERVICE = 1.0, 0.8


def of_iosonar(customers: int) -> float:
    result = queueing.queue(
        queueing.exponential(MEAN_ARRIVAL),
        queueing.exponential(MEAN_SERVICE),
        departures=customers,
        warmup=0,
        replications=1,
        threads=1,
    )
    return float(result.response_time["done"].mean)


def of_simpy(customers: int) -> float:
    draw = random.Random(1)
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
    return sum(times) / len(times)


def of_ciw(customers: int) -> float:
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=1 / MEAN_ARRIVAL)],
        service_distributions=[ciw.dists.Exponential(rate=1 / MEAN_SERVICE)],
        number_of_servers=[1],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(customers, method="Finish")
    records = simulation.get_all_records()
    return sum(of.exit_date - of.arrival_date for of in records) / len(records)


def main() -> None:
    rates = {}
    for name, simulate, customers in [
        ("iosonar", of_iosonar, 5_000_000),
        ("SimPy", of_simpy, 100_000),
        ("Ciw", of_ciw, 30_000),
    ]:
        fastest = float("inf")
        for _ in range(5):
            begin = time.process_time()
            mean = simulate(customers)
            fastest = min(fastest, time.process_time() - begin)
        rates[name] = customers / fastest
        factor = rates["iosonar"] / rates[name]
        print(f"{name:8} {rates[name]:>12,.0f} customers/s   {factor:>6.0f} x   mean {mean:.3f}")


if __name__ == "__main__":
    main()
