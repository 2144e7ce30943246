"""Long computations end at Ctrl-C, and leave the interpreter to other threads."""

import subprocess
import sys
import threading
import time

import iosonar
import pytest

LONG = {
    "load": {"requests": 500_000_000, "arrivals": {"poisson_per_s": 60.0}, "size": {"blocks": 4}},
    "array": {"level": "raid5", "disks": 5},
    "disk": {"profile": "seagate-st3500630ns"},
}

PROGRAM = """
import os, signal, sys, threading, time
import iosonar
from iosonar import queueing
LONG = {long!r}
def interrupt():
    time.sleep(0.5)
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - sent)
    # Nothing computes any more.
    time.sleep(0.6)
    before = time.process_time()
    time.sleep(0.5)
    print(time.process_time() - before)
"""


@pytest.mark.parametrize(
    "call",
    [
        "iosonar.simulate(LONG)",
        "iosonar.simulate(LONG, replications=4, threads=2)",
        "iosonar.simulate(LONG, replications=10**6, load__requests=1000)",
        "iosonar.plan(LONG, 'p99 < 60ms', replications=5)",
        "queueing.queue(queueing.exponential(1.0), queueing.exponential(0.8), departures=10**10)",
    ],
)
def test_ctrl_c_ends_a_computation_within_a_second(call):
    program = PROGRAM.format(long=LONG, call=call)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    took, busy = (float(line) for line in done.stdout.split())
    assert took < 1.0, done.stdout
    assert busy < 0.1, "the computation goes on"


def test_other_threads_run_meanwhile(scenario):
    counted = 0
    running = True

    def count():
        nonlocal counted
        while running:
            counted += 1
            time.sleep(0.001)

    scenario["load"]["requests"] = 400_000
    thread = threading.Thread(target=count)
    begin = time.monotonic()
    thread.start()
    iosonar.simulate(scenario)
    took = time.monotonic() - begin
    running = False
    thread.join()
    # Each turn takes a millisecond or a few; with the interpreter's lock held there would be one.
    assert counted > 10 * took + 5
