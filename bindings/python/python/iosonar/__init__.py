"""How long will my I/O take? Simulations, traces and charts of storage systems.

>>> import iosonar
>>> result = iosonar.simulate({
...     "load": {"requests": 2000, "arrivals": {"poisson_per_s": 50.0}, "size": {"blocks": 4}},
...     "array": {"level": "raid5", "disks": 4},
...     "disk": {"profile": "seagate-st3500630ns"},
... }, replications=5)
>>> result.response_time.n
10000

``simulate``, ``model`` and ``plan`` take a scenario as a dict, as TOML text or as the path of a file, or a system such as
``raid5:6xexos-x18``. ``choose`` compares systems for a load. ``read`` opens a trace,
whose columns pyarrow, Polars, DuckDB and pandas take without a copy. ``compare`` and ``plot`` take traces and simulations.
``iosonar.queueing`` simulates queueing networks.

Errors are ``iosonar.Error``, a ``ValueError``, with the text of the command line.
"""

from __future__ import annotations

from . import queueing
from ._iosonar import Error, Figure, Trace, __version__
from .results import (
    Answer,
    Candidate,
    Choice,
    Comparison,
    Difference,
    Estimate,
    Growth,
    JobClass,
    Metric,
    Model,
    NetworkModel,
    NetworkPoint,
    NotCleaned,
    OnCredit,
    Outcome,
    Pairs,
    Plan,
    Point,
    Sample,
    Simulation,
    StationTheory,
    Times,
)
from .studies import charts, choose, compare, model, plan, plot, read, simulate

__all__ = [
    "Answer",
    "Candidate",
    "Choice",
    "Comparison",
    "Difference",
    "Error",
    "Estimate",
    "Figure",
    "Growth",
    "JobClass",
    "Metric",
    "Model",
    "NetworkModel",
    "NetworkPoint",
    "NotCleaned",
    "OnCredit",
    "Outcome",
    "Pairs",
    "Plan",
    "Point",
    "Sample",
    "Simulation",
    "StationTheory",
    "Times",
    "Trace",
    "__version__",
    "charts",
    "choose",
    "compare",
    "model",
    "plan",
    "plot",
    "queueing",
    "read",
    "simulate",
]
