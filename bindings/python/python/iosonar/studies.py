"""Simulate, analyse, compare, plan and draw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _iosonar
from ._iosonar import Error, Figure, Trace
from .results import Choice, Comparison, Model, NetworkModel, Plan, Simulation

Scenario = Union[Mapping[str, Any], str, "os.PathLike[str]"]
"""A dict, TOML text (with line breaks), the path of a file, or a system such as ``raid5:6xexos-x18``."""

Input = Union[Trace, Simulation, str, "os.PathLike[str]", Tuple[str, Any], Mapping[str, Any]]
"""A trace, a simulation with records, or a path; with a name of its own as a tuple or in a dict."""


def _changes(
    *,
    name: Optional[str],
    seed: Optional[int] = None,
    replications: Optional[int] = None,
    threads: Optional[int] = None,
    memory: Optional[str] = None,
    trace: Union[Trace, Simulation, str, os.PathLike[str], None] = None,
    reading: Optional[Mapping[str, Any]] = None,
    set: Optional[Mapping[str, Any]],
    overrides: Mapping[str, Any],
) -> Dict[str, Any]:
    """What the arguments of a call change in a scenario."""
    values = dict(set or {})
    values.update((key.replace("__", "."), value) for key, value in overrides.items())
    return {
        "name": name,
        "trace": trace.run if isinstance(trace, Simulation) else trace,
        "reading": dict(reading or {}),
        "seed": seed,
        "replications": replications,
        "set": values,
        "threads": threads,
        "memory": memory,
    }


def _scenario(scenario: Scenario) -> object:
    return dict(scenario) if isinstance(scenario, Mapping) else scenario


def simulate(
    scenario: Scenario,
    *,
    name: Optional[str] = None,
    seed: Optional[int] = None,
    replications: Optional[int] = None,
    precision: Optional[float] = None,
    threads: Optional[int] = None,
    memory: Optional[str] = None,
    trace: Union[Trace, Simulation, str, os.PathLike[str], None] = None,
    reading: Optional[Mapping[str, Any]] = None,
    split: bool = False,
    unstable: bool = False,
    records: Union[bool, str, os.PathLike[str], None] = None,
    set: Optional[Mapping[str, Any]] = None,
    **overrides: Any,
) -> Simulation:
    """Simulates a scenario.

    ``trace`` replaces its load; ``reading`` says how it is read, with the options of ``read``. ``precision`` repeats runs
    until the mean is known this precisely, such as 0.01. ``split`` measures what response times are made of. ``unstable``
    simulates a load that the system does not keep up with. ``records=True`` keeps the records of the first replication for
    ``plot`` and ``compare``; a path writes them there.

    ``memory``, such as ``"4GiB"``, replaces the 900 MiB that a simulation takes at most before its first request.

    ``set={"array.disks": 8}`` replaces values of the scenario, and ``array__disks=8`` is the same. None removes a key.

    Other threads run meanwhile, and Ctrl-C ends the simulation.
    """
    changes = _changes(
        name=name,
        seed=seed,
        replications=replications,
        threads=threads,
        memory=memory,
        trace=trace,
        reading=reading,
        set=set,
        overrides=overrides,
    )
    how = {"precision": precision, "split": split, "unstable": unstable, "records": records}
    return Simulation._of(_iosonar.simulate(_scenario(scenario), changes, how))


def model(
    scenario: Scenario,
    *,
    name: Optional[str] = None,
    memory: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    **overrides: Any,
) -> Union[Model, NetworkModel]:
    """What queueing theory says of a scenario, without simulating it; of a networked system it is a ``NetworkModel``.

    ``memory``, ``set`` and ``overrides`` are those of ``simulate``.
    """
    changes = _changes(name=name, memory=memory, set=set, overrides=overrides)
    figures, json = _iosonar.model(_scenario(scenario), changes)
    if figures.pop("networked", False):
        return NetworkModel._of(figures, json)
    return Model._of(figures, json)


def plan(
    scenario: Scenario,
    target: str,
    *,
    find: Optional[str] = None,
    within: float = 0.01,
    most: Optional[int] = None,
    name: Optional[str] = None,
    seed: Optional[int] = None,
    replications: Optional[int] = None,
    threads: Optional[int] = None,
    memory: Optional[str] = None,
    trace: Union[Trace, Simulation, str, os.PathLike[str], None] = None,
    reading: Optional[Mapping[str, Any]] = None,
    set: Optional[Mapping[str, Any]] = None,
    **overrides: Any,
) -> Plan:
    """The highest load, or the fewest devices, that meets targets such as ``"read p99 < 20ms, mean < 5ms"``.

    ``find`` is ``rate``, ``copies``, ``disks`` or ``jobs``; by default the rate, and of a closed loop the jobs. ``within`` is
    the relative precision of a rate, ``most`` the largest number that is tried.
    """
    changes = _changes(
        name=name,
        seed=seed,
        replications=replications,
        threads=threads,
        memory=memory,
        trace=trace,
        reading=reading,
        set=set,
        overrides=overrides,
    )
    question = {"target": target, "find": find, "within": within, "most": most}
    return Plan._of(_iosonar.plan(_scenario(scenario), question, changes))


def choose(
    load: Union[Trace, Simulation, str, os.PathLike[str]],
    candidates: Sequence[str],
    target: str,
    *,
    growth: Optional[str] = None,
    within: float = 0.02,
    prices: Optional[Mapping[str, float]] = None,
    seed: Optional[int] = None,
    replications: Optional[int] = None,
    threads: Optional[int] = None,
    memory: Optional[str] = None,
    reading: Optional[Mapping[str, Any]] = None,
    set: Optional[Mapping[str, Any]] = None,
    **overrides: Any,
) -> Choice:
    """Which of several systems keeps targets such as ``"read p99 < 20ms"`` under a load.

    The load is a trace, or a scenario file (``.toml``), whose load is taken. Candidates are scenario files, or systems in
    short such as ``"raid10:4xseagate-st3500630ns"``. ``growth`` is ``speed`` or ``copies``: how far the load may grow is found
    with the relative precision ``within``. ``prices`` are by names of profiles or candidates.
    """
    is_scenario = isinstance(load, (str, os.PathLike)) and os.fspath(load).endswith(".toml")
    changes = _changes(
        name=None,
        seed=seed,
        replications=replications,
        threads=threads,
        memory=memory,
        trace=None if is_scenario else load,
        reading=reading,
        set=set,
        overrides=overrides,
    )
    choice = {
        "scenario": load if is_scenario else None,
        "candidates": list(candidates),
        "target": target,
        "growth": growth,
        "within": within,
        "prices": list((prices or {}).items()),
    }
    return Choice._of(_iosonar.choose(choice, changes))


def read(path: Union[str, os.PathLike[str]], **options: Any) -> Trace:
    """Opens a trace in any format of iosonar.

    The options are those of the command line, with underscores: ``read("a.csv", columns="time_s=Timestamp", lenient=True,
    ops="read", select="10s..1min")``. Options that change the load apply in their order. ``from`` is a word of Python, so
    ``from_`` means the same.
    """
    return _iosonar.read(path, options)


def _name_of(path: Path) -> str:
    """A file's name without its endings."""
    name = path.name
    for ending in (".gz", ".zst", ".replay", ".load", ".ios", ".csv"):
        name = name[: -len(ending)] if name.endswith(ending) and name != ending else name
    return name


def _inputs(inputs: Sequence[Input]) -> List[Tuple[str, object]]:
    """Inputs with their names, which differ."""
    named: List[Tuple[Optional[str], Any]] = []
    for of in inputs:
        if isinstance(of, Mapping):
            named.extend(of.items())
        elif isinstance(of, tuple):
            named.append(of)
        else:
            named.append((None, of))
    result: List[Tuple[str, object]] = []
    for name, of in named:
        if isinstance(of, Simulation):
            name = name or of.name
        elif name is None:
            name = _name_of(Path(of.path if isinstance(of, Trace) else os.fspath(of)))
        taken = [other for other, _ in result]
        number, unique = 2, name
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        result.append((unique, of.run if isinstance(of, Simulation) else of))
    return result


def compare(*inputs: Input, quantity: Optional[str] = None, paired: bool = False) -> Comparison:
    """How far the times of inputs are from those of the first, and how sure that is.

    ``quantity`` is ``latency``, ``delay`` or ``response_time``. ``paired`` compares two simulations of the same requests
    request by request.
    """
    named = _inputs(inputs)
    if len(named) < 2:
        raise Error(f"compare needs at least two inputs (got {len(named)})")
    return Comparison._of(*_iosonar.compare(named, quantity, paired), named)


def charts() -> Dict[str, str]:
    """The names of all charts, and what each shows."""
    return dict(_iosonar.charts())


def plot(
    kind: str,
    *inputs: Input,
    quantity: Optional[str] = None,
    window: Optional[str] = None,
    group: Optional[str] = None,
    target: Optional[str] = None,
    bad_latency: Optional[str] = None,
    bad_delay: Optional[str] = None,
    device_size: Optional[str] = None,
    overlay: bool = False,
    linear_x: bool = False,
    size: Optional[Tuple[int, int]] = None,
    scale: int = 1,
    theme: str = "light",
) -> Figure:
    """Draws a chart of traces, or of simulations with their records; ``charts()`` lists all kinds.

    ``plot("cdf", a, b)`` also takes simulations without records, and draws their 95 % bands. The options are those of
    ``iosonar plot``. A figure shows itself in a notebook.
    """
    named = _inputs(inputs)
    if not named:
        raise Error("plot needs at least one input")
    look = {
        "quantity": quantity,
        "window": window,
        "group": group,
        "target": target,
        "bad_latency": bad_latency,
        "bad_delay": bad_delay,
        "device_size": device_size,
        "overlay": overlay,
        "linear_x": linear_x,
    }
    return _iosonar.plot(kind, named, look, {"size": size, "scale": scale, "theme": theme})
