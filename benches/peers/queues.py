"""The queues of this comparison with SimPy or Ciw: `queues.py simpy|ciw`."""

import random
import sys
import time


def with_simpy(servers, mean_service, jobs):
    import simpy

    draw = random.Random(1)
    env = simpy.Environment()
    stations = [simpy.Resource(env, capacity=1) for _ in range(servers)]
    times = []

    def part(station):
        with station.request() as turn:
            yield turn
            yield env.timeout(draw.expovariate(1 / mean_service))

    def job():
        came = env.now
        yield env.all_of([env.process(part(station)) for station in stations])
        times.append(env.now - came)

    def source():
        for _ in range(jobs):
            yield env.timeout(draw.expovariate(1.0))
            env.process(job())

    env.process(source())
    env.run()
    return sum(times) / len(times)


def with_ciw(servers, mean_service, jobs):
    import ciw

    if servers > 1:
        return None  # It has no fork-join.
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=1.0)],
        service_distributions=[ciw.dists.Exponential(rate=1 / mean_service)],
        number_of_servers=[1],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(jobs, method="Finish")
    records = simulation.get_all_records()
    return sum(of.exit_date - of.arrival_date for of in records) / len(records)


def main():
    run = {"simpy": with_simpy, "ciw": with_ciw}[sys.argv[1]]
    for name, servers, mean_service, jobs in [("mm1", 1, 0.9, 50_000), ("fork-join", 4, 0.5, 10_000)]:
        begin = time.perf_counter()
        mean = run(servers, mean_service, jobs)
        seconds = time.perf_counter() - begin
        if mean is not None:
            print(f"{name} {jobs / seconds / 1e6:.4f} {mean:.4f}")


if __name__ == "__main__":
    main()
