"""Long computations end at Ctrl-C, and leave the interpreter to other threads.

Nothing here depends on how fast the machine is: a computation that is not interrupted runs into the limit of minutes that only
a broken one reaches, and whether another thread ran is seen from what it did.
"""

import subprocess
import sys
import threading
import time

import iosonar
import pytest

# On any machine, longer than a test waits.
LONG = {
    "load": {"requests": 500_000_000, "arrivals": {"poisson_per_s": 60.0}, "size": {"blocks": 4}},
    "array": {"level": "raid5", "disks": 5},
    "disk": {"profile": "seagate-st3500630ns"},
}

# The signal is sent when the computation is under way: its thread exists, and has computed for a while. What it used of the
# processor says so, not the clock. The same says afterwards that nothing computes any more.
PROGRAM = """
import os, signal, threading, time
import iosonar
from iosonar import queueing
LONG = {long!r}

def threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{{task}}/comm") as file:
                names.append(file.read().strip())
        except OSError:
            pass
    return names

def interrupt():
    before = time.process_time()
    while "iosonar" not in threads() or time.process_time() - before < 0.2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

def circle():
    # Jobs go round, and none ever departs.
    network = queueing.Network()
    station = network.station("station", queueing.exponential(1.0))
    other = network.station("other", queueing.exponential(1.0))
    network.chain(station, other, station)
    network.chain(network.source("never", 1e9), network.sink("sink"))
    network.population(station, 3)
    network.run(departures=10**9)

threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
    while "iosonar" in threads():
        time.sleep(0.01)
    print("ended")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize(
    "call",
    [
        "iosonar.simulate(LONG)",
        "iosonar.simulate(LONG, replications=4, threads=2)",
        "iosonar.simulate(LONG, replications=10**6, load__requests=1000)",
        "iosonar.plan(LONG, 'p99 < 60ms', replications=5)",
        "queueing.queue(queueing.exponential(1.0), queueing.exponential(0.8), departures=10**10)",
        "circle()",
    ],
)
def test_ctrl_c_ends_a_computation(call):
    program = PROGRAM.format(long=LONG, call=call)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.split() == ["interrupted", "ended"], done.stdout + done.stderr


def test_other_threads_run_meanwhile(scenario):
    """Another thread runs while the simulation computes: it is what ends it."""
    simulated = threading.Event()
    turns = []

    def count():
        while not simulated.is_set():
            turns.append(simulated.is_set())
            time.sleep(0)

    scenario["load"]["requests"] = 400_000
    thread = threading.Thread(target=count, daemon=True)
    interval = sys.getswitchinterval()
    # Only a released lock lets the other thread run.
    sys.setswitchinterval(1000)
    try:
        thread.start()
        before = len(turns)
        iosonar.simulate(scenario)
        after = len(turns)
    finally:
        simulated.set()
        sys.setswitchinterval(interval)
    thread.join()
    assert after > before
